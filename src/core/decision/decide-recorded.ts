import { isChannel } from '../party/channel.ts'
import { findUnknown, type RecordedFacts, type RuleFacts } from './facts.ts'
import type { DecidedResult, RuleResult } from './result.ts'

/** These stand in for a rule if none could decide; a rule table cannot contain a rule with such a name. */
export const UNKNOWN_CHANNEL_RULE_ID = '(unknown channel)'
export const UNREADABLE_OPT_OUTS_RULE_ID = '(unreadable opt-outs)'
export const OTHER_VERSION_RULE_IDS: readonly string[] = [
  UNKNOWN_CHANNEL_RULE_ID,
  UNREADABLE_OPT_OUTS_RULE_ID,
]

/**
 * The rules' result for facts that another version may have stored. For a value that this version does not know, each of its own
 * values is tried: if the same rule decides them all alike, it decides. Null if it depends on the value.
 */
export function decideRecorded(
  decideByRules: (facts: RuleFacts) => RuleResult | null | undefined,
  facts: RecordedFacts,
): DecidedResult | null | undefined {
  const unknown = findUnknown(facts)
  if (unknown === undefined) return decideByRules(facts as RuleFacts)
  const [key, { values }] = unknown
  const [result, ...others] = values.map((value) => decideRecorded(decideByRules, { ...facts, [key]: value }))
  if (!result || !others.every((other) => other && isSame(result, other))) return null
  return result.outcome === 'SEND' || key !== 'preferredChannel'
    ? result
    : { ...result, outcome: result.outcome, channel: String(facts[key]) }
}

/** A row that is not sent has the preferred channel. */
function isSame(one: DecidedResult, other: DecidedResult): boolean {
  return one.ruleId === other.ruleId && (one.outcome !== 'SEND' || one.channel === other.channel)
}

/**
 * The rules' result for the facts of an event. Another version may have stored the member's preferences: if the rules depend on a
 * channel or on opt-outs that this version cannot read, the event waits for a retry by a version that can.
 */
export function decideOrFail(
  decideByRules: (facts: RuleFacts) => RuleResult,
  facts: RecordedFacts,
): DecidedResult {
  if (isChannel(facts.preferredChannel) && typeof facts.optedOut === 'boolean')
    return decideByRules(facts as RuleFacts)
  return decideRecorded(decideByRules, facts) ?? failUnreadable(facts)
}

function failUnreadable({ preferredChannel, optedOut }: RecordedFacts): DecidedResult {
  const failed = { outcome: 'FAIL', channel: String(preferredChannel) } as const
  const stored = 'stored by another version of the service; run that version, or set the'
  if (typeof optedOut !== 'boolean') {
    const reason = `opt-outs unreadable: opted_out_events holds more than event types, ${stored} preferences again`
    return { ...failed, ruleId: UNREADABLE_OPT_OUTS_RULE_ID, reason }
  }
  const reason = `preferred channel unknown: ${failed.channel} was ${stored} preference to a channel that this one knows`
  return { ...failed, ruleId: UNKNOWN_CHANNEL_RULE_ID, reason }
}
