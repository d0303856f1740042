import type { Variables } from '../templates/template.ts'
import { storable } from '../text/sanitize.ts'
import type { EnvelopeMap } from './envelope-map.ts'
import { digitsAt, type Pointer, valueAt } from './json-pointer.ts'
import type { Message } from './message.ts'
import { REJECTIONS, type Rejection, type RejectionCode } from './rejection.ts'

/** Longest `eventId`, `eventType` and party locator, in UTF-16 code units: well within a B-tree key. */
export const IDENTIFIER_LENGTH_MAX = 255

/** Largest value of an event, in bytes: what a compressed batch of 1 MB unpacks to must still fit into one statement. */
export const VALUE_BYTES_MAX = 16 * 1024 * 1024

/** A valid event, however odd the rest of its message is. */
export interface Event {
  readonly eventId: string
  readonly eventType: string
  /** Null where the event names no party, or names one that no party can have (`partyLocatorInvalid`). */
  readonly partyLocator: string | null
  readonly partyLocatorInvalid: boolean
  /** The claim, policy or invoice that the message is about; the party locator if the event names none. */
  readonly locator: string
  readonly reason: string | null
  /** From the `traceparent` header: 32 hexadecimal digits. */
  readonly traceId: string | null
}

export type Parsed =
  | { readonly kind: 'event'; readonly event: Event }
  | { readonly kind: 'rejection'; readonly rejection: Rejection }

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses a message into an event or a rejection. Never throws. Only a value that is not a JSON object, or a missing or
 * invalid `eventId` or `eventType`, makes it a rejection.
 */
export function parseEvent(message: Message, envelopeMap: EnvelopeMap): Parsed {
  if (message.value === null || message.value.length === 0) return rejected('empty')
  if (message.value.length > VALUE_BYTES_MAX)
    return rejected('too-large', `${message.value.length} bytes, more than ${VALUE_BYTES_MAX}`)
  let text: string
  try {
    text = utf8.decode(message.value)
  } catch {
    return rejected('not-utf8')
  }
  let envelope: unknown
  try {
    envelope = JSON.parse(text)
  } catch {
    return rejected('not-json')
  }
  if (typeof envelope !== 'object' || envelope === null || Array.isArray(envelope))
    return rejected('not-object')

  const eventId = own(envelope, 'eventId')
  const eventIdFault = identifierFault(eventId)
  if (eventIdFault !== null) return rejected('event-id', eventIdFault)
  const eventType = own(envelope, 'eventType')
  const eventTypeFault = identifierFault(eventType)
  if (eventTypeFault !== null) return rejected('event-type', eventTypeFault)

  const named = valueAt(envelope, envelopeMap.partyLocator)
  const absent = named === undefined || named === null
  const valid = !absent && isPartyLocator(named)
  const scalarAt = (pointer: Pointer) => scalarOf(valueAt(envelope, pointer), () => digitsAt(text, pointer))
  return {
    kind: 'event',
    event: {
      eventId: eventId as string,
      eventType: eventType as string,
      partyLocator: valid ? (named as string) : null,
      partyLocatorInvalid: !absent && !valid,
      locator: scalarAt(envelopeMap.locator) ?? (valid ? (named as string) : ''),
      reason: scalarAt(envelopeMap.reason),
      traceId: traceParentOf(message)?.traceId ?? null,
    },
  }
}

function rejected(code: RejectionCode, fault?: string): Parsed {
  const error = fault === undefined ? REJECTIONS[code] : `${REJECTIONS[code]} ${fault}`
  return { kind: 'rejection', rejection: { code, error } }
}

function own(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined
}

function identifierFault(value: unknown): string | null {
  if (value === undefined) return 'is missing'
  if (typeof value !== 'string')
    return `is not a string but ${value === null ? 'null' : `of type ${typeof value}`}`
  if (value === '') return 'is empty'
  if (value.length > IDENTIFIER_LENGTH_MAX) {
    return `has ${value.length} characters, more than ${IDENTIFIER_LENGTH_MAX}`
  }
  if (value.includes('\0')) return 'contains NUL'
  if (!value.isWellFormed()) return 'contains a lone surrogate'
  return null
}

/** `.` and `..` are no party locators: no URL can carry them as one path segment. */
export function isPartyLocator(value: unknown): value is string {
  return identifierFault(value) === null && value !== '.' && value !== '..'
}

/**
 * Text to insert into a message. Producers also send numbers where one would expect text: a member is told the digits
 * that were sent, not the nearest double.
 */
function scalarOf(value: unknown, digits: () => string | null): string | null {
  if (typeof value === 'string') return value === '' ? null : storable(value)
  if (typeof value === 'number') return digits() ?? String(value)
  return typeof value === 'boolean' ? String(value) : null
}

/** The values that a template may insert. */
export function variablesOf({ eventType, locator, reason }: Event): Variables {
  return { eventType, locator, reason }
}

/** Where a message comes from, as its producer traced it: ids in hexadecimal digits, `flags` the trace flags. */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/
const ZEROS = /^0+$/
const LENGTH_MAX = 255

/** The W3C `traceparent` header of a message (https://www.w3.org/TR/trace-context/); null where there is no valid one. */
export function traceParentOf({ headers }: Pick<Message, 'headers'>): TraceParent | null {
  const header = Object.hasOwn(headers, 'traceparent') ? headers.traceparent?.[0] : undefined
  if (!header || header.length > LENGTH_MAX) return null
  // Each message of an instrumented producer comes by here: a spread takes ten times as long.
  const text = Reflect.apply(String.fromCharCode, undefined, header)
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(text) ?? []
  if (traceId === '' || ZEROS.test(traceId) || ZEROS.test(spanId)) return null
  return { traceId, spanId, flags: Number.parseInt(flags, 16) }
}
