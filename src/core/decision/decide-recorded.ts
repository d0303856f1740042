import { isChannel } from './channel.ts'
import { type AskedFacts, findUnknown, type RecordedFacts } from './facts.ts'
import type { DecidedResult, RuleResult } from './result.ts'

/** Stands in for a rule if none could decide; a rule table cannot contain a rule with this name. */
export const UNKNOWN_CHANNEL_RULE_ID = '(unknown channel)'

/**
 * The rules' result for facts that another version may have stored. For a value that this version does not know, each of its own
 * values is tried: if the same rule decides them all alike, it decides. Null if it depends on the value.
 */
export function decideRecorded(
  decideByRules: (facts: AskedFacts) => RuleResult | null | undefined,
  facts: RecordedFacts,
): DecidedResult | null | undefined {
  const unknown = findUnknown(facts)
  if (unknown === undefined) return decideByRules(facts as AskedFacts)
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
 * The rules' result for the facts of an event. Its member may prefer a channel that only another version knows: if the rules
 * depend on it, the event waits for a retry by a version that does.
 */
export function decideNow(
  decideByRules: (facts: AskedFacts) => RuleResult,
  facts: RecordedFacts,
): DecidedResult {
  const { preferredChannel } = facts
  return isChannel(preferredChannel)
    ? decideByRules(facts as AskedFacts)
    : (decideRecorded(decideByRules, facts) ?? failUnknownChannel(String(preferredChannel)))
}

function failUnknownChannel(channel: string): DecidedResult {
  const reason = `preferred channel unknown: ${channel} was stored by another version of the service; run that version, or set the preference to a channel that this one knows`
  return { ruleId: UNKNOWN_CHANNEL_RULE_ID, outcome: 'FAIL', channel, reason }
}
