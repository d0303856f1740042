import { storable } from '../../text/sanitize.ts'
import type { Variables } from '../templates/template.ts'
import { DEFAULTS, type EnvelopeMap, type FieldSources, sourceText, type ValueForm } from './envelope-map.ts'
import { digitsAt, valueAt } from './json-pointer.ts'
import type { Message } from './message.ts'
import { REJECTIONS, type Rejection, type RejectionCode } from './rejection.ts'
import { INVALID_LOCATOR, STATED_FACT_LIST, type StatedFacts } from './stated-facts.ts'

/** Longest `eventId`, `eventType` and party locator, in UTF-16 code units; well within a B-tree key. */
export const IDENTIFIER_LENGTH_MAX = 255

/** Largest value of an event, in bytes: the contents of a compressed 1 MB batch must still fit into one statement. */
export const VALUE_BYTES_MAX = 16 * 1024 * 1024

/** A valid event. Other parts of its message may be invalid. */
export interface Event {
  readonly eventId: string
  readonly eventType: string
  /** Null if the event names no party, or an invalid one. */
  readonly partyLocator: string | null
  readonly stated: StatedFacts
  /** The claim, policy or invoice that the message is about; the party locator if the event names none. */
  readonly reference: string
  readonly reason: string | null
  /** From the `traceparent` header: 32 hexadecimal digits. */
  readonly traceId: string | null
}

export type ParseResult =
  | { readonly kind: 'event'; readonly event: Event }
  | { readonly kind: 'rejection'; readonly rejection: Rejection }
  /** A message without a value, which deletes a key of a compacted topic. It is not an event. */
  | { readonly kind: 'tombstone' }

/** Never throws. Rejects only a value that is not a JSON object, and an invalid `eventId` or `eventType`. */
export function parseEvent(message: Message, map: EnvelopeMap): ParseResult {
  if (message.value === null) return { kind: 'tombstone' }
  const read = readEnvelope(message.value, map.value)
  if ('code' in read) return { kind: 'rejection', rejection: read }
  const at = (sources: FieldSources) => fieldAt(message, read, sources)

  const eventId = at(map.eventId)
  const eventIdFault = identifierFault(eventId)
  if (eventIdFault !== null) return rejectedFor('event-id', eventIdFault, map, 'eventId')
  const eventType = at(map.eventType)
  const eventTypeFault = identifierFault(eventType)
  if (eventTypeFault !== null) return rejectedFor('event-type', eventTypeFault, map, 'eventType')

  const named = at(map.partyLocator)
  const absent = named === undefined || named === null
  const partyLocator = isPartyLocator(named) ? named : null
  return {
    kind: 'event',
    event: {
      eventId: eventId as string,
      eventType: eventType as string,
      partyLocator,
      stated: readStatedFacts(at, map, !absent && partyLocator === null),
      reference: toText(at(map.locator)) ?? partyLocator ?? '',
      reason: toText(at(map.reason)),
      traceId: readTraceParent(message)?.traceId ?? null,
    },
  }
}

function readStatedFacts(
  at: (sources: FieldSources) => unknown,
  map: EnvelopeMap,
  isPartyInvalid: boolean,
): StatedFacts {
  const stated: Record<string, unknown> = {}
  for (const [key, { values }] of STATED_FACT_LIST) {
    const text = toText(at(map[key]))
    if (values.some((value) => value === text)) stated[key] = text
  }
  if (isPartyInvalid) stated[INVALID_LOCATOR] = true
  return stated
}

interface Envelope {
  readonly json: object
  readonly text: string
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
const CONFLUENT_BYTES = 5

export function readEnvelope(value: Uint8Array, form: ValueForm): Envelope | Rejection {
  if (value.length === 0) return rejection('empty')
  if (value.length > VALUE_BYTES_MAX)
    return rejection('too-large', ` ${value.length} bytes, more than ${VALUE_BYTES_MAX}`)
  const isFramed = value[0] === 0
  if (form === 'confluent-json' && !isFramed)
    return rejection('not-json', ": it does not begin with the magic byte 0 of Confluent's framing")
  let text: string
  try {
    text = utf8.decode(form === 'confluent-json' ? value.subarray(CONFLUENT_BYTES) : value)
  } catch {
    return rejection('not-utf8', isFramed ? framingHint(form) : '')
  }
  try {
    let json: unknown = JSON.parse(text)
    if (form === 'json-in-string' && typeof json === 'string') {
      text = json
      json = JSON.parse(text)
    }
    if (typeof json === 'object' && json !== null && !Array.isArray(json)) return { json, text }
  } catch {
    return rejection('not-json', isFramed ? framingHint(form) : '')
  }
  return rejection('not-object')
}

function framingHint(form: ValueForm): string {
  return form === 'confluent-json'
    ? " after the five bytes of Confluent's framing: Avro and Protobuf are not supported"
    : ': it begins with the magic byte 0 of Confluent\'s framing. For JSON Schema, set "value": "confluent-json" in ' +
        'rules/envelope.json; Avro and Protobuf are not supported'
}

/**
 * The value of a field at the first place that has one other than null, or the bytes of a header that is not UTF-8. A number
 * becomes its digits as sent, or stays a number if the JSON is too deep to find them.
 */
export function fieldAt(
  { headers }: Pick<Message, 'headers'>,
  { json, text }: Envelope,
  sources: FieldSources,
): unknown {
  let absent: null | undefined
  for (const source of sources) {
    const value = 'header' in source ? readHeader(headers, source.header) : valueAt(json, source.pointer)
    if (typeof value === 'number' && 'pointer' in source) return digitsAt(text, source.pointer) ?? value
    if (value !== undefined && value !== null) return value
    if (value === null) absent = null
  }
  return absent
}

/** The last value of a header: text, or bytes if it is not UTF-8. Undefined if there is none. */
function readHeader(headers: Message['headers'], name: string): string | Uint8Array | undefined {
  const bytes = Object.hasOwn(headers, name) ? headers[name]?.at(-1) : undefined
  try {
    return bytes ? utf8.decode(bytes) : undefined
  } catch {
    return bytes ?? undefined
  }
}

function rejection(code: RejectionCode, fault = ''): Rejection {
  return { code, error: `${REJECTIONS[code]}${fault}` }
}

function rejectedFor(
  code: RejectionCode,
  fault: string,
  map: EnvelopeMap,
  field: 'eventId' | 'eventType',
): ParseResult {
  const place = sourceText(map[field])
  const named = place === DEFAULTS[field] ? '' : ` (${place})`
  return { kind: 'rejection', rejection: rejection(code, `${named} ${fault}`) }
}

function identifierFault(value: unknown): string | null {
  if (value === undefined) return 'is missing'
  if (typeof value === 'number') return 'is a number in JSON of too many levels'
  if (value instanceof Uint8Array) return 'is not valid UTF-8'
  if (typeof value !== 'string')
    return `is not a string or number but ${value === null ? 'null' : `of type ${typeof value}`}`
  if (value === '') return 'is empty'
  if (value.length > IDENTIFIER_LENGTH_MAX) {
    return `has ${value.length} characters, more than ${IDENTIFIER_LENGTH_MAX}`
  }
  if (value.includes('\0')) return 'contains NUL'
  if (!value.isWellFormed()) return 'contains a lone surrogate'
  return null
}

/** `.` and `..` are not party locators: no URL can carry them as one path segment. */
export function isPartyLocator(value: unknown): value is string {
  return identifierFault(value) === null && value !== '.' && value !== '..'
}

/** Text to insert into a message. A number keeps its digits as sent, not those of the nearest double. */
function toText(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : storable(value)
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}

export function pickVariables({ eventType, reference, reason }: Event): Variables {
  return { eventType, locator: reference, reason }
}

/** The producer's trace context: ids in hexadecimal digits, and the trace flags. */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/
const ZEROS = /^0+$/
const LENGTH_MAX = 255

/** The W3C `traceparent` header of a message (https://www.w3.org/TR/trace-context/); null if there is no valid one. */
export function readTraceParent({ headers }: Pick<Message, 'headers'>): TraceParent | null {
  const header = Object.hasOwn(headers, 'traceparent') ? headers.traceparent?.[0] : undefined
  if (!header || header.length > LENGTH_MAX) return null
  // This runs for each message of an instrumented producer: a spread takes ten times as long.
  const text = Reflect.apply(String.fromCharCode, undefined, header)
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(text) ?? []
  if (traceId === '' || ZEROS.test(traceId) || ZEROS.test(spanId)) return null
  return { traceId, spanId, flags: Number.parseInt(flags, 16) }
}
