import { type EnvelopeMap, VALUE_FORMS } from '../../service/decide/event/envelope-map.ts'
import type { Message } from '../../service/decide/event/message.ts'
import { readEnvelope } from '../../service/decide/event/parse-event.ts'

/** How a rejected message mentions a party: in its envelope, key or headers, or only somewhere in its bytes. */
export type Mention = 'named' | 'bytes'

/** One character for each byte. Only compared with what it made: it is windows-1252, whatever its name. */
const BYTES = new TextDecoder('latin1')
const ENCODER = new TextEncoder()

/**
 * Returns how a rejected message mentions a party, or null. `named`: the key, a header or its name contains the locator as a word, or
 * a text or name of the envelope is the locator, or a number where the map says that the party is. `bytes`: the envelope is unreadable,
 * and its bytes contain the locator as a word, in UTF-8 or UTF-16.
 */
export function findMention(
  { key, value, headers = {} }: Pick<Message, 'key' | 'value'> & Partial<Pick<Message, 'headers'>>,
  partyLocator: string,
  envelopeMap: EnvelopeMap,
): Mention | null {
  const isWordIn = createWordFinder(partyLocator)
  const names = Object.keys(headers).map((name) => ENCODER.encode(name))
  if ([key, ...names, ...Object.values(headers).flat()].some(isWordIn)) return 'named'
  if (value === null) return null
  const text = readText(value, envelopeMap)
  if (text === null) return isWordIn(value) ? 'bytes' : null
  const places = new Set(
    envelopeMap.partyLocator.flatMap((source) => ('pointer' in source ? (source.pointer.at(-1) ?? []) : [])),
  )
  return holdsLocator(text, partyLocator, places) ? 'named' : null
}

/** True if a message has no readable envelope, so that only its bytes can be searched. */
export function isUnreadable(value: Uint8Array | null, envelopeMap: EnvelopeMap): boolean {
  return value !== null && value.length > 0 && readText(value, envelopeMap) === null
}

/** The text of the envelope in the form of the map or, since the map may have been another one, in any other; null if none fits. */
function readText(value: Uint8Array, { value: form }: EnvelopeMap): string | null {
  for (const one of [form, ...VALUE_FORMS]) {
    const read = readEnvelope(value, one)
    if ('text' in read) return read.text
  }
  return null
}

const NUMBER = /^-?\d/

/**
 * True if a text or name in this JSON is the locator, also one that a later one of the same name replaces, or one in JSON within a
 * text; or if a number is, under one of these names. Goes by the text and not by the parsed value, which has lost replaced values,
 * digits, and may be deeper than the stack.
 */
function holdsLocator(json: string, locator: string, places: ReadonlySet<string>): boolean {
  const open = [json]
  for (let text = open.pop(); text !== undefined; text = open.pop()) {
    let searchedTo = 0
    for (let start = text.indexOf('"'); start !== -1; ) {
      const end = endOfString(text, start)
      const content = readString(text.slice(start, end))
      if (content === locator) return true
      if (content.includes('"')) open.push(content)
      if (NUMBER.test(locator) && end > searchedTo && places.has(content)) {
        searchedTo = findNumber(text, end, locator) ?? -1
        if (searchedTo === -1) return true
      }
      start = text.indexOf('"', end)
    }
  }
  return false
}

/** The index behind a string that begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text[first - 1] === '\\') first--
    if ((end - first) % 2 === 0) return end + 1
  }
  return text.length
}

function readString(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return String(JSON.parse(quoted))
  } catch {
    // JSON within a text may be broken.
    return ''
  }
}

const TOKEN = /[[\]{}",]|-?\d[\d.eE+-]*/g

/** Null if the value behind a name is this number, or contains it; else the index of its end. */
function findNumber(text: string, start: number, number: string): number | null {
  TOKEN.lastIndex = start
  for (let depth = 0, token = TOKEN.exec(text); token !== null; token = TOKEN.exec(text)) {
    const [found] = token
    if (found === number) return null
    if (found === '"') TOKEN.lastIndex = endOfString(text, token.index)
    else if (found === '[' || found === '{') depth++
    else if (found === ']' || found === '}') depth--
    if (depth <= 0 && found !== '"') return TOKEN.lastIndex
  }
  return text.length
}

/** Finds a word in bytes: in UTF-8, also with the escapes of JSON, and in UTF-16. */
function createWordFinder(word: string): (bytes: Uint8Array | null) => boolean {
  const units = Array.from({ length: word.length }, (_, i) => word.charCodeAt(i))
  const utf8 = BYTES.decode(ENCODER.encode(word))
  const little = BYTES.decode(Uint8Array.from(units.flatMap((unit) => [unit & 0xff, unit >> 8])))
  const big = BYTES.decode(Uint8Array.from(units.flatMap((unit) => [unit >> 8, unit & 0xff])))
  const isWord = (text: string, index: number) => /[\w-]/.test(text.charAt(index))
  const isWideWord = (text: string, low: number, high: number) =>
    isWord(text, low) && ['\0', ''].includes(text.charAt(high))
  return (bytes) => {
    if (bytes === null) return false
    const text = BYTES.decode(bytes)
    return (
      holds(
        text,
        utf8,
        (index) => isWord(text, index - 1),
        (index) => isWord(text, index),
      ) ||
      holds(
        text,
        little,
        (index) => isWideWord(text, index - 2, index - 1),
        (index) => isWideWord(text, index, index + 1),
      ) ||
      holds(
        text,
        big,
        (index) => isWideWord(text, index - 1, index - 2),
        (index) => isWideWord(text, index + 1, index),
      ) ||
      (text.includes('\\') && holdsUnescaped(unescaped(text)))
    )
  }
  function holdsUnescaped(text: string): boolean {
    return holds(
      text,
      utf8,
      (index) => isWord(text, index - 1),
      (index) => isWord(text, index),
    )
  }
}

/** True if `text` contains `found`, neither inside a longer word. */
function holds(
  text: string,
  found: string,
  isPartBefore: (start: number) => boolean,
  isPartAfter: (end: number) => boolean,
): boolean {
  for (let start = text.indexOf(found); start !== -1; start = text.indexOf(found, start + 1))
    if (!isPartBefore(start) && !isPartAfter(start + found.length)) return true
  return false
}

/** Broken JSON has escapes too: `\u0070arty-1`, or a line break before the word. */
function unescaped(text: string): string {
  return text
    .replaceAll(/(?:\\u[0-9a-f]{4})+/gi, (escapes) =>
      BYTES.decode(ENCODER.encode(readString(`"${escapes}"`))),
    )
    .replaceAll(/\\([bfnrt"\\/])/g, (_, escaped: string) => (/[bfnrt]/.test(escaped) ? ' ' : escaped))
}
