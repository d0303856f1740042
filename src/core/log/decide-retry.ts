import { type Decision, decide } from '../decision/decide.ts'
import type { Facts } from '../decision/facts.ts'
import type { RuleResult } from '../decision/rule-result.ts'
import type { Contact } from '../party/contact.ts'
import type { Preferences } from '../party/preferences.ts'
import { addressFor } from './compose-entry.ts'
import type { DueEntry, RetryRequest } from './due-entry.ts'
import { STATUS_OF, type Status } from './status.ts'

/** A due row, and what was learned of its party; `contact` is undefined where the row has none. */
export interface AskedEntry {
  readonly due: DueEntry
  readonly contact: Contact | undefined
}

/** Due rows that lack nothing but their parties' preferences, which the transaction reads that writes their retries. */
export interface PreparedRetries {
  readonly ruleTableRevision: string
  readonly asked: readonly AskedEntry[]
  /** Null where the service itself retries what is due. */
  readonly request: RetryRequest | null
  /** Pure. */
  readonly decide: (asked: AskedEntry, preferences: Preferences | undefined) => RetriedEntry
}

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

/** Whether the party could not be asked, as while policy administration is down: its row is postponed and uses up no attempt. */
export function isPostponed({ contact }: AskedEntry): boolean {
  return contact?.state === 'unresolved' && contact.unasked
}

/** Decides a failed row again, by the rule table in force, from what is known of its party now. */
export function decideRetry(
  decideByRules: (facts: Facts) => RuleResult,
  { due, contact }: AskedEntry,
  preferences: Preferences | undefined,
): RetriedEntry {
  const recipient = { partyLocator: due.partyLocator, invalid: due.isPartyInvalid ?? false }
  const decision = decide(decideByRules, due.eventType, recipient, contact, preferences)
  return {
    due,
    decision,
    status: STATUS_OF[decision.outcome],
    attemptCount: due.attemptCount + 1,
    address: decision.outcome === 'SEND' ? addressFor(decision.channel, contact) : null,
  }
}
