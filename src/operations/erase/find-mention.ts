import { type EnvelopeMaps, type FieldSources, mapOf } from '../../service/decide/event/envelope-map.ts'
import type { Message } from '../../service/decide/event/message.ts'
import { fieldAt, readEnvelope } from '../../service/decide/event/parse-event.ts'

/** `longer`: within a text, a longer name, or a message that may also be another member's. An operator must decide. */
export type Mention = 'named' | 'longer'

type Searched = Pick<Message, 'key' | 'value' | 'headers'>

export type Search = ReturnType<typeof createSearch>

/**
 * Searches stored data for a party locator. The first maps are those in force, the others the archived ones. `confirmed`: ids that
 * an operator treats as naming the party.
 */
export function createSearch(
  party: string,
  envelopeMaps: readonly EnvelopeMaps[],
  confirmed: readonly string[] = [],
) {
  const form = new RegExp(formPattern(party), 'g')
  const before = new RegExp(`(?:(?<code>[${lengthCodes(party)}])|^|[^A-Za-z0-9]|${ESCAPE})$`)
  const word = new RegExp(wordPattern(party))
  const places = new Map<string, readonly FieldSources[]>()

  function isMentionedIn({ bytes, isText }: Part): boolean {
    // UTF-16 and UTF-32 put NULs beside each letter of Latin.
    const text = Buffer.from(bytes).toString('latin1').replaceAll('\0', '').replaceAll(/\\+/g, '\\')
    let isPlainText: boolean | null = isText || null
    form.lastIndex = 0
    for (let found = form.exec(text); found !== null; found = form.exec(text)) {
      const [{ length }, { index }] = [found[0], found]
      const start = before.exec(text.slice(Math.max(0, index - ESCAPE_LENGTH_MAX), index))
      const isWord = start !== null && !/[A-Za-z0-9]/.test(text[index + length] ?? '')
      isPlainText ??= isWord || isPlain(bytes)
      if (isWord || start?.groups?.code !== undefined || !isPlainText) return true
      form.lastIndex = index + 1
    }
    return false
  }

  function mentionIn(text: string): Mention | null {
    if (text === party && !isNumeric(party)) return 'named'
    return isMentionedIn({ bytes: Buffer.from(text), isText: true }) ? 'longer' : null
  }

  function mentionInMessage(topic: string, message: Searched): Mention | null {
    const envelope = readValue(message.value)
    if (!splitParts(message, envelope).some(isMentionedIn)) return null
    const sources = places.get(topic) ?? partyPlaces(envelopeMaps, topic)
    places.set(topic, sources)
    const [inForce = [], ...earlier] = sources.map((places) => valuesAt(message, envelope, places))
    return isOfParty(inForce) || isOfParty([inForce, ...earlier].flat()) ? 'named' : 'longer'
  }

  function isOfParty(values: readonly unknown[]): boolean {
    return values.length > 0 && values.every((value) => value === party)
  }

  return {
    party,
    wanted: new Set(confirmed),
    mentionIn,
    mentionInMessage,
    isNamedIn: (text: string) => word.test(text),
  }
}

/** True if a message has no readable envelope, so that only its bytes are searched. */
export function isUnreadable(value: Uint8Array | null): boolean {
  return value !== null && value.length > 0 && readValue(value) === null
}

/**
 * The longest part of a locator that URLs, forms, JSON, XML and Unicode composition leave unchanged, for PostgreSQL to search.
 * Forms escape a tilde, and a letter may merge with the accent after it.
 */
export function fixedPart(locator: string): string {
  const runs = locator.match(/[A-Za-z0-9._-]+(?!\p{M})/gu) ?? []
  return runs.reduce((longest, run) => (run.length > longest.length ? run : longest), '')
}

/**
 * A regular expression for JavaScript and PostgreSQL that matches a locator as a word, between blanks and punctuation marks. A bare
 * number does not match, since it may count or measure anything.
 */
export function wordPattern(locator: string): string {
  const escaped = locator.replaceAll(/[!-/:-@[-`{-~]/g, '\\$&')
  return isNumeric(locator)
    ? `^${escaped}$`
    : `(^|[ \\t\\n\\r\\u00a0])["'([{\\u00ab\\u201c\\u2018]*${escaped}(['\\u2019]s)?["')\\]}\\u00bb\\u201d\\u2019.,;:!?]*($|[ \\t\\n\\r\\u00a0])`
}

/** True for a locator that may equal an amount, a time or a count. */
export function isNumeric(locator: string): boolean {
  return locator.trim() !== '' && Number.isFinite(Number(locator))
}

function readValue(value: Uint8Array | null) {
  for (const form of ['json-in-string', 'confluent-json'] as const) {
    const read = value && readEnvelope(value, form)
    if (read && 'text' in read) return read
  }
  return null
}

/** The values at the party's place, for a list each item, without null and empty ones. */
function valuesAt(
  message: Searched,
  envelope: ReturnType<typeof readValue>,
  places: FieldSources,
): readonly unknown[] {
  const found = [fieldAt(message, envelope ?? { json: {}, text: '' }, places)].flat()
  return found.filter((value) => value !== undefined && value !== null && value !== '')
}

/** The distinct places of the party, that of the map in force first. */
function partyPlaces(maps: readonly EnvelopeMaps[], topic: string): readonly FieldSources[] {
  const sources = maps.map((map) => mapOf(map, topic).partyLocator)
  return [...new Map(sources.map((places) => [JSON.stringify(places), places])).values()]
}

/** `isText`: all control characters are escaped. */
interface Part {
  readonly bytes: Uint8Array
  readonly isText: boolean
}

function splitParts({ key, value, headers }: Searched, envelope: ReturnType<typeof readValue>): Part[] {
  const names = Object.keys(headers).map((name) => ({ bytes: Buffer.from(name), isText: true }))
  const unread = [key, ...Object.values(headers).flat(), envelope === null ? value : null]
  const read = envelope === null ? [] : [{ bytes: Buffer.from(envelope.text), isText: true }]
  return [...names, ...read, ...unread.flatMap((bytes) => (bytes === null ? [] : [{ bytes, isText: false }]))]
}

const UTF8 = new TextDecoder('utf-8')

/** False for bytes with control characters other than white space, or not in UTF-8: a letter there may be a length or a tag. */
function isPlain(bytes: Uint8Array): boolean {
  return !/[^\P{Cc}\t\n\f\r]|\ufffd/u.test(UTF8.decode(bytes))
}

/** A letter of an escape does not belong to a longer name. */
const ESCAPE = '%(?:25)*[0-9a-fA-F]{2}|\\\\u[0-9a-fA-F]{4}|\\\\[bfnrt]'
/** With 14 escapes of an escape. */
const ESCAPE_LENGTH_MAX = 31

/** The one-byte length before a text in Protobuf, Thrift or Avro, for a character class. */
function lengthCodes(locator: string): string {
  const length = Buffer.byteLength(locator)
  return [length, 2 * length]
    .filter((code) => code < 0x80)
    .map((code) => latin(code))
    .join('')
}

/**
 * A regular expression for a locator in bytes, read as Latin-1 without NULs: in UTF-8, UTF-16, UTF-32 and Latin-1, composed or not,
 * and with escapes of JSON, URLs, forms and XML, even repeatedly escaped ones.
 */
function formPattern(locator: string): string {
  // Composition may change characters.
  const forms = [...new Set([locator, locator.normalize('NFC'), locator.normalize('NFD')])]
  return forms.map(spelled).join('|')
}

/** For a text with each run of backslashes reduced to one, since nested escapes lengthen it. */
function spelled(locator: string): string {
  return Array.from(locator.replaceAll(/\\+/g, '\\'))
    .map((character) => {
      const spelling = `(?:${spellings(character).join('|')})`
      // It may merge with the backslashes of the next escape. Bounded, since a run is searched again from each of its characters.
      return character === '\\' ? `(?:${spelling}{1,16}|(?=\\\\))` : spelling
    })
    .join('')
}

const BLANKS = [' ', '\t', '\n', '\r', '\u00a0', '\u2007', '\u2009', '\u202f', '\u3000']
const ENTITIES: Readonly<Record<string, string>> = {
  '"': 'quot',
  '&': 'amp',
  "'": 'apos',
  '<': 'lt',
  '>': 'gt',
  '\u00a0': 'nbsp',
}
const LETTER_ESCAPES: Readonly<Record<string, string>> = {
  '\t': 't',
  '\n': 'n',
  '\r': 'r',
  '\b': 'b',
  '\f': 'f',
}

function spellings(character: string): string[] {
  if (BLANKS.includes(character)) return ['+', ...BLANKS].flatMap(encodings)
  const apart = Array.from(character.normalize('NFD'))
  return apart.length === 1
    ? encodings(character)
    : [...encodings(character), apart.map((spelling) => `(?:${encodings(spelling).join('|')})`).join('')]
}

function encodings(character: string): string[] {
  const point = character.codePointAt(0) ?? 0
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
  const utf16 = Buffer.from(character, 'utf16le')
  const utf32 = [point & 0xff, (point >> 8) & 0xff, point >> 16]
  const bytes = [...Buffer.from(character)]
  const latin1 = point > 0x7f && point < 0x100 ? [point] : []
  const wide = [[...utf16], [...Buffer.from(utf16).swap16()], utf32, utf32.toReversed()]
  const raw = [bytes, latin1, ...(point < 0x100 ? [] : wide)]
  const percent = [bytes, latin1].map((codes) => codes.map((byte) => `%(?:25)*${hex(byte, 2)}`).join(''))
  const entity = `&(?:amp;)*(?:#0*${point};|#[xX]0*${hex(point, 0)};${name(ENTITIES[character])})`
  const escaped = units.map((unit) => `\\\\u${hex(unit, 4)}`).join('')
  const letter = LETTER_ESCAPES[character]
  // Escapes first, since an escape may begin like a character.
  return [
    ...percent,
    entity,
    escaped,
    ...(letter === undefined ? [] : [`\\\\${letter}`]),
    ...(/["/]/.test(character) ? [`\\\\${latin(point)}`] : []),
    ...raw.map((codes) =>
      codes
        .filter((byte) => byte !== 0)
        .map(latin)
        .join(''),
    ),
  ].filter((spelling) => spelling !== '')
}

function name(entity: string | undefined): string {
  return entity === undefined ? '' : `|${entity};`
}

/** A byte in a regular expression. */
function latin(byte: number): string {
  return `\\x${byte.toString(16).padStart(2, '0')}`
}

/** A number in hexadecimal digits of either case. */
function hex(value: number, digits: number): string {
  return value
    .toString(16)
    .padStart(digits, '0')
    .replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
}
