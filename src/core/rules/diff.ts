import type { RuleResult } from '../decision/decide.ts'
import type { Situation } from '../decision/facts.ts'
import { type EventClass, foldEventTypes } from './event-classes.ts'
import { cellsOf } from './event-type-cell.ts'
import type { Rule } from './rule.ts'
import { foldSituations } from './situations.ts'
import type { RuleTable } from './table.ts'

/** A situation with different results in the two tables, in all event classes where the results are the same. */
export interface Change {
  readonly situation: Situation
  readonly eventClasses: readonly EventClass[]
  readonly before: RuleResult
  readonly after: RuleResult
}

/** Kinds of change for members, the most harmful first: the order of every diff. */
export const CHANGE_KINDS = [
  'no longer sent',
  'newly sent',
  'sent by another channel',
  'skipped or retried otherwise',
  'with another reason only',
] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]

export function kindOf({ before, after }: Pick<Change, 'before' | 'after'>): ChangeKind {
  const [wasSent, isSent] = [before.outcome === 'SEND', after.outcome === 'SEND']
  if (wasSent && !isSent) return 'no longer sent'
  if (!wasSent && isSent) return 'newly sent'
  if (isSent) return 'sent by another channel'
  return before.outcome === after.outcome ? 'with another reason only' : 'skipped or retried otherwise'
}

export interface RuleTableDiff {
  /** Event types, folded into the classes that the two tables together distinguish. */
  readonly classes: readonly EventClass[]
  /** Position in `classes` of any event type. */
  readonly classOf: (eventType: string) => number
  /** Outcome, channel or reason differs. In the order of the situations that the two tables tell apart. */
  readonly changes: readonly Change[]
  /** Same decision, by a rule with another id. */
  readonly moved: readonly Change[]
  /** Rules of the same id whose `because` differs. */
  readonly reworded: readonly { readonly before: Rule; readonly after: Rule }[]
}

/** Compares the decisions of two tables, situation by situation. Their wording makes no difference. */
export function diffRuleTables(before: RuleTable, after: RuleTable): RuleTableDiff {
  const { classes, classOf } = foldEventTypes(cellsOf([...before.rules, ...after.rules]), [])
  const { situations } = foldSituations([...before.rules, ...after.rules])
  const changes: Change[] = []
  const moved: Change[] = []
  for (const situation of situations) {
    for (const change of compare(before, after, situation, classes)) {
      if (decidedAlike(change.before, change.after)) moved.push(change)
      else changes.push(change)
    }
  }
  return { classes, classOf, changes, moved, reworded: reworded(before.rules, after.rules) }
}

/** The differences in one situation. Classes with the same difference share one change. */
function compare(
  before: RuleTable,
  after: RuleTable,
  situation: Situation,
  classes: readonly EventClass[],
): Change[] {
  const changes = new Map<string, Change & { eventClasses: EventClass[] }>()
  for (const eventClass of classes) {
    const facts = { eventType: eventClass.representative, ...situation }
    const results = { before: before.decide(facts), after: after.decide(facts) }
    if (results.before.ruleId === results.after.ruleId && decidedAlike(results.before, results.after))
      continue
    const key = JSON.stringify(results)
    const same = changes.get(key)
    if (same === undefined) changes.set(key, { situation, eventClasses: [eventClass], ...results })
    else same.eventClasses.push(eventClass)
  }
  return [...changes.values()]
}

/** True if the log would show no difference between the two. */
export function decidedAlike(one: RuleResult, other: RuleResult): boolean {
  return one.outcome === other.outcome && one.channel === other.channel && one.reason === other.reason
}

function reworded(before: readonly Rule[], after: readonly Rule[]): RuleTableDiff['reworded'] {
  const ruleOfId = new Map(before.map((rule) => [rule.id, rule]))
  return after.flatMap((rule) => {
    const old = ruleOfId.get(rule.id)
    return old === undefined || old.because === rule.because ? [] : [{ before: old, after: rule }]
  })
}
