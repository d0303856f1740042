import { STATUS_OF, type Status } from '../../model/log/status.ts'
import { type Decision, decide, OTHER_VERSION_RULE_IDS, readFacts } from '../decision/decide.ts'
import type { RuleFacts } from '../decision/facts.ts'
import type { Origin } from '../decision/recorded-decision.ts'
import type { RuleResult } from '../decision/result.ts'
import { skipPruned } from '../decision/skip-pruned.ts'
import type { LoggedRow } from '../event/conflict.ts'
import type { StatedFacts } from '../event/stated-facts.ts'
import { DEFAULT_CHANNEL } from '../party/channel.ts'
import { addressFor, type Contact } from '../party/contact.ts'
import type { PreferencesByParty } from '../party/preferences.ts'
import { render } from '../templates/render.ts'
import type { Templates, Variables } from '../templates/template.ts'
import type { Deliveries, OutgoingMessage } from './delivery.ts'

export interface RenderedText {
  readonly subject: string
  readonly body: string
  readonly templateRevision: string | null
}

/** The request that an attempt belongs to, who made it, and why. */
export interface AttemptRequest {
  readonly id: string
  readonly by: string
  readonly because: string
}

/** A log row after its last attempt. */
export interface RowBefore {
  readonly attemptCount: number
  /** Number of decisions to send, except deferred ones, whether or not the message went out. */
  readonly sendCount: number
  /** Number of the last idempotency key, to be used again, if it is unknown whether its message was sent; else null. */
  readonly unknownKey: number | null
}

/** The parts of a row's last decision that the next one repeats. */
export interface LockedRow {
  readonly origin: Origin
  readonly variables: Variables | null
  readonly templateRevision: string | null
  readonly stated: StatedFacts
}

interface AttemptSubject {
  readonly locator: string
  readonly eventId: string
  readonly eventType: string
  /** Null if the event names no party, or an invalid one. */
  readonly partyLocator: string | null
  readonly stated: StatedFacts
  /** Undefined if the event names no party. */
  readonly contact: Contact | undefined
  readonly origin: Origin
  /** Null unless a request caused the attempt. */
  readonly request: AttemptRequest | null
}

/** The attempt for an event that has no row. */
export interface FirstAttempt extends AttemptSubject {
  readonly kind: 'first'
  readonly variables: Variables
  /** The event's row may have been pruned, so nothing is sent again. */
  readonly isPruned: boolean
}

/** The next attempt of a row that stores its text. */
export interface StoredRetry extends AttemptSubject {
  readonly kind: 'stored retry'
  readonly before: RowBefore
  readonly stored: RenderedText
  /** Null if the row's last decision has none. */
  readonly variables: Variables | null
}

/** The next attempt of a row that stores no text, because it was SKIPPED. */
export interface RenderedRetry extends AttemptSubject {
  readonly kind: 'rendered retry'
  readonly before: RowBefore
  readonly variables: Variables
}

/** An undecided attempt. */
export type OpenAttempt = FirstAttempt | StoredRetry | RenderedRetry

interface AttemptOutcome {
  readonly decision: Decision
  readonly status: Status
  /** The row's `attempt_count` after the attempt. A first attempt counts only if something is sent. */
  readonly attemptCount: number
  /** Null for a skipped row. */
  readonly text: RenderedText | null
  /** The address on file for the channel; never stored. Null unless the channel is EMAIL or SMS. */
  readonly address: string | null
}

export type Attempt = OpenAttempt & AttemptOutcome

export interface RulesInForce {
  readonly ruleTable: { readonly revision: string; readonly decide: (facts: RuleFacts) => RuleResult }
  readonly templates: Templates
}

/**
 * Decides attempts, ordered by event id: two transactions that insert the same ids in different orders deadlock. Attempts with the
 * same id, of two partitions, keep their order.
 */
export function decideAttempts(
  rules: RulesInForce,
  open: readonly OpenAttempt[],
  preferences: PreferencesByParty,
): Attempt[] {
  return open
    .map((attempt) => decideAttempt(rules, attempt, preferences))
    .sort((a, b) => (a.eventId < b.eventId ? -1 : a.eventId > b.eventId ? 1 : 0))
}

/** Also decides again an attempt that was decided by earlier preferences. */
export function decideAttempt(
  { ruleTable, templates }: RulesInForce,
  open: OpenAttempt,
  preferencesOf: PreferencesByParty,
): Attempt {
  const { partyLocator, contact } = open
  const decided = decide(ruleTable.decide, open, contact, preferencesOf.get(partyLocator ?? ''))
  const decision = open.kind === 'first' && open.isPruned ? skipPruned(decided) : decided
  return {
    ...open,
    decision,
    status: STATUS_OF[decision.outcome],
    attemptCount: countAttempts(open, decision),
    text: decision.outcome === 'SKIP' ? null : findText(templates, open),
    address: decision.outcome === 'SEND' ? addressFor(decision.channel, contact) : null,
  }
}

function countAttempts(open: OpenAttempt, { outcome }: Decision): number {
  if (open.kind === 'first') return outcome === 'SEND' ? 1 : 0
  return open.before.attemptCount + 1
}

function findText(templates: Templates, open: OpenAttempt): RenderedText {
  if (open.kind === 'stored retry') return open.stored
  const { subject, body, revision } = render(templates, open.variables)
  return { subject, body, templateRevision: revision }
}

/** The row that an attempt writes. */
export function toLoggedRow({ origin, variables, ...attempt }: OpenAttempt): LoggedRow {
  const { eventId, locator, eventType, partyLocator } = attempt
  const { envelopeMapRevision } = origin
  const { locator: reference = null, reason = null } = variables ?? {}
  return {
    eventId,
    locator,
    eventType,
    partyLocator,
    reference,
    reason,
    origin,
    envelopeMapRevision,
    erased: false,
  }
}

/** The distinct parties of events or attempts, in order of first occurrence. */
export function distinctParties(rows: readonly { readonly partyLocator: string | null }[]): string[] {
  const parties = new Set<string>()
  for (const { partyLocator } of rows) if (partyLocator !== null) parties.add(partyLocator)
  return [...parties]
}

/**
 * Number in the idempotency key (2 in `event-1/2`). It counts committed sends, so a send whose transaction was rolled back is
 * repeated under the same key. It does not change while it is unknown whether the last message was sent.
 */
export function nextKeyNumber(attempt: OpenAttempt): number {
  if (attempt.kind === 'first') return 1
  const { unknownKey, sendCount } = attempt.before
  return unknownKey ?? sendCount + 1
}

export function outgoingMessages(attempts: readonly Attempt[]): OutgoingMessage[] {
  const messages: OutgoingMessage[] = []
  for (const attempt of attempts) {
    const { locator, eventId, decision, text, address } = attempt
    if (decision.outcome !== 'SEND' || text === null) continue
    const { subject, body } = text
    const idempotencyKey = `${eventId}/${nextKeyNumber(attempt)}`
    messages.push({ locator, channel: decision.channel, idempotencyKey, to: address, subject, body })
  }
  return messages
}

/** Attempts after the send, as they are stored. */
export interface StoredAttempts {
  readonly attempts: readonly Attempt[]
  /** The reasons, by the locators of the retries whose rows stay unchanged. */
  readonly unchanged: ReadonlyMap<string, string>
}

/**
 * An attempt is FAILED if the sender did not accept its message. A deferred message costs no attempt: a new row counts 0, that of
 * a retry stays unchanged.
 */
export function afterDelivery(made: readonly Attempt[], deliveries: Deliveries): StoredAttempts {
  const attempts: Attempt[] = []
  const unchanged = new Map<string, string>()
  for (const attempt of made) {
    const { error = null, isDeferred = false } = deliveries.get(attempt.locator) ?? {}
    const reason = attempt.kind === 'first' ? null : isDeferred ? error : whyUnchanged(attempt)
    if (reason !== null) unchanged.set(attempt.locator, reason)
    else if (error === null) attempts.push(attempt)
    else attempts.push({ ...attempt, status: 'FAILED', ...(isDeferred && { attemptCount: 0 }) })
  }
  return { attempts, unchanged }
}

/**
 * The reason why a retry leaves its row unchanged, or null: only another version can read the preferences, or a requested retry
 * would only skip.
 */
function whyUnchanged({ decision, request }: Attempt): string | null {
  const { ruleId, outcome, failureReason } = decision
  if (request !== null && outcome === 'SKIP') return `it would be skipped again: ${failureReason ?? ''}`
  return OTHER_VERSION_RULE_IDS.includes(ruleId) ? (failureReason ?? '') : null
}

/**
 * A failed attempt without data from any message: if the database refuses it, the schema is at fault.
 *
 * @param locator unique, so that two transactions that probe do not wait for each other
 */
export function probeAttempt(locator: string, before: RowBefore | null): Attempt {
  const subject = { eventType: 'probe', partyLocator: null, stated: {} }
  const text = { subject: 'probe', body: 'probe', templateRevision: null }
  return {
    ...(before === null
      ? { kind: 'first', isPruned: false }
      : { kind: 'stored retry', before, stored: text }),
    locator,
    eventId: locator,
    ...subject,
    contact: undefined,
    origin: { topic: 'probe', partition: 0, offset: 0n, traceId: null, envelopeMapRevision: null },
    variables: { eventType: subject.eventType, locator: '', reason: null },
    request: null,
    decision: {
      ruleId: 'probe',
      outcome: 'FAIL',
      channel: DEFAULT_CHANNEL,
      reason: 'probe',
      failureReason: 'probe',
      facts: readFacts(subject, undefined, undefined),
      preferenceChangeId: null,
    },
    status: 'FAILED',
    attemptCount: (before?.attemptCount ?? -1) + 1,
    text,
    address: null,
  }
}
