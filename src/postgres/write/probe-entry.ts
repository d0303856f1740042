import type { Entry } from '../../core/log/compose-entry.ts'

/** A failed row that holds nothing from any message: where it is refused, the schema is at fault. */
export function probeEntry(): Entry {
  // Unique, so that two transactions that probe do not wait for each other.
  const locator = `NTF-probe-${crypto.randomUUID()}`
  const eventType = 'probe'
  return {
    locator,
    offset: 0n,
    event: {
      eventId: locator,
      eventType,
      partyLocator: null,
      partyLocatorInvalid: false,
      locator: '',
      reason: null,
      traceId: null,
    },
    decision: {
      ruleId: 'probe',
      outcome: 'FAIL',
      channel: 'EMAIL',
      reason: 'probe',
      failureReason: 'probe',
      facts: {
        eventType,
        party: 'missing',
        optedOut: false,
        preferredChannel: 'EMAIL',
        emailOnFile: null,
        phoneOnFile: null,
      },
      preferenceChangeId: null,
    },
    status: 'FAILED',
    text: { subject: 'probe', body: 'probe' },
    variables: { eventType, locator: '', reason: null },
    templateRevision: null,
    attemptCount: 0,
    address: null,
  }
}
