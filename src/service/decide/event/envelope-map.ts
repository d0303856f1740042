import { FaultsError, wholeFault } from '../../text/faults.ts'
import { didYouMean, nearest } from '../../text/nearest.ts'
import { type Pointer, parsePointer, pointerFault, pointerText } from './json-pointer.ts'
import { STATED_FACT_LIST } from './stated-facts.ts'

/** Keys that a map may leave out. */
export const DEFAULTS = {
  eventId: '/eventId',
  eventType: '/eventType',
  value: 'json',
  ...Object.fromEntries(STATED_FACT_LIST.map(([key, { place }]) => [key, place])),
}
const TEXTS = ['partyLocator', 'locator', 'reason'] as const
export const FIELDS = ['eventId', 'eventType', ...TEXTS, ...STATED_FACT_LIST.map(([key]) => key)] as const
export type Field = (typeof FIELDS)[number]

/**
 * Forms of a message's value: a JSON object; a JSON string that contains one, as Debezium's outbox writes; a JSON object after
 * the five bytes of Confluent's framing (magic byte 0 and a schema id).
 */
export const VALUE_FORMS = ['json', 'json-in-string', 'confluent-json'] as const
export type ValueForm = (typeof VALUE_FORMS)[number]

export type FieldSource = { readonly pointer: Pointer } | { readonly header: string }

/** The places of a field: the first that leads to a value counts. */
export type FieldSources = readonly FieldSource[]

export interface EnvelopeMap extends Readonly<Record<Field, FieldSources>> {
  readonly value: ValueForm
}

/** The default map, and those of the topics that differ from it. */
export interface EnvelopeMaps {
  readonly byDefault: EnvelopeMap
  readonly byTopic: ReadonlyMap<string, EnvelopeMap>
}

export class EnvelopeMapError extends FaultsError {
  constructor(faults: readonly string[]) {
    super('the envelope map has', faults.map(wholeFault))
  }
}

/**
 * Reads the envelope maps: a JSON object with the form of the value and the place of each field, or a list of places, and under
 * `topics` what differs for single topics. A place is a JSON Pointer (RFC 6901) or `header:` and a name. Throws EnvelopeMapError.
 */
export function loadEnvelopeMaps(jsonText: string): EnvelopeMaps {
  const { topics = {}, ...own } = parseObject(jsonText)
  const json: Json = { ...DEFAULTS, ...own }
  const { map: byDefault, faults } = readMap(json, [...KEYS, 'topics'])
  const inherited = new Set(faults)
  const byTopic = new Map<string, EnvelopeMap>()
  if (!isObject(topics))
    faults.push(`"topics": ${JSON.stringify(topics)} is not an object of topics and their maps`)
  else
    for (const [topic, differing] of Object.entries(topics)) {
      const read = isObject(differing) ? readMap({ ...json, ...differing }, KEYS) : null
      const found = read?.faults.filter((fault) => !inherited.has(fault)) ?? ['its map is not a JSON object']
      faults.push(...found.map((fault) => `topic "${topic}": ${fault}`))
      if (read) byTopic.set(topic, read.map)
    }
  if (faults.length > 0) throw new EnvelopeMapError(faults)
  return { byDefault, byTopic }
}

/** Like `loadEnvelopeMaps`, but null for a map that this version cannot read. */
export function loadStoredMaps(jsonText: string): EnvelopeMaps | null {
  try {
    return loadEnvelopeMaps(jsonText)
  } catch (error) {
    if (error instanceof EnvelopeMapError) return null
    throw error
  }
}

export function mapOf({ byDefault, byTopic }: EnvelopeMaps, topic: string): EnvelopeMap {
  return byTopic.get(topic) ?? byDefault
}

/** A warning for each topic that has a map and is not consumed: its name may be misspelt. */
export function findUnusedMaps({ byTopic }: EnvelopeMaps, topics: readonly string[]): string[] {
  return [...byTopic.keys()]
    .filter((topic) => !topics.includes(topic))
    .map(
      (topic) =>
        `rules/envelope.json has a map for the topic "${topic}", which is not in MQ_TOPICS${didYouMean(nearest(topic, topics))}`,
    )
}

type Json = Record<string, unknown>

const KEYS = [...FIELDS, 'value']

/** The map is of use only without faults. */
function readMap(json: Json, keys: readonly string[]): { map: EnvelopeMap; faults: string[] } {
  const faults = keyFaults(json, keys)
  const read = (field: Field): FieldSources => {
    const places = listPlaces(json, field)
    const found = json[field] === undefined ? [] : placeFaults(places)
    faults.push(...found.map((fault) => `"${field}": ${fault}`))
    return places.map((place) => parseSource(String(place)))
  }
  const sources = Object.fromEntries(FIELDS.map((field) => [field, read(field)])) as Record<
    Field,
    FieldSources
  >
  faults.push(...sharedPlaces(json))
  const value = VALUE_FORMS.find((form) => form === json.value)
  if (value === undefined)
    faults.push(`"value": ${JSON.stringify(json.value)} is not one of ${VALUE_FORMS.join(', ')}`)
  return { map: { ...sources, value: value ?? 'json' }, faults }
}

function listPlaces(json: Json, field: Field): readonly unknown[] {
  const places = json[field]
  return Array.isArray(places) ? places : [places]
}

/** An id may double as the locator; the other texts must not share a place. */
function sharedPlaces(json: Json): string[] {
  return TEXTS.flatMap((field, i) =>
    listPlaces(json, field).flatMap((place) => {
      const other = TEXTS.slice(0, i).find((before) => listPlaces(json, before).includes(place))
      return other === undefined || place === undefined
        ? []
        : [`"${field}": "${place}" is already the place of "${other}"`]
    }),
  )
}

/** Example: `/id or header:ce_id`. */
export function sourceText(sources: FieldSources): string {
  return sources
    .map((source) => ('header' in source ? `header:${source.header}` : pointerText(source.pointer)))
    .join(' or ')
}

const HEADER = /^header:(.*)$/s

function parseSource(text: string): FieldSource {
  const header = HEADER.exec(text)?.[1]
  return header === undefined ? { pointer: parsePointer(text) } : { header }
}

function placeFaults(places: readonly unknown[]): string[] {
  if (places.length === 0) return ['the list of places is empty']
  const isTwice = new Set(places).size < places.length
  const faults = places.map(sourceFault).filter((fault) => fault !== null)
  return isTwice ? [...faults, 'the list names a place twice'] : faults
}

function sourceFault(source: unknown): string | null {
  const header = typeof source === 'string' ? HEADER.exec(source)?.[1] : undefined
  if (header === undefined) return pointerFault(source)
  return header.trim() === '' ? `"${source}" names no header: write for example "header:ce_id"` : null
}

function parseObject(jsonText: string): Json {
  let json: unknown
  try {
    json = JSON.parse(jsonText.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new EnvelopeMapError([`it is not JSON: ${(error as Error).message}`])
  }
  if (!isObject(json)) throw new EnvelopeMapError(['it is not a JSON object'])
  return json
}

function isObject(json: unknown): json is Json {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

function keyFaults(json: Json, keys: readonly string[]): string[] {
  const unknown = Object.keys(json)
    .filter((key) => !keys.includes(key))
    .map((key) => `"${key}" is not a key: the keys are ${keys.join(', ')}${didYouMean(nearest(key, keys))}`)
  const missing = FIELDS.filter((field) => json[field] === undefined).map((field) => `"${field}" is missing`)
  return [...unknown, ...missing]
}
