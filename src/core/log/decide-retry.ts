import { type Decision, decide } from '../decision/decide.ts'
import type { Facts } from '../decision/facts.ts'
import type { RuleResult } from '../decision/rule-result.ts'
import type { Contact } from '../party/contact.ts'
import type { Preferences } from '../party/preferences.ts'
import { addressFor } from './compose-entry.ts'
import type { DueEntry } from './due-entry.ts'
import { STATUS_OF, type Status } from './status.ts'

/** A due row and the result of its retry. */
export interface RetriedEntry {
  readonly due: DueEntry
  readonly decision: Decision
  readonly status: Status
  /** The attempts once this one is made. */
  readonly attemptCount: number
  /** Where to send to; never stored. Null unless the message goes out by EMAIL or SMS. */
  readonly address: string | null
}

/**
 * Decides a failed row again, by the rule table in force, from what is known of its party now. Null if the party could not be
 * asked, as while policy administration is down: the row is postponed and uses up no attempt.
 */
export function decideRetry(
  decideByRules: (facts: Facts) => RuleResult,
  due: DueEntry,
  contact: Contact | undefined,
  preferences: Preferences | undefined,
): RetriedEntry | null {
  if (contact?.state === 'unresolved' && contact.unasked) return null
  const recipient = { partyLocator: due.partyLocator, invalid: false }
  const decision = decide(decideByRules, due.eventType, recipient, contact, preferences)
  return {
    due,
    decision,
    status: STATUS_OF[decision.outcome],
    attemptCount: due.attemptCount + 1,
    address: decision.outcome === 'SEND' ? addressFor(decision.channel, contact) : null,
  }
}
