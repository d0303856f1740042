import { FaultsError, wholeFault } from '../text/faults.ts'
import { didYouMean, nearest } from '../text/nearest.ts'
import { type Pointer, parsePointer, pointerFault, pointerText } from './json-pointer.ts'

/** What a map need not state. */
export const DEFAULTS = { eventId: '/eventId', eventType: '/eventType', value: 'json' }
export const FIELDS = ['eventId', 'eventType', 'partyLocator', 'locator', 'reason'] as const
export type Field = (typeof FIELDS)[number]

/**
 * Forms of a message's value: a JSON object; a JSON string that contains one, as Debezium's outbox writes; a JSON object after
 * the five bytes of Confluent's framing (magic byte 0 and a schema id).
 */
export const VALUE_FORMS = ['json', 'json-in-string', 'confluent-json'] as const
export type ValueForm = (typeof VALUE_FORMS)[number]

export type FieldSource = { readonly pointer: Pointer } | { readonly header: string }

export interface EnvelopeMap extends Readonly<Record<Field, FieldSource>> {
  readonly value: ValueForm
}

export class EnvelopeMapError extends FaultsError {
  constructor(faults: readonly string[]) {
    super('the envelope map has', faults.map(wholeFault))
  }
}

/**
 * Reads an envelope map: a JSON object with the form of the value and the place of each field, which is a JSON Pointer (RFC 6901)
 * or `header:` and a name. Throws EnvelopeMapError.
 */
export function loadEnvelopeMap(jsonText: string): EnvelopeMap {
  const json: Record<string, unknown> = { ...DEFAULTS, ...parseObject(jsonText) }
  const faults = keyFaults(json)
  const read = (field: Field): FieldSource => {
    const source = json[field]
    const fault = source === undefined ? null : sourceFault(source)
    if (fault !== null) faults.push(`"${field}": ${fault}`)
    return parseSource(String(source))
  }
  const [eventId, eventType] = [read('eventId'), read('eventType')]
  const [partyLocator, locator, reason] = [read('partyLocator'), read('locator'), read('reason')]
  faults.push(...sharedPlaces(json))
  const value = VALUE_FORMS.find((form) => form === json.value)
  if (value === undefined)
    faults.push(`"value": ${JSON.stringify(json.value)} is not one of ${VALUE_FORMS.join(', ')}`)
  if (value === undefined || faults.length > 0) throw new EnvelopeMapError(faults)
  return { eventId, eventType, partyLocator, locator, reason, value }
}

/** An id may double as the locator; other fields must not share a place. */
function sharedPlaces(json: Record<string, unknown>): string[] {
  const fields = ['partyLocator', 'locator', 'reason'] as const
  return fields.flatMap((field, i) => {
    const other = fields
      .slice(0, i)
      .find((before) => json[before] !== undefined && json[before] === json[field])
    return other === undefined ? [] : [`"${field}": "${json[field]}" is already the place of "${other}"`]
  })
}

export function sourceText(source: FieldSource): string {
  return 'header' in source ? `header:${source.header}` : pointerText(source.pointer)
}

const HEADER = /^header:(.*)$/s

function parseSource(text: string): FieldSource {
  const header = HEADER.exec(text)?.[1]
  return header === undefined ? { pointer: parsePointer(text) } : { header }
}

function sourceFault(source: unknown): string | null {
  const header = typeof source === 'string' ? HEADER.exec(source)?.[1] : undefined
  if (header === undefined) return pointerFault(source)
  return header.trim() === '' ? `"${source}" names no header: write for example "header:ce_id"` : null
}

function parseObject(jsonText: string): object {
  let json: unknown
  try {
    json = JSON.parse(jsonText.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new EnvelopeMapError([`it is not JSON: ${(error as Error).message}`])
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new EnvelopeMapError(['it is not a JSON object'])
  }
  return json
}

function keyFaults(json: Record<string, unknown>): string[] {
  const keys = [...FIELDS, 'value']
  const unknown = Object.keys(json)
    .filter((key) => !keys.includes(key))
    .map((key) => `"${key}" is not a key: the keys are ${keys.join(', ')}${didYouMean(nearest(key, keys))}`)
  const missing = FIELDS.filter((field) => json[field] === undefined).map((field) => `"${field}" is missing`)
  return [...unknown, ...missing]
}
