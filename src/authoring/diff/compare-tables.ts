import type { Situation } from '../../service/decide/decision/facts.ts'
import type { RecordedResult, RuleResult } from '../../service/decide/decision/result.ts'
import { type EventClass, foldEventTypes } from '../../service/decide/rules/event-classes.ts'
import { eventTypeCells } from '../../service/decide/rules/event-type-cell.ts'
import type { Rule } from '../../service/decide/rules/rule.ts'
import { foldSituations } from '../../service/decide/rules/situations.ts'
import type { RuleTable } from '../../service/decide/rules/table.ts'

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

export interface BeforeAfter {
  readonly before: RecordedResult
  readonly after: RecordedResult
}

export function classifyChange({ before, after }: BeforeAfter): ChangeKind {
  const [wasSent, isSent] = [before.outcome === 'SEND', after.outcome === 'SEND']
  if (wasSent && !isSent) return 'no longer sent'
  if (!wasSent && isSent) return 'newly sent'
  if (isSent) return 'sent by another channel'
  return before.outcome === after.outcome ? 'with another reason only' : 'skipped or retried otherwise'
}

export interface RuleTableDiff {
  /** Classes of event types that the two tables together distinguish. */
  readonly classes: readonly EventClass[]
  /** Changes of outcome, channel or reason, in the order of the situations that the two tables distinguish. */
  readonly changes: readonly Change[]
  /** Same decision, by a rule with another id. */
  readonly moved: readonly Change[]
  /** Rules of the same id whose `because` differs. */
  readonly reworded: readonly { readonly before: Rule; readonly after: Rule }[]
}

/** Compares the decisions of two tables, situation by situation, whatever their wording. */
export function diffRuleTables(before: RuleTable, after: RuleTable): RuleTableDiff {
  const rules = [...before.rules, ...after.rules]
  const { classes } = foldEventTypes(eventTypeCells(rules), [])
  const changes: Change[] = []
  const moved: Change[] = []
  for (const situation of foldSituations(rules).situations) {
    const differences = classes.flatMap((eventClass) => {
      const facts = { eventType: eventClass.representative, ...situation }
      const results = { before: before.decide(facts), after: after.decide(facts) }
      const key = JSON.stringify(results)
      return hasSameResult(results) ? [] : [{ key, eventClass, results }]
    })
    // Classes with the same difference share one change.
    for (const [first, ...rest] of Map.groupBy(differences, ({ key }) => key).values()) {
      if (first === undefined) continue
      const eventClasses = [first, ...rest].map(({ eventClass }) => eventClass)
      const change = { situation, eventClasses, ...first.results }
      if (decidedAlike(change.before, change.after)) moved.push(change)
      else changes.push(change)
    }
  }
  return { classes, changes, moved, reworded: reworded(before.rules, after.rules) }
}

function hasSameResult({ before, after }: Pick<Change, 'before' | 'after'>): boolean {
  return before.ruleId === after.ruleId && decidedAlike(before, after)
}

/** True if both leave the same in the log. */
export function decidedAlike(a: RecordedResult, b: RecordedResult): boolean {
  return a.outcome === b.outcome && a.channel === b.channel && a.reason === b.reason
}

function reworded(before: readonly Rule[], after: readonly Rule[]): RuleTableDiff['reworded'] {
  const ruleOfId = new Map(before.map((rule) => [rule.id, rule]))
  return after.flatMap((rule) => {
    const old = ruleOfId.get(rule.id)
    return old === undefined || old.because === rule.because ? [] : [{ before: old, after: rule }]
  })
}
