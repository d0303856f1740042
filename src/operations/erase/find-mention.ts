import { type EnvelopeMap, VALUE_FORMS } from '../../service/decide/event/envelope-map.ts'
import type { Message } from '../../service/decide/event/message.ts'
import { readEnvelope } from '../../service/decide/event/parse-event.ts'

/** `longer`: only within a longer name, which may be another member's, or beside a byte of binary data that looks like a letter of it. */
export type Mention = 'named' | 'longer'

type Searched = Pick<Message, 'key' | 'value' | 'headers'>

/**
 * Returns how a rejected message mentions a party, or null. A number of a readable envelope counts only where the map has the party.
 */
export function findMention(
  message: Searched,
  partyLocator: string,
  envelopeMap: EnvelopeMap,
): Mention | null {
  const word = new RegExp(`(?<before>[${LETTERS}])?${wordPattern(partyLocator)}(?<after>${CONTINUED})?`, 'g')
  let mention: Mention | null = null
  const { texts, binaries } = contentOf(message, partyLocator, envelopeMap)
  for (const text of texts)
    for (const decoded of decodings(text, partyLocator))
      for (const { groups } of decoded.matchAll(word)) {
        if (groups?.before === undefined && groups?.after === undefined) return 'named'
        mention = 'longer'
      }
  return mention ?? (binaries.some((text) => text.includes(partyLocator)) ? 'longer' : null)
}

/** Letters beyond ASCII, in a character class of JavaScript and of PostgreSQL, whose own classes depend on the locale. */
const LETTERS = '\\u00aa\\u00b5\\u00ba\\u00c0-\\u024f\\u0300-\\u1fff\\u3040-\\u9fff\\uac00-\\ud7af'
/** Hyphens, dashes and characters without a width, in the same form. */
const JOINTS = '-_.\\u00ad\\u200b-\\u200d\\u2010-\\u2015\\u2060\\ufeff'
/** The rest of a longer locator. */
const CONTINUED = `[${LETTERS}]|[${JOINTS}]{1,3}[A-Za-z0-9${LETTERS}]`

/**
 * A regular expression, of JavaScript and of PostgreSQL, for a locator that no letter or digit of ASCII precedes or follows. Locators
 * grow at their end: what names `party-1-2` names another member than `party-1`, but `id_party-1` names this one.
 */
function wordPattern(locator: string): string {
  return `(?<![A-Za-z0-9])${escapeMarks(locator)}(?![A-Za-z0-9])`
}

function escapeMarks(locator: string): string {
  return locator.replaceAll(/[!-/:-@[-`{-~]/g, '\\$&')
}

/** The pattern of a text that names a party, and not only a longer name. */
export function namePattern(locator: string): string {
  return `(?<![${LETTERS}])${wordPattern(locator)}(?!${CONTINUED})`
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

/** The texts of a message, and its bytes that are no text. */
function contentOf({ key, value, headers }: Searched, locator: string, envelopeMap: EnvelopeMap) {
  const envelope = value && readText(value, envelopeMap)
  const places = new Set(
    envelopeMap.partyLocator.flatMap((source) => ('pointer' in source ? (source.pointer.at(-1) ?? []) : [])),
  )
  const parts = [key, ...Object.values(headers).flat(), ...(envelope === null ? [value] : [])]
    .filter((bytes) => bytes !== null)
    .map((bytes) => ({ bytes, text: UTF8.decode(bytes) }))
  const binaries = parts.map(({ text }) => text).filter((text) => BINARY.test(text))
  function* texts(): Generator<string> {
    yield* Object.keys(headers)
    for (const { text } of parts) yield text
    for (const text of binaries) yield withoutLengths(text, locator)
    for (const { bytes } of parts) yield* wideReadings(bytes, locator)
    if (envelope !== null) yield* textsInJson(envelope, locator, places)
  }
  return { texts: texts(), binaries }
}

/** What no text has: control characters but white space, and bytes that are no UTF-8. */
const BINARY = /[^\P{Cc}\t\n\f\r]|\ufffd/u

/**
 * Without the length that Protobuf, Thrift or Avro puts before a text, and that may be the code of a letter. It stays where what
 * precedes it may be the length of a text that begins with this letter, or a letter of it.
 */
function withoutLengths(text: string, locator: string): string {
  const length = Buffer.byteLength(locator)
  const longer = lengthCodes(length + 1)
  return text.replaceAll(
    new RegExp(`(?<![A-Za-z0-9${longer}])[${lengthCodes(length)}](?=${escapeMarks(locator)})`, 'g'),
    ' ',
  )
}

/** A length as one byte of ASCII in each of these formats, for the brackets of a regular expression. */
function lengthCodes(length: number): string {
  const codes = [length, 2 * length].filter((code) => code < 0x80)
  return codes.map((code) => `\\x${code.toString(16).padStart(2, '0')}`).join('')
}

const NUMBER = /^-?\d/

/**
 * The texts and names in valid JSON, and the numbers under a name of `places` that equal the locator. Goes by the text and not by the parsed value, which has
 * lost replaced values and digits, and may be deeper than the stack.
 */
function* textsInJson(json: string, locator: string, places: ReadonlySet<string>): Generator<string> {
  const tokens = NUMBER.test(locator) ? /["[\]{},]|-?\d[\d.eE+-]*/g : /"/g
  let depth = 0
  let placeDepth: number | null = null
  for (let token = tokens.exec(json); token !== null; token = tokens.exec(json)) {
    const [found] = token
    if (found === '"') {
      tokens.lastIndex = endOfString(json, token.index)
      const quoted = json.slice(token.index, tokens.lastIndex)
      const text = quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1)
      yield text
      if (places.has(text)) placeDepth ??= depth
      continue
    }
    if (found === '[' || found === '{') depth++
    else if (found === ']' || found === '}') depth--
    else if (placeDepth !== null && isNumber(found, locator)) yield locator
    if (placeDepth !== null && depth <= placeDepth) placeDepth = null
  }
}

/** True for the digits as sent, and for another way to write the same whole number. */
function isNumber(found: string, locator: string): boolean {
  return found === locator || (Number.isSafeInteger(Number(found)) && String(Number(found)) === locator)
}

/** The index behind a string that begins at `start`. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); ; end = json.indexOf('"', end + 1)) {
    let first = end
    while (json[first - 1] === '\\') first--
    if ((end - first) % 2 === 0) return end + 1
  }
}

const UTF8 = new TextDecoder('utf-8')
const WIDE = ['utf-16le', 'utf-16be'].map((encoding) => new TextDecoder(encoding))
const NUL = Buffer.alloc(1)
const LATIN = /[^\u0100-\uffff]/

/**
 * Bytes as texts of UTF-16 and UTF-32. UTF-16 may begin at any byte, which NULs around it shift without cutting a letter off. UTF-32 has
 * more NULs, but for what UTF-16 writes as a pair.
 */
function* wideReadings(bytes: Uint8Array, locator: string): Generator<string> {
  // In UTF-16 each letter of Latin has a NUL.
  if (!bytes.includes(0) && LATIN.test(locator)) return
  const shifted = [Buffer.concat([bytes, NUL]), Buffer.concat([NUL, bytes, NUL])]
  for (const text of shifted.flatMap((one) => WIDE.map((decoder) => decoder.decode(one)))) {
    yield text
    if (text.includes('\0')) yield text.replaceAll('\0', '')
  }
  if (PAIR.test(locator))
    for (let start = 0; start < 4; start++)
      for (const read of ['readUInt32LE', 'readUInt32BE'] as const) yield decodeUtf32(bytes, start, read)
}

const PAIR = /[\u{10000}-\u{10ffff}]/u

function decodeUtf32(bytes: Uint8Array, start: number, read: 'readUInt32LE' | 'readUInt32BE'): string {
  const buffer = Buffer.from(bytes)
  let text = ''
  for (let at = start; at + 4 <= buffer.length; at += 4) {
    const point = buffer[read](at)
    text += point > 0x10ffff ? '\ufffd' : String.fromCodePoint(point)
  }
  return text
}

/** JSON in JSON in a URL: each pass costs as much as the whole text. */
const DECODING_COUNT_MAX = 6
const ESCAPED = /\\(?:u([0-9a-f]{4})|([bfnrt])|(["\\/]))|(?:%[0-9a-f]{2})+/gi

/**
 * A text without escapes of JSON and of URLs, which broken JSON has too; as it is only where the locator itself may have some: the
 * escape behind `party-1%30` is a digit of another locator.
 */
function* decodings(text: string, locator: string): Generator<string> {
  if (/[\\%]/.test(locator)) yield text
  yield decode(text)
  // In a form, a plus is a blank.
  if (locator.includes(' ')) yield decode(text.replaceAll('+', ' '))
}

function decode(text: string): string {
  let last = text
  for (let pass = 0; pass < DECODING_COUNT_MAX && /[\\%]/.test(last); pass++) {
    const decoded = last.replaceAll(ESCAPED, (escaped, unit?: string, blank?: string, itself?: string) => {
      if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16))
      if (blank !== undefined) return ' '
      return itself ?? Buffer.from(escaped.replaceAll('%', ''), 'hex').toString()
    })
    if (decoded === last) break
    last = decoded
  }
  return last
}
