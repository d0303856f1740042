import type { Contact } from '../party/contact.ts'
import type { Preferences } from '../party/preferences.ts'
import { type Facts, factsOf, type PartyState } from './facts.ts'
import { failureReason } from './failure-reason.ts'
import type { RuleResult } from './rule-result.ts'

/** The party of an event or a log entry. `partyLocator` is null where there is none or, if `invalid`, no valid one. */
export interface Recipient {
  readonly partyLocator: string | null
  readonly invalid: boolean
}

/** What to do with an event, and why. Holds nothing that must not be stored. */
export interface Decision extends RuleResult {
  readonly facts: Facts
  /** The text for `failure_reason`; null on SEND. */
  readonly failureReason: string | null
  readonly preferenceChangeId: string | null
}

/**
 * Decides one event. `contact` is undefined where the event names no party;
 * `preferences` is undefined where the party has none.
 */
export function decide(
  decideByRules: (facts: Facts) => RuleResult,
  eventType: string,
  recipient: Recipient,
  contact: Contact | undefined,
  preferences: Preferences | undefined,
): Decision {
  const facts = readFacts(eventType, recipient, contact, preferences)
  const result = decideByRules(facts)
  return {
    ...result,
    facts,
    failureReason: failureReason(result, recipient.invalid, contact),
    preferenceChangeId: preferences?.changeId ?? null,
  }
}

/** What there is to know of an event's party, as facts. Arguments as in `decide`. */
export function readFacts(
  eventType: string,
  { partyLocator }: Recipient,
  contact: Contact | undefined,
  preferences: Preferences | undefined,
): Facts {
  if (partyLocator !== null && contact === undefined)
    throw new Error(`no contact was looked up for ${partyLocator}`)
  const party: PartyState = partyLocator === null ? 'missing' : (contact?.state ?? 'missing')
  const known = { eventType, party, preferences, contact: contact?.state === 'found' ? contact : null }
  return factsOf(eventType, party, (_, fact) => fact.read(known))
}
