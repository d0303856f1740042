import { nameOfChannel } from '../decision/channel.ts'
import type { AskedFacts, Situation } from '../decision/facts.ts'
import { describeResult, type RuleResult } from '../decision/result.ts'
import type { Fault } from '../text/faults.ts'
import { type EventClass, foldEventTypes } from './event-classes.ts'
import { eventTypeCells, excluding, isAnyOther } from './event-type-cell.ts'
import { describeMove, summariseCases } from './find-faults.ts'
import type { FirstMatch } from './first-match.ts'
import { EXPECTATIONS, type RulePromise } from './load-promises.ts'
import { firstMismatch } from './mismatch.ts'
import { decideByRule, type Rule } from './rule.ts'
import { foldSituations } from './situations.ts'

/** A fault of the promises. `exclude`: the change that exempts a case from a broken promise, if its event types have names. */
export interface PromiseFault extends Fault {
  readonly exclude?: Exclusion
}

/** Named event types, and the event type cell that leaves them out. */
interface Exclusion {
  readonly eventTypes: readonly string[]
  readonly cell: string
}

type Case = FirstMatch & { readonly facts: AskedFacts }

/**
 * Returns each broken promise with the rules that break it, and each promise that covers none. `ruleFor` returns the deciding rule, or
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
    situations.map((situation): Case => {
      const facts = { eventType: eventClass.representative, ...situation }
      return { eventClass, situation, facts, rule: ruleFor(facts) }
    }),
  )
  return promises.flatMap((promise): PromiseFault[] => {
    const { row } = promise
    const own = cases.filter(({ facts }) => firstMismatch(promise, facts) === null)
    if (own.length === 0)
      return [{ row, column: 'promise', text: 'it covers no situation: no party can be like that' }]
    const broken = own.flatMap((one) => {
      const done = one.rule && describeViolation(promise, one.rule, one.situation)
      return one.rule === null || done === null ? [] : [{ ...one, rule: one.rule, done }]
    })
    if (broken.length === 0) return []
    const text = `"${promise.name}" promises ${describeExpected(promise)}${whichTypes(promise)}, but it is`
    const isWrong = (rule: Rule, answer: FirstMatch) =>
      own.includes(answer as Case) && describeViolation(promise, rule, answer.situation) !== null
    const lines = [...Map.groupBy(broken, ({ rule }) => rule)].map(([rule, some]) => {
      const done = [...new Set(some.map((one) => one.done))].join(' or ')
      const move = describeMove(rules, rule, cases, isWrong)
      const remedy = move === null ? '' : `: ${move}`
      return `${done} by rule "${rule.id}" (row ${rule.row}): ${summariseCases(some, classes)}${remedy}`
    })
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

/** What a rule does in breach of a promise, in words; null if it keeps it. */
function describeViolation(promise: RulePromise, rule: Rule, situation: Situation): string | null {
  const result = decideByRule(rule, situation)
  if (isKept(promise, result)) return null
  return result.outcome === 'SEND' ? `sent by ${nameOfChannel(result.channel)}` : describeResult(result)
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
  if (sendBy !== null) return `${expected} by ${nameOfChannel(sendBy)}`
  const [, never] = /^not by (.+)$/.exec(expected) ?? []
  if (never !== undefined) return `nothing by ${nameOfChannel(never)}`
  return reason === null ? expected : `${expected} (${reason})`
}
