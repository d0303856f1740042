import type {
  Attempt,
  FirstAttempt,
  RulesInForce,
  StoredRetry,
} from '../../../../src/service/decide/attempt/attempt.ts'
import type { Delivery, Send } from '../../../../src/service/decide/attempt/delivery.ts'
import type { RetryCandidate } from '../../../../src/service/decide/attempt/retry-candidate.ts'
import type { RetryEntry } from '../../../../src/service/decide/attempt/retry-entry.ts'
import type { Decision } from '../../../../src/service/decide/decision/decide.ts'
import type { LoggedRow } from '../../../../src/service/decide/event/conflict.ts'
import type { Event } from '../../../../src/service/decide/event/parse-event.ts'
import type { Contact } from '../../../../src/service/decide/party/contact.ts'
import { aFound, someFacts } from '../../build.ts'

export const EMAIL = 'member@example.com'
export const FOUND: Contact = aFound({ email: EMAIL, phone: '+1' })
export const UNRESOLVED: Contact = { state: 'unresolved', error: 'HTTP 500', costsNoAttempt: false }
export const NOT_FOUND: Contact = { state: 'not found' }

/** An event of party-1, as it is parsed. */
export function aParsedEvent(eventId: string, overrides: Partial<Event> = {}): Event {
  return {
    eventId,
    eventType: 'claim.paid',
    partyLocator: 'party-1',
    stated: {},
    reference: 'CLM-1',
    reason: null,
    traceId: null,
    ...overrides,
  }
}

/** The row of an event of party-1, from another topic. */
export function aLoggedRow(eventId: string, overrides: Partial<LoggedRow> = {}): LoggedRow {
  return {
    eventId,
    locator: `NTF-${eventId}`,
    eventType: 'claim.paid',
    partyLocator: 'party-1',
    reference: 'CLM-1',
    reason: null,
    origin: { topic: 'billing', partition: 0, offset: 0n },
    envelopeMapRevision: 'ghi',
    erased: false,
    ...overrides,
  }
}

/** A decision to send by EMAIL. */
function aDecision(overrides: Partial<Decision> = {}): Decision {
  return {
    ruleId: 'send-email',
    outcome: 'SEND',
    channel: 'EMAIL',
    reason: null,
    failureReason: null,
    facts: someFacts(),
    preferenceChangeId: null,
    ...overrides,
  } as Decision
}

/** A first attempt for party-1, who has an address. */
export function anOpenAttempt(eventId: string, overrides: Partial<FirstAttempt> = {}): FirstAttempt {
  return {
    kind: 'first',
    locator: `NTF-${eventId}`,
    eventId,
    eventType: 'claim.paid',
    partyLocator: 'party-1',
    stated: {},
    contact: FOUND,
    origin: { topic: 'claims', partition: 0, offset: 0n, traceId: null, envelopeMapRevision: 'ghi' },
    variables: { eventType: 'claim.paid', locator: 'CLM-1', reason: null },
    isPruned: false,
    request: null,
    ...overrides,
  }
}

const TEXT = { subject: 'S', body: 'B', templateRevision: 'rev' }

/** A retry after one attempt, for party-1, who has an address. */
export function anOpenRetry(eventId: string, overrides: Partial<StoredRetry> = {}): StoredRetry {
  const { isPruned: _, ...subject } = anOpenAttempt(eventId)
  const before = { attemptCount: 1, sendCount: 0, unknownKey: null }
  return { ...subject, kind: 'stored retry', before, stored: TEXT, ...overrides }
}

type Outcome = Pick<Attempt, 'decision' | 'status' | 'attemptCount' | 'text' | 'address'>
const SENT: Outcome = {
  decision: aDecision(),
  status: 'SENT',
  attemptCount: 1,
  text: TEXT,
  address: EMAIL,
}

/** A first attempt that was sent by EMAIL. */
export function anAttempt(eventId: string, overrides: Partial<FirstAttempt & Outcome> = {}): Attempt {
  return { ...anOpenAttempt(eventId), ...SENT, ...overrides }
}

/** A retry that was sent by EMAIL. */
export function aRetry(eventId: string, overrides: Partial<StoredRetry & Outcome> = {}): Attempt {
  return { ...anOpenRetry(eventId), ...SENT, attemptCount: 2, ...overrides }
}

/** A FAILED row with one attempt behind it. */
export function aDueEntry(eventId: string, overrides: Partial<RetryEntry> = {}): RetryEntry {
  return {
    locator: `NTF-${eventId}`,
    eventId,
    eventType: 'claim.paid',
    partyLocator: 'party-1',
    status: 'FAILED',
    subject: 'S',
    body: 'B',
    attemptCount: 1,
    sendCount: 0,
    unknownKey: null,
    ...overrides,
  }
}

/** What a retry on request needs of a row's last decision. */
export function aCandidateDecision(
  overrides: Partial<RetryCandidate['decision']> = {},
): NonNullable<RetryCandidate['decision']> {
  return {
    ruleId: 'no-email',
    reason: 'no email',
    facts: someFacts(),
    variables: { eventType: 'claim.paid', locator: 'CLM-1', reason: null },
    topic: 'claims',
    partition: 0,
    offset: 0n,
    envelopeMapRevision: 'ghi',
    ...overrides,
  }
}

/** A row that was skipped and may be retried on request. */
export function aRetryCandidate(name: string, overrides: Partial<RetryCandidate> = {}): RetryCandidate {
  return {
    locator: name,
    eventId: name,
    eventType: 'claim.paid',
    partyLocator: name,
    status: 'SKIPPED',
    subject: null,
    body: null,
    createdAt: '2026-01-31T12:00:00.000000Z',
    attemptCount: 0,
    sendCount: 0,
    unknownKey: null,
    failureReason: 'no email',
    isGivenUp: false,
    isErased: false,
    decision: aCandidateDecision(),
    ...overrides,
  }
}

/** Sends to parties that are found and did not opt out, by the channel that they prefer; retries those that are unresolved. */
export const SIMPLE_RULES: RulesInForce = {
  ruleTable: {
    revision: 'table',
    decide: ({ party, optedOut, preferredChannel: channel }) => {
      const outcome = party === 'unresolved' ? 'FAIL' : party !== 'found' || optedOut ? 'SKIP' : 'SEND'
      const reason = outcome === 'SEND' ? null : optedOut ? 'opted out' : party
      return { ruleId: outcome.toLowerCase(), outcome, channel, reason }
    },
  },
  templates: new Map([
    ['generic', { name: 't', revision: 'rev', source: '', subject: () => 'S', body: () => 'B' }],
  ]),
}

/** A send that remembers the idempotency keys of its messages. */
export function recordingSend(answer: (eventId: string) => Delivery = () => ({ receipt: 'r', error: null })) {
  const keys: string[] = []
  const send: Send = async (messages) => {
    const deliveries = new Map<string, Delivery>()
    for (const { locator, idempotencyKey } of messages) {
      keys.push(idempotencyKey)
      deliveries.set(locator, answer(idempotencyKey.replace(/\/\d+$/, '')))
    }
    return deliveries
  }
  return {
    keys,
    /** Event ids in the order of their messages. */
    get sent(): readonly string[] {
      return keys.map((key) => key.replace(/\/\d+$/, ''))
    },
    send,
  }
}
