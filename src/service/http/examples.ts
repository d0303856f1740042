import type { PartyPreferences, StoredPreferences } from '../decide/party/preferences.ts'
import type { ExplainedLogEntry, ListedLogEntry } from '../model/log/log-entry.ts'

/** Examples in the API document. A test checks each against its schema. */

const PARTY_LOCATOR = 'PTY-000042'

export const PREFERENCES_EXAMPLE: StoredPreferences = {
  email: 'ada@example.com',
  phone: null,
  preferredChannel: 'SMS',
  optedOutEvents: ['invoice.paid', 'payment.received'],
}

export const PARTY_PREFERENCES_EXAMPLE: PartyPreferences = {
  ...PREFERENCES_EXAMPLE,
  partyLocator: PARTY_LOCATOR,
}

export const ENTRY_EXAMPLE: ListedLogEntry = {
  locator: 'NTF-0196f3a2-7c1e-7b3a-9d55-3f6f0c2b8a11',
  eventId: '5f0c7c1a-2f9e-4a57-9a53-0b1f6d1f7f10',
  partyLocator: PARTY_LOCATOR,
  eventType: 'claim.paid',
  channel: 'EMAIL',
  status: 'SENT',
  subject: 'Your claim has been paid',
  body: 'Hello,\n\nwe have paid your claim (reference CLM-2026-00056).\n',
  failureReason: null,
  attemptCount: 1,
  sentAt: '2026-01-31T12:00:00.512345Z',
  createdAt: '2026-01-31T12:00:00.123456Z',
  reference: 'CLM-2026-00056',
  because: null,
  givenUp: false,
  receipt: 'recorded:EMAIL:5f0c7c1a-2f9e-4a57-9a53-0b1f6d1f7f10/1',
  recordedOnly: true,
}

const { because: _, ...ROW_EXAMPLE } = ENTRY_EXAMPLE

export const EXPLAINED_ENTRY_EXAMPLE: ExplainedLogEntry = {
  ...ROW_EXAMPLE,
  story: {
    what: 'On 2026-01-31T12:00:00.512345Z, the email “Your claim has been paid” about CLM-2026-00056 for member PTY-000042 was recorded only: no transport is connected, so nothing was delivered.',
    because: 'The member prefers email, and we have an email address.',
    next: 'Nothing. It is not delivered later, even if a transport is connected.',
    timeline: [
      { at: '2026-01-31T12:00:00.123456Z', until: null, words: 'The event claim.paid was processed.' },
      { at: '2026-01-31T12:00:00.123456Z', until: null, words: 'Email recorded, not delivered.' },
    ],
  },
  decisions: [
    {
      attempt: 1,
      retry: null,
      request: null,
      outcome: 'SEND',
      channel: 'EMAIL',
      ruleId: 'email',
      reason: null,
      facts: {
        eventType: 'claim.paid',
        party: 'found',
        optedOut: false,
        preferredChannel: 'EMAIL',
        emailOnFile: true,
        phoneOnFile: false,
      },
      templateRevision: '3f0d8a52c1b7e69f4a0d1c2b3e4f5a6978b9c0d1e2f3a4b5c6d7e8f901234567',
      ruleTableRevision: '9b1e6f2c7a3d4850b6c7d8e9f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3',
      envelopeMapRevision: '1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f',
      receipt: 'recorded:EMAIL:5f0c7c1a-2f9e-4a57-9a53-0b1f6d1f7f10/1',
      recordedOnly: true,
      sendError: null,
      decidedAt: '2026-01-31T12:00:00.123456Z',
      erasedAt: null,
      topic: 'claims',
      partition: 3,
      offset: '1207',
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      preferenceChange: null,
      readFrom: { partyLocator: '/partyLocator', locator: '/payload/locator', reason: '/payload/reason' },
      why: 'SEND by email by rule "email", for claim.paid, party found, not opted out, prefers email, email on file, no phone on file: The member prefers email, and we have an email address.',
      because: 'The member prefers email, and we have an email address.',
      traceUrl: 'https://jaeger.example/trace/4bf92f3577b34da6a3ce929d0e0e4736',
      rulesAbove: [{ ruleId: 'opted-out', mismatch: '"opted out" must be yes, but is no' }],
    },
  ],
}
