import { INVALID_LOCATOR, type StatedFacts } from '../event/stated-facts.ts'
import type { Contact } from '../party/contact.ts'
import type { Preferences } from '../party/preferences.ts'
import {
  buildFacts,
  cellText,
  findForeign,
  type KeyedFact,
  type PartyState,
  type RecordedFacts,
  type RuleFacts,
} from './facts.ts'
import type { DecidedResult, RuleResult } from './result.ts'

/** Stand-ins for a rule where none could decide; no rule may have such a name. */
export const UNKNOWN_CHANNEL_RULE_ID = '(unknown channel)'
export const UNREADABLE_OPT_OUTS_RULE_ID = '(unreadable opt-outs)'
export const UNKNOWN_FACT_RULE_ID = '(unknown fact)'
export const OTHER_VERSION_RULE_IDS: readonly string[] = [
  UNKNOWN_CHANNEL_RULE_ID,
  UNREADABLE_OPT_OUTS_RULE_ID,
  UNKNOWN_FACT_RULE_ID,
]

/** The content of an event, or of the last decision of a log entry. `partyLocator` is null if there is no valid one. */
export interface DecisionSubject {
  readonly eventType: string
  readonly partyLocator: string | null
  readonly stated: StatedFacts
}

/** The outcome for an event, and its reasons. Contains no contact data, so that it can be stored. */
export type Decision = DecidedResult & {
  readonly facts: RecordedFacts
  readonly failureReason: string | null
  readonly preferenceChangeId: string | null
}

/** `contact` is undefined if the event names no party, `preferences` if the party has none. */
export function decide(
  decideByRules: (facts: RuleFacts) => RuleResult,
  subject: DecisionSubject,
  contact: Contact | undefined,
  preferences: Preferences | undefined,
): Decision {
  const facts = readFacts(subject, contact, preferences)
  const result = decideOrFail(decideByRules, facts)
  return {
    ...result,
    facts,
    failureReason: describeFailure(result, facts, contact),
    preferenceChangeId: preferences?.changeId ?? null,
  }
}

export function readFacts(
  { eventType, partyLocator, stated }: DecisionSubject,
  contact: Contact | undefined,
  preferences: Preferences | undefined,
): RecordedFacts {
  if (partyLocator !== null && contact === undefined)
    throw new Error(`no contact was looked up for ${partyLocator}`)
  const party: PartyState = partyLocator === null ? 'missing' : (contact?.state ?? 'missing')
  const found = contact?.state === 'found' ? contact : null
  const known = { eventType, party, preferences, contact: found, stated }
  return Object.assign(
    buildFacts(eventType, party, (_, fact) => fact.read(known)),
    stated,
  )
}

/** Separates the reason of a rule from the error of a look-up. */
const SEPARATOR = ': '

/** True if a failure reason is this one, or this one and the error of a look-up. */
export function beginsWithReason(failureReason: string | null, reason: string | null): boolean {
  return failureReason === reason || (failureReason?.startsWith(`${reason}${SEPARATOR}`) ?? false)
}

/** The text for `failure_reason`: the rule's reason, followed on FAIL by the look-up's error; null on SEND. */
export function describeFailure(
  result: DecidedResult,
  facts: RecordedFacts,
  contact: Contact | undefined,
): string | null {
  switch (result.outcome) {
    case 'SEND':
      return null
    case 'SKIP':
      // The rule table treats an invalid locator as missing; the log row distinguishes them.
      return facts[INVALID_LOCATOR] === true ? 'invalid party locator' : result.reason
    case 'FAIL':
      return contact?.state === 'unresolved' ? `${result.reason}${SEPARATOR}${contact.error}` : result.reason
    default:
      return result satisfies never
  }
}

/**
 * The rules' result for an event's facts. Another version may have stored the preferences or stated facts. If the rules depend on a
 * value that this version cannot read, the event waits for a retry by a version that can.
 */
export function decideOrFail(
  decideByRules: (facts: RuleFacts) => RuleResult,
  facts: RecordedFacts,
): DecidedResult {
  const foreign = findForeign(facts)
  if (foreign === undefined) return decideByRules(facts as RuleFacts)
  return decideRecorded(decideByRules, facts) ?? failUnreadable(facts, foreign)
}

function failUnreadable(facts: RecordedFacts, [key, { column }]: KeyedFact): DecidedResult {
  const failed = { outcome: 'FAIL', channel: String(facts.preferredChannel) } as const
  const stored = 'stored by another version of the service; run that version'
  if (key === 'optedOut') {
    const reason = `opt-outs unreadable: opted_out_events holds more than event types, ${stored}, or set the preferences again`
    return { ...failed, ruleId: UNREADABLE_OPT_OUTS_RULE_ID, reason }
  }
  const reason = `${column} unknown: ${cellText(facts[key])} was ${stored}`
  if (key !== 'preferredChannel') return { ...failed, ruleId: UNKNOWN_FACT_RULE_ID, reason }
  const remedy = ', or set the preference to a channel that this one knows'
  return { ...failed, ruleId: UNKNOWN_CHANNEL_RULE_ID, reason: `${reason}${remedy}` }
}

/**
 * The rules' result for facts that another version may have stored. For a value that this version does not know, each of its own
 * values is tried: if the same rule decides them all alike, it decides. Null if it depends on the value.
 */
export function decideRecorded(
  decideByRules: (facts: RuleFacts) => RuleResult | null | undefined,
  facts: RecordedFacts,
): DecidedResult | null | undefined {
  const foreign = findForeign(facts)
  if (foreign === undefined) return decideByRules(facts as RuleFacts)
  const [key, { values }] = foreign
  const [result, ...others] = values.map((value) => decideRecorded(decideByRules, { ...facts, [key]: value }))
  if (!result || !others.every((other) => other && isSameResult(result, other))) return null
  return result.outcome === 'SEND' || key !== 'preferredChannel'
    ? result
    : { ...result, outcome: result.outcome, channel: String(facts[key]) }
}

/** A row that is not sent has the preferred channel. */
function isSameResult(one: DecidedResult, other: DecidedResult): boolean {
  return one.ruleId === other.ruleId && (one.outcome !== 'SEND' || one.channel === other.channel)
}
