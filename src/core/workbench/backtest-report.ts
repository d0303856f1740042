import { nameOfChannel } from '../decision/channel.ts'
import { describeResult, type RecordedResult } from '../decision/result.ts'
import type { BacktestResult } from '../rules/backtest.ts'
import { CHANGE_KINDS, type ChangeKind, classifyChange } from '../rules/diff.ts'
import { counted } from '../text/count.ts'
import { csvList } from '../text/csv.ts'
import type { Fault } from '../text/faults.ts'

/** A rule table to try on the events of a period. */
export interface BacktestJob {
  readonly table: string
  /** Event types with a template. */
  readonly eventTypes: readonly string[]
  /** ISO 8601, both. */
  readonly from: string
  readonly to: string
}

/** An entry of the log and its member; null if the event names none, or the member's data was erased. */
export interface ListedMember {
  readonly partyLocator: string | null
  readonly createdAt: string
}

/** One event with a changed decision. */
export interface ChangedEvent {
  readonly change: ChangeKind
  /** Null if the entry is gone. */
  readonly createdAt: string | null
  readonly partyLocator: string | null
  readonly eventType: string
  /** In words, such as "SEND by email". */
  readonly before: string
  readonly after: string
  readonly ruleBefore: string
  readonly ruleAfter: string
  readonly locator: string
}

/** The result of a back-test, cut to a readable size. */
export interface BacktestReport {
  readonly events: number
  readonly changed: number
  readonly byAnotherRule: number
  /** Events with facts of another version, which were not decided again. */
  readonly undecided: number
  /** Changed decisions, the most harmful kind first, each with its event types, such as "claim.paid 12". */
  readonly kinds: readonly {
    readonly kind: ChangeKind
    readonly count: number
    readonly eventTypes: string
  }[]
  /** Some of the changed events, the most harmful first. */
  readonly list: readonly ChangedEvent[]
}

/** Messages of a running back-test; the last one is not `progress`. */
export type BacktestMessage =
  | { readonly kind: 'progress'; readonly events: number }
  | { readonly kind: 'report'; readonly report: BacktestReport }
  | { readonly kind: 'faults'; readonly faults: readonly Fault[] }
  | { readonly kind: 'problem'; readonly problem: string }

export const LISTED_COUNT_MAX = 1_000
const EVENT_TYPE_COUNT_MAX = 20

/** The CSV columns of the list. */
export const CHANGED_CSV = csvList([
  'change',
  'createdAt',
  'partyLocator',
  'eventType',
  'before',
  'after',
  'ruleBefore',
  'ruleAfter',
  'locator',
] as const satisfies readonly (keyof ChangedEvent)[])

/** Locators of the events that a report lists. */
export function listedLocators({ changes }: BacktestResult): string[] {
  return changes.flatMap(({ locators }) => locators).slice(0, LISTED_COUNT_MAX)
}

/** `members`: the members of the listed locators. */
export function reportBacktest(
  { events, changed, byAnotherRule, undecided, changes }: BacktestResult,
  members: ReadonlyMap<string, ListedMember>,
): BacktestReport {
  const list = changes.flatMap((change) =>
    change.locators.map((locator) => ({
      change: classifyChange(change),
      createdAt: members.get(locator)?.createdAt ?? null,
      partyLocator: members.get(locator)?.partyLocator ?? null,
      eventType: change.eventType,
      before: inWords(change.before),
      after: inWords(change.after),
      ruleBefore: change.before.ruleId,
      ruleAfter: change.after.ruleId,
      locator,
    })),
  )
  const kinds = CHANGE_KINDS.map((kind) => {
    const own = changes.filter((change) => classifyChange(change) === kind)
    const byType = [...Map.groupBy(own, ({ eventType }) => eventType)]
      .map(([eventType, some]) => [eventType, sum(some)] as const)
      .sort(([, a], [, b]) => b - a)
    const named = byType.slice(0, EVENT_TYPE_COUNT_MAX).map(([eventType, count]) => `${eventType} ${count}`)
    const more = byType.length - named.length
    const eventTypes = [...named, ...(more > 0 ? [counted(more, 'more event type')] : [])].join(', ')
    return { kind, count: sum(own), eventTypes }
  })
  return {
    events,
    changed,
    byAnotherRule,
    undecided,
    kinds: kinds.filter(({ count }) => count > 0),
    list: list.slice(0, LISTED_COUNT_MAX),
  }
}

function inWords(result: RecordedResult): string {
  return result.outcome === 'SEND' ? `SEND by ${nameOfChannel(result.channel)}` : describeResult(result)
}

function sum(changes: readonly { readonly count: number }[]): number {
  return changes.reduce((total, { count }) => total + count, 0)
}
