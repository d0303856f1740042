import type { Contact } from '../party/contact.ts'
import type { RuleResult } from './rule-result.ts'

/** The failure reason of an event with an invalid party locator; to the rule table it has no party. */
export const INVALID_PARTY = 'invalid party locator'

/** The text for `failure_reason`: the rule's reason, on FAIL followed by the look-up's error; null on SEND. */
export function failureReason(
  result: RuleResult,
  isPartyInvalid: boolean,
  contact: Contact | undefined,
): string | null {
  switch (result.outcome) {
    case 'SEND':
      return null
    case 'SKIP':
      // To the table both are one situation; the log tells them apart.
      return isPartyInvalid ? INVALID_PARTY : (result.reason ?? result.ruleId)
    case 'FAIL': {
      const reason = result.reason ?? result.ruleId
      return contact?.state === 'unresolved' ? `${reason}: ${contact.error}` : reason
    }
    default:
      return result.outcome satisfies never
  }
}
