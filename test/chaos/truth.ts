import { isUtf8 } from 'node:buffer'
import { readdirSync, readFileSync } from 'node:fs'
import mustache from 'mustache'
import { type Channel, kindOf } from './parties.ts'
import { ADDRESSES, type TableName } from './tables.ts'

// The expected results, from the specification and the design, without a line of the service.

/** A message, with everything on which its row may depend. */
export type Truth =
  | { readonly kind: 'rejected'; readonly code: string }
  /** An event, but the database of the run refuses its row until somebody mends that. */
  | { readonly kind: 'refused'; readonly event: TrueEvent }
  | { readonly kind: 'event'; readonly event: TrueEvent }
  | { readonly kind: 'tombstone' }

export interface TrueEvent {
  readonly eventId: string
  readonly eventType: string
  readonly partyLocator: string | null
  /** The event has an impossible party. */
  readonly isPartyInvalid: boolean
  readonly locator: string
  readonly reason: string | null
}

/** The expected decision for an event, once its party is known or unreachable. */
export interface TrueDecision {
  readonly rule: string
  readonly outcome: 'SEND' | 'SKIP' | 'FAIL'
  readonly channel: Channel
  /** The whole failure reason; on FAIL its beginning, which the look-up's error follows. */
  readonly reason: string | null
  readonly facts: Readonly<Record<string, unknown>>
}

/** The event type whose rows the database refuses, by a trigger that the run adds. */
export const REFUSED_EVENT_TYPE = 'refused.by-database'

export function truthOf(value: Uint8Array | null): Truth {
  if (value === null) return { kind: 'tombstone' }
  if (value.length === 0) return { kind: 'rejected', code: 'empty' }
  if (!isUtf8(value)) return { kind: 'rejected', code: 'not-utf8' }
  let envelope: unknown
  try {
    envelope = JSON.parse(
      Buffer.from(value)
        .toString('utf8')
        .replace(/^\ufeff/, ''),
    )
  } catch {
    return { kind: 'rejected', code: 'not-json' }
  }
  if (Object.prototype.toString.call(envelope) !== '[object Object]')
    return { kind: 'rejected', code: 'not-object' }
  const fields = new Map(Object.entries(envelope as object))
  const eventId = digitsOrValue(fields.get('eventId'))
  if (!isIdentifier(eventId)) return { kind: 'rejected', code: 'event-id' }
  const eventType = digitsOrValue(fields.get('eventType'))
  if (!isIdentifier(eventType)) return { kind: 'rejected', code: 'event-type' }
  const named = digitsOrValue(fields.get('partyLocator')) ?? null
  const partyLocator = isIdentifier(named) && !/^\.\.?$/.test(named) ? named : null
  const payload = fields.get('payload')
  const details = new Map(payload !== null && typeof payload === 'object' ? Object.entries(payload) : [])
  return {
    kind: eventType === REFUSED_EVENT_TYPE ? 'refused' : 'event',
    event: {
      eventId,
      eventType,
      partyLocator,
      isPartyInvalid: named !== null && partyLocator === null,
      locator: insertable(details.get('locator')) ?? partyLocator ?? '',
      reason: insertable(details.get('reason')),
    },
  }
}

/** A number counts as its digits. */
function digitsOrValue(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value
}

function isIdentifier(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && /^[^\0]{1,255}$/s.test(value)
}

function insertable(value: unknown): string | null {
  if (!['string', 'number', 'boolean'].includes(typeof value) || value === '') return null
  return String(value).toWellFormed().replaceAll('\0', '\ufffd')
}

/** An event, with whether the party has opted out of events of its type, and the rule table that decides. */
export interface DecidedEvent extends TrueEvent {
  readonly isOptedOut: boolean
  readonly table: TableName
}

/** The expected decision if the look-up succeeds. */
export function decisionOnceAnswered(event: DecidedEvent): TrueDecision {
  if (event.partyLocator === null) {
    const reason = event.isPartyInvalid ? 'invalid party locator' : 'no party locator'
    return decision(event, 'missing', 'no-party', 'SKIP', 'EMAIL', reason)
  }
  const kind = kindOf(event.partyLocator)
  const channel = kind?.preferences?.preferredChannel ?? 'EMAIL'
  const answer = kind?.answer ?? 'unknown'
  if (answer === 'error' || answer === 'malformed') return decisionOnceFailed(event)
  if (answer === 'unknown')
    return decision(event, 'not found', 'party-not-found', 'SKIP', channel, 'party not found')
  if (event.isOptedOut) {
    return decision(event, 'found', 'opted-out', 'SKIP', channel, 'event type opted out')
  }
  if (channel === 'EMAIL' && !kind?.email)
    return decision(event, 'found', 'no-email', 'SKIP', channel, 'no email on file')
  if (channel === 'SMS' && !kind?.phone && kind?.email && event.table === 'second')
    return decision(event, 'found', 'no-phone-email', 'SEND', 'EMAIL', null)
  if (channel === 'SMS' && !kind?.phone)
    return decision(event, 'found', 'no-phone', 'SKIP', channel, 'no phone on file')
  const rule = { EMAIL: 'email', SMS: 'sms', IN_APP: 'in-app' }[channel]
  return decision(event, 'found', rule, 'SEND', channel, null)
}

/** The expected decision if the look-up fails. */
export function decisionOnceFailed(event: DecidedEvent): TrueDecision {
  const channel = kindOf(event.partyLocator ?? '')?.preferences?.preferredChannel ?? 'EMAIL'
  return decision(event, 'unresolved', 'unresolved', 'FAIL', channel, 'contact could not be resolved: ')
}

function decision(
  { eventType, partyLocator, isOptedOut }: DecidedEvent,
  party: string,
  rule: string,
  outcome: TrueDecision['outcome'],
  channel: Channel,
  reason: string | null,
): TrueDecision {
  const kind = kindOf(partyLocator ?? '')
  const found = party === 'found'
  const has: Readonly<Record<string, boolean | undefined>> = { email: kind?.email, phone: kind?.phone }
  return {
    rule,
    outcome,
    channel,
    reason,
    facts: {
      eventType,
      party,
      optedOut: isOptedOut,
      preferredChannel: kind?.preferences?.preferredChannel ?? 'EMAIL',
      ...Object.fromEntries(
        ADDRESSES.map((address) => [`${address}OnFile`, found ? (has[address] ?? false) : null]),
      ),
    },
  }
}

const TEMPLATES_DIR = new URL('../first/templates/', import.meta.url)
const TEMPLATE_FILES = readdirSync(TEMPLATES_DIR).filter((file) => file.endsWith('.mustache'))
const templates = new Map(
  TEMPLATE_FILES.map((file) => {
    const [first = '', , ...rest] = readFileSync(new URL(file, TEMPLATES_DIR), 'utf8').split('\n')
    return [
      file.replace(/\.mustache$/, ''),
      { subject: first.replace(/^Subject: /, ''), body: rest.join('\n') },
    ]
  }),
)

/** The message, by the templates' sources and the library whose language they are in. */
export function textOf({ eventType, locator, reason }: TrueEvent): { subject: string; body: string } {
  const template = templates.get(eventType) ?? templates.get('generic')
  const fill = (source = '') =>
    mustache.render(source, { eventType, locator, reason }, undefined, { escape: String })
  return {
    subject: fill(template?.subject).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '),
    body: fill(template?.body).replace(/[\r\n]+$/, ''),
  }
}
