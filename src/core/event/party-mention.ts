import type { EnvelopeMap } from './envelope-map.ts'

/** How a rejected message is of a party: by its envelope or its key, or only as some of its bytes. */
export type Mention = 'named' | 'bytes'

const UTF8 = new TextDecoder('utf-8', { fatal: true })
/** One character for each byte. */
const BYTES = new TextDecoder('latin1')
const ENCODER = new TextEncoder()

/**
 * Whether a rejected message is of a party: its key is the locator, its envelope names the party, or, where it names
 * nobody, has the locator for some other value. Where there is no envelope that can be read: the locator stands in it as
 * a word, in UTF-8 or UTF-16. Null: not as far as can be told.
 */
export function findMention(
  { key, value }: { readonly key: Uint8Array | null; readonly value: Uint8Array | null },
  partyLocator: string,
  envelopeMap: EnvelopeMap,
): Mention | null {
  if (key !== null && BYTES.decode(key) === BYTES.decode(ENCODER.encode(partyLocator))) return 'named'
  if (value === null) return null
  const envelope = readEnvelope(value)
  if (envelope === null) return holdsWord(BYTES.decode(value), partyLocator) ? 'bytes' : null
  const named = envelopeMap.partyLocator(envelope) ?? null
  if (named === null) return holdsText(envelope, partyLocator) ? 'named' : null
  return typeof named !== 'object' && String(named) === partyLocator ? 'named' : null
}

/** Whether a text is somewhere among the values of an envelope: of one that is wrapped once more, say. */
function holdsText(envelope: object, text: string): boolean {
  // JSON can be deeper than the stack.
  const open: unknown[] = [envelope]
  while (open.length > 0) {
    const value = open.pop()
    if (value === text) return true
    if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(value)) open.push(inner)
  }
  return false
}

/** Whether there is no envelope to be read in a message, so that only its bytes can be searched. */
export function isUnreadable(value: Uint8Array | null): boolean {
  return value !== null && value.length > 0 && readEnvelope(value) === null
}

function readEnvelope(value: Uint8Array): object | null {
  try {
    const envelope: unknown = JSON.parse(UTF8.decode(value))
    return typeof envelope === 'object' && !Array.isArray(envelope) ? envelope : null
  } catch {
    return null
  }
}

function holdsWord(bytes: string, word: string): boolean {
  const units = Array.from({ length: word.length }, (_, i) => word.charCodeAt(i))
  const little = units.map((unit) => String.fromCharCode(unit & 0xff, unit >> 8)).join('')
  const big = units.map((unit) => String.fromCharCode(unit >> 8, unit & 0xff)).join('')
  return (
    holds(bytes, BYTES.decode(ENCODER.encode(word)), -1, 0) ||
    holds(bytes, little, -2, 0) ||
    holds(bytes, big, -1, 1)
  )
}

/** Whether `found` stands in `bytes` with no letter or digit at these places before its begin and behind its end. */
function holds(bytes: string, found: string, before: number, behind: number): boolean {
  for (let start = bytes.indexOf(found); start !== -1; start = bytes.indexOf(found, start + 1)) {
    const isPart = [start + before, start + found.length + behind].some((index) =>
      /[\w-]/.test(bytes.charAt(index)),
    )
    if (!isPart) return true
  }
  return false
}
