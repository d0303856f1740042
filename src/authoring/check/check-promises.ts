import type { Situation } from '../../service/decide/decision/facts.ts'
import { describeResult } from '../../service/decide/decision/result.ts'
import { isAnyOther } from '../../service/decide/event/event-type-pattern.ts'
import { nameOfChannel } from '../../service/decide/party/channel.ts'
import type { EventClass } from '../../service/decide/rules/event-classes.ts'
import { excluding } from '../../service/decide/rules/event-type-cell.ts'
import type { FirstMatch } from '../../service/decide/rules/first-match.ts'
import { covers, keepsPromise } from '../../service/decide/rules/judge-rules.ts'
import type { RulePromise } from '../../service/decide/rules/load-promises.ts'
import { decideByRule, type Rule } from '../../service/decide/rules/rule.ts'
import type { Fault } from '../../service/text/faults.ts'
import { summariseCases } from './find-faults.ts'

/** A fault of the promises. `exclude`: the change that exempts a case from a broken promise, if it has named event types. */
export interface PromiseFault extends Fault {
  readonly exclude?: Exclusion
}

/** Named event types, and the event type cell that leaves them out. */
interface Exclusion {
  readonly eventTypes: readonly string[]
  readonly cell: string
}

/**
 * Returns each broken promise with the rules that break it, and each promise that covers none. `findRemedy` returns the change of a
 * rule that mends it, or null. A situation without a rule breaks no promise.
 */
export function checkPromises(
  promises: readonly RulePromise[],
  cases: readonly FirstMatch[],
  findRemedy: (rule: Rule) => string | null,
): PromiseFault[] {
  const classes = [...new Set(cases.map(({ eventClass }) => eventClass))]
  return promises.flatMap((promise): PromiseFault[] => {
    const { row } = promise
    const own = cases.filter((situation) => covers(promise, situation))
    if (own.length === 0)
      return [{ row, column: 'promise', text: 'it covers no situation: no party can be like that' }]
    const broken = own.flatMap((judged) => {
      const done = judged.rule && describeViolation(promise, judged.rule, judged.situation)
      return judged.rule === null || done === null ? [] : [{ ...judged, rule: judged.rule, done }]
    })
    if (broken.length === 0) return []
    const text = `"${promise.name}" promises ${describeExpected(promise)}${whichTypes(promise)}, but it is`
    const lines = [...Map.groupBy(broken, ({ rule }) => rule)].map(([rule, violations]) => {
      const done = [...new Set(violations.map((violation) => violation.done))].join(' or ')
      const remedy = findRemedy(rule)
      const end = remedy === null ? '' : `: ${remedy}`
      return `${done} by rule "${rule.id}" (row ${rule.row}): ${summariseCases(violations, classes)}${end}`
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

/** The result by which a rule breaks a promise, in words; null if it keeps it. */
function describeViolation(promise: RulePromise, rule: Rule, situation: Situation): string | null {
  if (keepsPromise(promise, rule, situation)) return null
  const result = decideByRule(rule, situation)
  return result.outcome === 'SEND' ? `sent by ${nameOfChannel(result.channel)}` : describeResult(result)
}

/** Lists the types covered by `any other`, since they change with the rules. */
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
