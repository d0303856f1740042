import { FaultsError } from '../text/faults.ts'
import { didYouMean, nearest } from '../text/nearest.ts'
import { type Pointer, parsePointer, pointerFault } from './json-pointer.ts'

/** Fields that producers may place elsewhere in the envelope; all must be mapped. */
const FIELDS = ['partyLocator', 'locator', 'reason'] as const
type Field = (typeof FIELDS)[number]

/** Where the envelope carries what. */
export type EnvelopeMap = Readonly<Record<Field, Pointer>>

/** An envelope map that cannot be used. */
export class EnvelopeMapError extends FaultsError {
  constructor(faults: readonly string[]) {
    super('the envelope map has', faults)
  }
}

/** Reads an envelope map: a JSON object with one JSON Pointer (RFC 6901) for each field. Throws EnvelopeMapError. */
export function loadEnvelopeMap(jsonText: string): EnvelopeMap {
  const json = parseObject(jsonText)
  const faults = [...keyFaults(json, jsonText)]
  const fieldOfPointer = new Map<string, Field>()
  const read = (field: Field): Pointer => {
    const pointer = json[field]
    const fault = pointer === undefined ? null : pointerFault(pointer)
    if (fault !== null) faults.push(`"${field}": ${fault}`)
    if (typeof pointer !== 'string') return []
    const other = fieldOfPointer.get(pointer)
    if (other !== undefined) faults.push(`"${field}": "${pointer}" is already the pointer of "${other}"`)
    fieldOfPointer.set(pointer, field)
    return parsePointer(pointer)
  }
  const map = { partyLocator: read('partyLocator'), locator: read('locator'), reason: read('reason') }
  if (faults.length > 0) throw new EnvelopeMapError(faults)
  return map
}

function parseObject(jsonText: string): Record<string, unknown> {
  let json: unknown
  try {
    json = JSON.parse(jsonText.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new EnvelopeMapError([`it is not JSON: ${(error as Error).message}`])
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new EnvelopeMapError(['it is not a JSON object'])
  }
  return Object.assign(Object.create(null), json)
}

function keyFaults(json: Record<string, unknown>, jsonText: string): string[] {
  const fields: readonly string[] = FIELDS
  const keys = keysInText(jsonText)
  return [
    ...Object.keys(json)
      .filter((key) => !fields.includes(key))
      .map(
        (key) =>
          `"${key}" is not a field: the fields are ${FIELDS.join(', ')}${didYouMean(nearest(key, FIELDS))}`,
      ),
    ...fields
      .filter((field) => keys.filter((key) => key === field).length > 1)
      .map((field) => `"${field}" appears twice`),
    ...fields.filter((field) => !(field in json)).map((field) => `"${field}" is missing`),
  ]
}

/** JSON.parse keeps the last of equal keys silently. `jsonText` is valid JSON: a string before a colon is a key. */
function keysInText(jsonText: string): string[] {
  const strings = jsonText.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?/g)
  return [...strings]
    .filter(([, , colon]) => colon !== undefined)
    .map(([, text]) => JSON.parse(text as string))
}
