import type { Contact } from '../party/contact.ts'
import type { Preferences } from '../party/preferences.ts'
import { decideOrFail } from './decide-recorded.ts'
import { buildFacts, INVALID_LOCATOR, type PartyState, type RecordedFacts, type RuleFacts } from './facts.ts'
import type { DecidedResult, RuleResult } from './result.ts'

/** The party of an event or a log entry. `partyLocator` is null if there is none or, with `invalid`, no valid one. */
export interface Recipient {
  readonly partyLocator: string | null
  readonly invalid: boolean
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
  eventType: string,
  recipient: Recipient,
  contact: Contact | undefined,
  preferences: Preferences | undefined,
): Decision {
  const facts = readFacts(eventType, recipient, contact, preferences)
  const result = decideOrFail(decideByRules, facts)
  return {
    ...result,
    facts,
    failureReason: failureReason(result, facts, contact),
    preferenceChangeId: preferences?.changeId ?? null,
  }
}

export function readFacts(
  eventType: string,
  { partyLocator, invalid }: Recipient,
  contact: Contact | undefined,
  preferences: Preferences | undefined,
): RecordedFacts {
  if (partyLocator !== null && contact === undefined)
    throw new Error(`no contact was looked up for ${partyLocator}`)
  const party: PartyState = partyLocator === null ? 'missing' : (contact?.state ?? 'missing')
  const known = { eventType, party, preferences, contact: contact?.state === 'found' ? contact : null }
  const facts = buildFacts(eventType, party, (_, fact) => fact.read(known))
  return invalid ? { ...facts, [INVALID_LOCATOR]: true } : facts
}

/** Separates the reason of a rule from the error of a look-up. */
const SEPARATOR = ': '

/** True if a failure reason is this one, or this one and the error of a look-up. */
export function beginsWithReason(failureReason: string | null, reason: string | null): boolean {
  return failureReason === reason || (failureReason?.startsWith(`${reason}${SEPARATOR}`) ?? false)
}

/** The text for `failure_reason`: the rule's reason, followed on FAIL by the look-up's error; null on SEND. */
export function failureReason(
  result: DecidedResult,
  facts: RecordedFacts,
  contact: Contact | undefined,
): string | null {
  switch (result.outcome) {
    case 'SEND':
      return null
    case 'SKIP':
      // To the rule table an invalid locator is none; the log row says which.
      return facts[INVALID_LOCATOR] === true ? 'invalid party locator' : result.reason
    case 'FAIL':
      return contact?.state === 'unresolved' ? `${result.reason}${SEPARATOR}${contact.error}` : result.reason
    default:
      return result satisfies never
  }
}
