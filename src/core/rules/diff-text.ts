import { describeResult } from '../decision/rule-result.ts'
import { counted } from '../text/count.ts'
import type { Change, RuleTableDiff } from './diff.ts'
import { describeClasses } from './event-classes.ts'
import { describeSituation } from './situations.ts'

/** Changes that one sentence tells of: same results before and after, same event types. */
export interface ChangeGroup {
  /** Such as `2 situations change from SEND by EMAIL to SKIP (muted) for invoice.paid (rule "email" before, rule "muted" now)`. */
  readonly sentence: string
  /** Each situation in words. */
  readonly situations: readonly string[]
}

/** The diff in sentences, one a line, beginning with the number of situations that change; situations are indented. */
export function describeDiff(diff: RuleTableDiff): string[] {
  return [
    summariseDiff(diff),
    ...groupChanges(diff).flatMap(({ sentence, situations }) => [
      `${sentence}:`,
      ...situations.map((situation) => `    ${situation}`),
    ]),
    ...describeRest(diff),
  ]
}

/** "0 situations change", "3 situations change". */
export function summariseDiff({ changes }: RuleTableDiff): string {
  return `${counted(changes.length, 'situation')} ${changes.length === 1 ? 'changes' : 'change'}`
}

/** What changes, gathered into as few sentences as there are kinds of change. */
export function groupChanges({ changes, classes }: RuleTableDiff): ChangeGroup[] {
  return [
    ...Map.groupBy(changes, (change) => wordsOf(change, describeClasses(change.eventClasses, classes))),
  ].map(([words, group]) => ({
    sentence: `${counted(group.length, 'situation')} ${group.length === 1 ? 'changes' : 'change'} ${words}`,
    situations: group.map(({ situation }) => describeSituation(situation)),
  }))
}

/** What changes without changing any situation: situations decided the same way by another rule, and reworded explanations. */
export function describeRest({ moved, reworded }: RuleTableDiff): string[] {
  const byRules = Map.groupBy(
    moved,
    ({ before, after }) => `rule "${before.ruleId}" before, rule "${after.ruleId}" now`,
  )
  return [
    ...[...byRules].map(
      ([rules, group]) =>
        `${counted(group.length, 'situation')} decided the same way by another rule (${rules})`,
    ),
    ...reworded.map(
      ({ before, after }) =>
        `rule "${after.id}" has a new explanation: "${after.because}", previously "${before.because}"`,
    ),
  ]
}

function wordsOf({ before, after }: Change, eventTypes: string): string {
  const rules =
    before.ruleId === after.ruleId
      ? `rule "${before.ruleId}" as before`
      : `rule "${before.ruleId}" before, rule "${after.ruleId}" now`
  return `from ${describeResult(before)} to ${describeResult(after)} for ${eventTypes} (${rules})`
}
