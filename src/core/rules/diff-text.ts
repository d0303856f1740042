import { describeResult } from '../decision/rule-result.ts'
import { counted } from '../text/count.ts'
import { CHANGE_KINDS, type ChangeKind, kindOf } from './change-kinds.ts'
import type { Change, RuleTableDiff } from './diff.ts'
import { describeClasses } from './event-classes.ts'
import { describeSituation } from './situations.ts'
import { createWeights, type Traffic } from './traffic.ts'

/** Changes that one sentence tells of: same results before and after, same event types. */
export interface ChangeGroup {
  readonly kind: ChangeKind
  /** How many events of the traffic it concerns; null where no traffic is known. */
  readonly events: number | null
  /** Such as `2 situations change from SEND by EMAIL to SKIP (muted) for invoice.paid (rule "email" before, rule "muted" now)`. */
  readonly sentence: string
  /** Each situation in words. */
  readonly situations: readonly string[]
}

/** The diff in sentences, one a line, beginning with the number of situations that change; situations are indented. */
export function describeDiff(diff: RuleTableDiff, traffic: Traffic | null = null): string[] {
  return [
    summariseDiff(diff, traffic),
    ...groupChanges(diff, traffic).flatMap(({ sentence, situations }) => [
      `${sentence}:`,
      ...situations.map((situation) => `    ${situation}`),
    ]),
    ...describeRest(diff),
  ]
}

/**
 * "0 situations change", "24 situations change: 8 no longer sent, 0 newly sent, 16 with another reason only". The first two
 * kinds always have their number: that nothing is newly sent is what a reader wants to know.
 */
export function summariseDiff(diff: RuleTableDiff, traffic: Traffic | null = null): string {
  const { changes } = diff
  const summary = `${counted(changes.length, 'situation')} ${changes.length === 1 ? 'changes' : 'change'}`
  if (changes.length === 0) return summary
  const weightOf = traffic && createWeights(diff, traffic)
  const counts = CHANGE_KINDS.map((kind) => {
    const own = changes.filter((change) => kindOf(change) === kind)
    return { kind, count: own.length, events: weightOf && sum(own.map(weightOf)) }
  })
  const told = counts
    .filter(({ count }, index) => count > 0 || index < 2)
    .map(
      ({ kind, count, events }) =>
        `${count} ${kind}${events !== null && count > 0 ? ` (${counted(events, 'event')})` : ''}`,
    )
  return `${summary}: ${told.join(', ')}${traffic ? `; of ${counted(traffic.total, 'event')} counted` : ''}`
}

/**
 * What changes, the most harmful first, gathered into as few sentences as there are kinds of change. With traffic each tells
 * how many events it concerns, and of one kind that with most comes first.
 */
export function groupChanges(diff: RuleTableDiff, traffic: Traffic | null = null): ChangeGroup[] {
  const { changes, classes } = diff
  const weightOf = traffic && createWeights(diff, traffic)
  const rank = (change: Change) => CHANGE_KINDS.indexOf(kindOf(change))
  const ordered = changes.toSorted((one, other) => rank(one) - rank(other))
  const groups = [
    ...Map.groupBy(ordered, (change) => wordsOf(change, describeClasses(change.eventClasses, classes))),
  ].map(([words, group]) => {
    const events = weightOf && sum(group.map(weightOf))
    const weight = events === null ? '' : `: ${counted(events, 'event')}`
    return {
      kind: kindOf(group[0] as Change),
      events,
      sentence: `${counted(group.length, 'situation')} ${group.length === 1 ? 'changes' : 'change'} ${words}${weight}`,
      situations: group.map((change) => situationOf(change, weightOf)),
    }
  })
  return groups.sort(
    (one, other) =>
      CHANGE_KINDS.indexOf(one.kind) - CHANGE_KINDS.indexOf(other.kind) ||
      (other.events ?? 0) - (one.events ?? 0),
  )
}

function situationOf(change: Change, weightOf: ((change: Change) => number) | null): string {
  const words = describeSituation(change.situation)
  return weightOf === null ? words : `${words}: ${counted(weightOf(change), 'event')}`
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
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
