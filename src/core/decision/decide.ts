import type { Contact } from '../party/contact.ts'
import type { Preferences } from '../party/preferences.ts'
import { DEFAULT_CHANNEL } from './channel.ts'
import type { Facts } from './facts.ts'
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
  const facts = factsOf(eventType, recipient, contact, preferences)
  const result = decideByRules(facts)
  return {
    ...result,
    facts,
    failureReason: failureReason(result, recipient.invalid, contact),
    preferenceChangeId: preferences?.changeId ?? null,
  }
}

function factsOf(
  eventType: string,
  recipient: Recipient,
  contact: Contact | undefined,
  preferences: Preferences | undefined,
): Facts {
  if (recipient.partyLocator === null) {
    return {
      eventType,
      party: 'missing',
      optedOut: false,
      preferredChannel: DEFAULT_CHANNEL,
      emailOnFile: null,
      phoneOnFile: null,
    }
  }
  if (contact === undefined) throw new Error(`no contact was looked up for ${recipient.partyLocator}`)
  const found = contact.state === 'found'
  return {
    eventType,
    party: contact.state,
    optedOut: preferences?.optedOutEvents.has(eventType) ?? false,
    preferredChannel: preferences?.preferredChannel ?? DEFAULT_CHANNEL,
    emailOnFile: found ? contact.email !== null : null,
    phoneOnFile: found ? contact.phone !== null : null,
  }
}
