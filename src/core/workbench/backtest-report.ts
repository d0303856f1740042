import { describeResult } from '../decision/decide.ts'
import type { BacktestChange, BacktestResult } from '../rules/backtest.ts'
import { CHANGE_KINDS, type ChangeKind, kindOf } from '../rules/diff.ts'
import { describeSituation } from '../rules/situations.ts'

interface KindCount {
  readonly kind: ChangeKind
  readonly count: number
}

/** The result of a back-test, cut to a readable size. */
export interface BacktestReport {
  readonly events: number
  readonly changed: number
  readonly byAnotherRule: number
  /** Changed decisions, the most harmful kind first. */
  readonly kinds: readonly KindCount[]
  /** Event types, those with the most changes first. */
  readonly eventTypes: readonly {
    readonly eventType: string
    readonly events: number
    readonly changed: number
    readonly kinds: readonly KindCount[]
  }[]
  readonly eventTypesLeftOut: number
  /** The most harmful kind first, and of a kind the most frequent. */
  readonly changes: readonly {
    readonly kind: ChangeKind
    readonly eventType: string
    readonly situation: string
    /** In words, such as "SEND by EMAIL". */
    readonly before: string
    readonly after: string
    readonly ruleBefore: string
    readonly ruleAfter: string
    readonly count: number
    /** Locators of some log entries. */
    readonly samples: readonly string[]
  }[]
  readonly changesLeftOut: number
}

/** Messages of a running back-test; the last one is not `progress`. */
export type BacktestMessage =
  | { readonly kind: 'progress'; readonly events: number }
  | { readonly kind: 'report'; readonly since: string; readonly report: BacktestReport }
  | { readonly kind: 'faults'; readonly faults: readonly string[] }
  | { readonly kind: 'problem'; readonly problem: string }

const SHOWN_COUNT_MAX = 100

export function reportBacktest({
  events,
  changed,
  byAnotherRule,
  changes,
  lines,
}: BacktestResult): BacktestReport {
  const changesOf = Map.groupBy(changes, ({ eventType }) => eventType)
  const eventTypes = [...Map.groupBy(lines, ({ eventType }) => eventType)]
    .map(([eventType, own]) => {
      const changed = sum(own.map((line) => line.changed))
      const kinds = countKinds(changesOf.get(eventType) ?? [])
      return { eventType, events: changed + sum(own.map((line) => line.unchanged)), changed, kinds }
    })
    .sort((a, b) => b.changed - a.changed || b.events - a.events)
  return {
    events,
    changed,
    byAnotherRule,
    kinds: countKinds(changes),
    eventTypes: eventTypes.slice(0, SHOWN_COUNT_MAX),
    eventTypesLeftOut: Math.max(0, eventTypes.length - SHOWN_COUNT_MAX),
    changes: changes.slice(0, SHOWN_COUNT_MAX).map((change) => ({
      kind: kindOf(change),
      eventType: change.eventType,
      situation: describeSituation(change.facts),
      before: describeResult(change.before),
      after: describeResult(change.after),
      ruleBefore: change.before.ruleId,
      ruleAfter: change.after.ruleId,
      count: change.count,
      samples: change.samples,
    })),
    changesLeftOut: Math.max(0, changes.length - SHOWN_COUNT_MAX),
  }
}

function countKinds(changes: readonly BacktestChange[]): KindCount[] {
  return CHANGE_KINDS.map((kind) => ({
    kind,
    count: sum(changes.filter((change) => kindOf(change) === kind).map(({ count }) => count)),
  })).filter(({ count }) => count > 0)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
