import { ADDRESS_OF, type Channel } from '../decision/channel.ts'
import { type Decision, decide, type RuleResult, readFacts } from '../decision/decide.ts'
import type { Facts } from '../decision/facts.ts'
import { skipPruned } from '../decision/skip-pruned.ts'
import { STATUS_OF, type Status } from '../log/status.ts'
import type { Contact } from '../party/contact.ts'
import type { PreferencesByParty } from '../party/preferences.ts'
import { render } from '../templates/render.ts'
import type { Templates, Variables } from '../templates/template.ts'
import type { Deliveries, OutgoingMessage } from './delivery.ts'

/** The message that an event came from. */
export interface Origin {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly traceId: string | null
  /** Null where the envelope map that read the message is not known. */
  readonly envelopeMapRevision: string | null
}

export interface RenderedText {
  readonly subject: string
  readonly body: string
  readonly templateRevision: string | null
}

/** The operator who asked for rows to be retried that the service would not retry any more, and why. */
export interface RetryRequest {
  readonly by: string
  readonly because: string
}

/** A log row as its last attempt left it. */
export interface RowBefore {
  readonly attemptCount: number
  /** Its decisions to send, whatever became of the messages, except a deferred one. */
  readonly sendCount: number
  /** The number in the last idempotency key if nobody knows whether that message was sent: it is used again. */
  readonly unknownKey: number | null
}

/** The parts of a row's last decision that the next one repeats. */
export interface LockedRow {
  readonly origin: Origin
  readonly variables: Variables | null
  readonly templateRevision: string | null
}

/** One try to notify a party about an event, not decided yet. */
export interface OpenAttempt {
  readonly locator: string
  readonly eventId: string
  readonly eventType: string
  /** Null where the event names no party or, if `isPartyInvalid`, one that cannot exist. */
  readonly partyLocator: string | null
  readonly isPartyInvalid: boolean
  /** Undefined where the event names no party. */
  readonly contact: Contact | undefined
  readonly origin: Origin
  /** Null where the text is stored. */
  readonly variables: Variables | null
  /** The stored text; null where it is rendered once the attempt is decided. */
  readonly stored: RenderedText | null
  /** The event may have had a row that was pruned: nobody is told again. */
  readonly isPruned: boolean
  /** Null where the event is new. */
  readonly before: RowBefore | null
  /** Null unless an operator asked for the attempt. */
  readonly request: RetryRequest | null
}

export interface Attempt extends OpenAttempt {
  readonly decision: Decision
  readonly status: Status
  /** The row's `attempt_count` after the attempt: a first one counts only if something is sent. */
  readonly attemptCount: number
  /** Null on a skipped row, which stores none. */
  readonly text: RenderedText | null
  /** The address on file for the channel; never stored. Null unless the message goes out by EMAIL or SMS. */
  readonly address: string | null
}

export interface RulesInForce {
  readonly ruleTable: { readonly revision: string; readonly decide: (facts: Facts) => RuleResult }
  readonly templates: Templates
}

/** Decides attempts. The result is ordered by event id: two transactions that insert the same ids otherwise deadlock. */
export function decideAttempts(
  rules: RulesInForce,
  open: readonly OpenAttempt[],
  preferences: PreferencesByParty,
): Attempt[] {
  return open
    .map((attempt) => decideAttempt(rules, attempt, preferences))
    .sort((a, b) => (a.eventId < b.eventId ? -1 : 1))
}

function decideAttempt(
  { ruleTable, templates }: RulesInForce,
  open: OpenAttempt,
  preferencesOf: PreferencesByParty,
): Attempt {
  const { eventType, partyLocator, isPartyInvalid, contact, before } = open
  const preferences = preferencesOf.get(partyLocator ?? '')
  const recipient = { partyLocator, invalid: isPartyInvalid }
  const decided = decide(ruleTable.decide, eventType, recipient, contact, preferences)
  const decision = open.isPruned ? skipPruned(decided) : decided
  const sends = decision.outcome === 'SEND'
  return {
    ...open,
    decision,
    status: STATUS_OF[decision.outcome],
    attemptCount: before === null ? (sends ? 1 : 0) : before.attemptCount + 1,
    text: decision.outcome === 'SKIP' ? null : (open.stored ?? renderText(templates, open)),
    address: sends ? addressFor(decision.channel, contact) : null,
  }
}

function renderText(templates: Templates, { locator, variables }: OpenAttempt): RenderedText {
  if (variables === null) throw new Error(`${locator} has nothing to be rendered from`)
  const { subject, body, revision } = render(templates, variables)
  return { subject, body, templateRevision: revision }
}

/** The address on file for a channel; null for one that needs none. */
export function addressFor(channel: Channel, contact: Contact | undefined): string | null {
  const address = ADDRESS_OF[channel]
  return contact?.state === 'found' && address !== null ? contact[address] : null
}

/** The distinct parties of events or attempts, in their order. */
export function partiesOf(all: readonly { readonly partyLocator: string | null }[]): string[] {
  const parties = new Set<string>()
  for (const { partyLocator } of all) if (partyLocator !== null) parties.add(partyLocator)
  return [...parties]
}

/**
 * The number in the idempotency key. It counts committed sends: a send whose transaction was rolled back is repeated under the
 * same key. It stays the same while nobody knows whether the last message was sent.
 */
export function keyNumberOf({ before }: OpenAttempt): number {
  return before === null ? 1 : (before.unknownKey ?? before.sendCount + 1)
}

export function messagesOf(attempts: readonly Attempt[]): OutgoingMessage[] {
  const messages: OutgoingMessage[] = []
  for (const attempt of attempts) {
    const { locator, eventId, decision, text, address } = attempt
    if (decision.outcome !== 'SEND' || text === null) continue
    const { subject, body } = text
    const idempotencyKey = `${eventId}/${keyNumberOf(attempt)}`
    messages.push({ locator, channel: decision.channel, idempotencyKey, to: address, subject, body })
  }
  return messages
}

/**
 * The attempts as they are stored after the send: FAILED where the sender did not accept the message. A deferred message was
 * not tried: a first attempt counts as 0, and a retry is left out, since its row stays unchanged.
 */
export function afterDelivery(attempts: readonly Attempt[], deliveries: Deliveries): readonly Attempt[] {
  if (attempts.every(({ locator }) => (deliveries.get(locator)?.error ?? null) === null)) return attempts
  return attempts.flatMap((attempt) => {
    const delivery = deliveries.get(attempt.locator)
    if (delivery === undefined || delivery.error === null) return attempt
    if (delivery.isDeferred !== true) return { ...attempt, status: 'FAILED' }
    return attempt.before === null ? { ...attempt, status: 'FAILED', attemptCount: 0 } : []
  })
}

/** The sender's reasons by the locators of the retries that it deferred. */
export function deferredRetries(
  attempts: readonly Attempt[],
  deliveries: Deliveries,
): ReadonlyMap<string, string> {
  const deferred = new Map<string, string>()
  for (const { locator, before } of attempts) {
    const { isDeferred, error } = (before && deliveries.get(locator)) ?? {}
    if (isDeferred) deferred.set(locator, error ?? '')
  }
  return deferred
}

/**
 * A failed attempt without data from any message: if the database refuses it, the schema is at fault.
 *
 * @param locator unique, so that two probing transactions do not wait for each other
 */
export function probeAttempt(locator: string, before: RowBefore | null): Attempt {
  const eventType = 'probe'
  return {
    locator,
    eventId: locator,
    eventType,
    partyLocator: null,
    isPartyInvalid: false,
    contact: undefined,
    origin: { topic: 'probe', partition: 0, offset: 0n, traceId: null, envelopeMapRevision: null },
    variables: { eventType, locator: '', reason: null },
    stored: null,
    isPruned: false,
    before,
    request: null,
    decision: {
      ruleId: 'probe',
      outcome: 'FAIL',
      channel: 'EMAIL',
      reason: 'probe',
      failureReason: 'probe',
      facts: readFacts(eventType, { partyLocator: null, invalid: false }, undefined, undefined),
      preferenceChangeId: null,
    },
    status: 'FAILED',
    attemptCount: (before?.attemptCount ?? -1) + 1,
    text: { subject: 'probe', body: 'probe', templateRevision: null },
    address: null,
  }
}
