import type { AskedFacts, Situation } from '../decision/facts.ts'
import { describeResult, type RuleResult } from '../decision/result.ts'
import type { Fault } from '../text/faults.ts'
import { type EventClass, foldEventTypes } from './event-classes.ts'
import { eventTypeCells, excluding, isAnyOther } from './event-type-cell.ts'
import { byWords } from './find-faults.ts'
import { EXPECTATIONS, type RulePromise } from './load-promises.ts'
import { firstMismatch } from './mismatch.ts'
import { decideByRule, type Rule } from './rule.ts'
import { describeSituation, foldSituations } from './situations.ts'

/** A fault of the promises. `exclude`: the change that exempts a case from a broken promise, if its event types have names. */
export interface PromiseFault extends Fault {
  readonly exclude?: Exclusion
}

/** Named event types, and the event type cell that leaves them out. */
interface Exclusion {
  readonly eventTypes: readonly string[]
  readonly cell: string
}

/**
 * Returns each broken promise with its situations, and each promise that covers none. `ruleFor` returns the deciding rule, or
 * null. A situation without a rule breaks no promise.
 */
export function checkPromises(
  promises: readonly RulePromise[],
  rules: readonly Rule[],
  ruleFor: (facts: AskedFacts) => Rule | null,
): PromiseFault[] {
  const { classes } = foldEventTypes(eventTypeCells([...rules, ...promises]), [])
  const { situations } = foldSituations([...rules, ...promises])
  const cases = classes.flatMap((eventClass) =>
    situations.map((situation) => {
      const facts = { eventType: eventClass.representative, ...situation }
      return { eventClass, situation, facts, rule: ruleFor(facts) }
    }),
  )
  return promises.flatMap((promise): PromiseFault[] => {
    const { row } = promise
    const own = cases.filter(({ facts }) => firstMismatch(promise, facts) === null)
    if (own.length === 0)
      return [{ row, column: 'promise', text: 'it covers no situation: no party can be like that' }]
    const broken = own.flatMap(({ eventClass, situation, rule }) => {
      const words = rule === null ? null : describeViolation(promise, rule, situation)
      return words === null ? [] : [{ words, eventClass }]
    })
    if (broken.length === 0) return []
    const text = `"${promise.name}" promises ${describeExpected(promise)}${whichTypes(promise)}, but it is`
    const lines = byWords(broken, classes).map((line) => line.text)
    const exclude = exclusionFor(promise, broken)
    if (exclude === null) return [{ row, column: null, text, lines }]
    const hint = `If you mean it, write "${exclude.cell}" as the event type of the promise`
    return [{ row, column: null, text, lines: [...lines, hint], exclude }]
  })
}

/** Null if the event types have no names. */
function exclusionFor(
  { when }: RulePromise,
  broken: readonly { readonly eventClass: EventClass }[],
): Exclusion | null {
  if (broken.some(({ eventClass }) => !eventClass.isNamable)) return null
  const eventTypes = [...new Set(broken.flatMap(({ eventClass }) => eventClass.words))]
  const cell = excluding(when.eventType, eventTypes)
  return cell === null ? null : { eventTypes, cell }
}

/** How a rule breaks a promise in a situation, in words; null if it does not. */
function describeViolation(promise: RulePromise, rule: Rule, situation: Situation): string | null {
  const result = decideByRule(rule, situation)
  if (isKept(promise, result)) return null
  const done = result.outcome === 'SEND' ? `sent by ${result.channel}` : describeResult(result)
  return `${done} by rule "${rule.id}" (row ${rule.row}): ${describeSituation(situation)}`
}

function isKept({ expected, sendBy, reason }: RulePromise, result: RuleResult): boolean {
  return (
    EXPECTATIONS.get(expected)?.(result) === true &&
    (sendBy === null || sendBy === result.channel) &&
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
