import { describeResult } from '../../service/decide/decision/result.ts'
import { describeClasses } from '../../service/decide/rules/event-classes.ts'
import { describeSituation } from '../../service/decide/rules/situations.ts'
import { counted } from '../../service/text/count.ts'
import {
  type BeforeAfter,
  CHANGE_KINDS,
  type Change,
  type ChangeKind,
  classifyChange,
  type RuleTableDiff,
} from './compare-tables.ts'

/** Changes in one sentence: same results before and after, same event types. */
export interface ChangeGroup {
  readonly kind: ChangeKind
  /** Example: `2 situations change from SEND by email to SKIP (muted) for invoice.paid (rule "email" before, rule "muted" now)`. */
  readonly sentence: string
  readonly situations: readonly string[]
}

/** The diff in sentences, one per line, each starting with the number of changed situations. Situations are indented. */
export function describeDiff(diff: RuleTableDiff): string[] {
  return [
    summariseDiff(diff),
    ...groupChanges(diff).flatMap(({ sentence, situations }) => [
      `${sentence}:`,
      ...situations.map((situation) => `    ${situation}`),
    ]),
    ...describeRest(diff),
    ...diff.reworded.map(
      ({ before, after }) =>
        `rule "${after.id}" has a new explanation: "${after.because}", previously "${before.because}"`,
    ),
  ]
}

/** Example: "24 situations change: 8 no longer sent, 0 newly sent". These two kinds always have a number. */
export function summariseDiff({ changes }: RuleTableDiff): string {
  const summary = `${counted(changes.length, 'situation')} ${changes.length === 1 ? 'changes' : 'change'}`
  if (changes.length === 0) return summary
  const counts = CHANGE_KINDS.map((kind) => ({
    kind,
    count: changes.filter((change) => classifyChange(change) === kind).length,
  }))
    .filter(({ count }, index) => count > 0 || index < 2)
    .map(({ kind, count }) => `${count} ${kind}`)
  return `${summary}: ${counts.join(', ')}`
}

/** The changes, most harmful first, in as few sentences as possible. */
export function groupChanges({ changes, classes }: RuleTableDiff): ChangeGroup[] {
  const rank = (change: Change) => CHANGE_KINDS.indexOf(classifyChange(change))
  const ordered = changes.toSorted((a, b) => rank(a) - rank(b))
  return [
    ...Map.groupBy(ordered, (change) => changeInWords(change, describeClasses(change.eventClasses, classes))),
  ].map(([words, group]) => ({
    kind: classifyChange(group[0] as Change),
    sentence: `${counted(group.length, 'situation')} ${group.length === 1 ? 'changes' : 'change'} ${words}`,
    situations: group.map(({ situation }) => describeSituation(situation)),
  }))
}

/** Situations decided by another rule with the same result. */
export function describeRest({ moved }: RuleTableDiff): string[] {
  const byRules = Map.groupBy(
    moved,
    ({ before, after }) => `rule "${before.ruleId}" before, rule "${after.ruleId}" now`,
  )
  return [...byRules].map(
    ([rules, group]) =>
      `${counted(group.length, 'situation')} with the same result by another rule (${rules})`,
  )
}

/** Example: `from SEND by email to SKIP (muted) for invoice.paid (rule "email" before, rule "muted" now)`. */
export function changeInWords({ before, after }: BeforeAfter, eventTypes: string): string {
  const rules =
    before.ruleId === after.ruleId
      ? `rule "${before.ruleId}" as before`
      : `rule "${before.ruleId}" before, rule "${after.ruleId}" now`
  return `from ${describeResult(before)} to ${describeResult(after)} for ${eventTypes} (${rules})`
}
