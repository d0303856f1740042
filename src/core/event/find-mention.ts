import type { EnvelopeMap } from './envelope-map.ts'
import type { Message } from './message.ts'
import { fieldAt, readEnvelope } from './parse-event.ts'

/** How a rejected message mentions a party: in its envelope or key, or only somewhere in its bytes. */
export type Mention = 'named' | 'bytes'

const BYTES = new TextDecoder('latin1')
const ENCODER = new TextEncoder()

/**
 * Returns how a rejected message mentions a party, or null. `named`: the key is the locator, a header contains it as a word, or
 * the envelope names the party; an envelope without a party may have the locator as another value. `bytes`: the envelope is
 * unreadable, and its bytes contain the locator as a word, in UTF-8 or UTF-16.
 */
export function findMention(
  { key, value, headers = {} }: Pick<Message, 'key' | 'value'> & Partial<Pick<Message, 'headers'>>,
  partyLocator: string,
  envelopeMap: EnvelopeMap,
): Mention | null {
  if (key !== null && BYTES.decode(key) === BYTES.decode(ENCODER.encode(partyLocator))) return 'named'
  const headerValues = Object.values(headers).flat()
  if (headerValues.some((header) => header !== null && holdsWord(BYTES.decode(header), partyLocator)))
    return 'named'
  if (value === null) return null
  const read = readEnvelope(value, envelopeMap.value)
  if ('code' in read) return holdsWord(BYTES.decode(value), partyLocator) ? 'bytes' : null
  const named = fieldAt({ headers }, read, envelopeMap.partyLocator)
  if (named === null || named === undefined || named instanceof Uint8Array)
    return holdsText(read.json, partyLocator) ? 'named' : null
  if (typeof named === 'number') return holdsWord(BYTES.decode(value), partyLocator) ? 'bytes' : null
  return typeof named !== 'object' && String(named) === partyLocator ? 'named' : null
}

/** True if any value in an envelope is this text. An envelope may be wrapped in another one. */
function holdsText(envelope: object, text: string): boolean {
  // No recursion: JSON can be deeper than the stack.
  const open: unknown[] = [envelope]
  while (open.length > 0) {
    const value = open.pop()
    if (value === text) return true
    if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(value)) open.push(inner)
  }
  return false
}

/** True if a message has no readable envelope, so that only its bytes can be searched. */
export function isUnreadable(value: Uint8Array | null, { value: form }: EnvelopeMap): boolean {
  return value !== null && value.length > 0 && 'code' in readEnvelope(value, form)
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

/** True if `bytes` contains `found` with no letter or digit at these distances before its start and after its end. */
function holds(bytes: string, found: string, before: number, behind: number): boolean {
  for (let start = bytes.indexOf(found); start !== -1; start = bytes.indexOf(found, start + 1)) {
    const isPart = [start + before, start + found.length + behind].some((index) =>
      /[\w-]/.test(bytes.charAt(index)),
    )
    if (!isPart) return true
  }
  return false
}
