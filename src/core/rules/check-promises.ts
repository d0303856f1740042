import type { AskedFacts, Situation } from '../decision/facts.ts'
import { describeResult, type RuleResult } from '../decision/result.ts'
import { type EventClass, foldEventTypes } from './event-classes.ts'
import { eventTypeCells, isAnyOther } from './event-type-cell.ts'
import { byWords } from './find-faults.ts'
import type { RulePromise } from './load-promises.ts'
import { firstMismatch } from './mismatch.ts'
import { decideByRule, type Rule } from './rule.ts'
import { describeSituation, foldSituations } from './situations.ts'

/**
 * Returns each broken promise with its situations, and each promise that covers none. `ruleFor` returns the deciding rule, or
 * null. A situation without a rule breaks no promise.
 */
export function checkPromises(
  promises: readonly RulePromise[],
  rules: readonly Rule[],
  ruleFor: (facts: AskedFacts) => Rule | null,
): string[] {
  const { classes } = foldEventTypes(eventTypeCells([...rules, ...promises]), [])
  const { situations } = foldSituations([...rules, ...promises])
  const cases = classes.flatMap((eventClass) =>
    situations.map((situation) => {
      const facts = { eventType: eventClass.representative, ...situation }
      return { eventClass, situation, facts, rule: ruleFor(facts) }
    }),
  )
  const faults = promises.flatMap((promise) => {
    const own = cases.filter(({ facts }) => firstMismatch(promise, facts) === null)
    if (own.length === 0)
      return [`row ${promise.row}, column "promise": it covers no situation: no party can be like that`]
    const broken = own.flatMap(({ eventClass, situation, rule }) => {
      const words = rule === null ? null : describeViolation(promise, rule, situation)
      return words === null ? [] : [{ words, eventClass }]
    })
    const lines = [...byWords(broken, classes), ...exclusionFor(promise, broken)].map((line) => `\n  ${line}`)
    return lines.length === 0
      ? []
      : [
          `row ${promise.row}: "${promise.name}" promises ${describeExpected(promise)}${whichTypes(promise)}, but it is${lines.join('')}`,
        ]
  })
  return faults
}

/** Names the event types to exclude from a promise that holds for all others; empty if they have no names. */
function exclusionFor(
  { when: { eventType } }: RulePromise,
  broken: readonly { readonly eventClass: EventClass }[],
): string[] {
  const types = [...new Set(broken.flatMap(({ eventClass }) => eventClass.words))]
  const isOfOthers = eventType === null || eventType.text.startsWith('not ')
  if (!isOfOthers || types.length === 0 || types.some((words) => words.startsWith('any other'))) return []
  const cell = `${eventType === null ? 'not' : `${eventType.text} or`} ${types.join(' or ')}`
  return [`If you mean it, write "${cell}" as the event type of the promise`]
}

/** How a rule breaks a promise in a situation, in words; null if it does not. */
function describeViolation(promise: RulePromise, rule: Rule, situation: Situation): string | null {
  const result = decideByRule(rule, situation)
  if (isKept(promise, result)) return null
  return `${describeResult(result).replace(/^SEND/, 'sent')} by rule "${rule.id}" (row ${rule.row}): ${describeSituation(situation)}`
}

function isKept({ expected, sendBy, reason }: RulePromise, result: RuleResult): boolean {
  const { outcome, channel } = result
  if (expected.startsWith('not '))
    return expected !== `not ${outcome}` && (outcome !== 'SEND' || expected !== `not by ${channel}`)
  return (
    expected === outcome &&
    (sendBy === null || sendBy === channel) &&
    (reason === null || reason === result.reason)
  )
}

/** Lists the types behind `any other`, since they change with the rules. */
function whichTypes({ when }: RulePromise): string {
  if (when.eventType === null || !isAnyOther(when.eventType.text)) return ''
  const { names, prefixes } = when.eventType
  const named = [...new Set([...names, ...prefixes.map((prefix) => `${prefix}*`)])]
  return named.length === 0
    ? ' for every event type, as no rule names one'
    : ` for event types that no rule names (these are named: ${named.join(', ')})`
}

function describeExpected({ expected, sendBy, reason }: RulePromise): string {
  if (expected === 'not SEND') return 'that nothing is sent'
  if (sendBy !== null) return `${expected} by ${sendBy}`
  return reason === null ? expected : `${expected} (${reason})`
}
