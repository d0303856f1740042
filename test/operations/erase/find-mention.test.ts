import { readFile } from 'node:fs/promises'
import t from 'tap'
import {
  findMention,
  isUnreadable,
  type Mention,
  namePattern,
} from '../../../src/operations/erase/find-mention.ts'
import { loadEnvelopeMaps } from '../../../src/service/decide/event/envelope-map.ts'

const { byDefault: envelopeMap } = loadEnvelopeMaps(
  await readFile(new URL('../../first/rules/envelope.json', import.meta.url), 'utf8'),
)
const mention = (value: Buffer | string | null, key: Buffer | string | null = null, party = 'party-1') =>
  findMention(
    {
      key: key === null ? null : Buffer.from(key),
      value: value === null ? null : Buffer.from(value),
      headers: {},
    },
    party,
    envelopeMap,
  )

t.test('a message belongs to the party in its envelope, and to no other', async (t) => {
  t.equal(mention('{"partyLocator": "party-1"}'), 'named')
  t.equal(mention('{"partyLocator": "\\u0070arty-1"}'), 'named', 'however it is spelled')
  t.equal(mention('{"partyLocator": 42}', null, '42'), 'named', 'and whatever its type')
  t.equal(mention('{"partyLocator": 12345678901234567890}', null, '12345678901234567890'), 'named', 'as sent')
  t.equal(mention('{"partyLocator": "party-10"}'), null)
  t.equal(mention('{"partyLocator": "party-2", "payload": {"reason": "see party-10"}}'), null)
  t.equal(mention('{"partyLocator": "party-2", "payload": {"from": "party-1"}}'), 'named', 'besides another')
  t.equal(mention('{"partyLocator": null}', null, 'null'), null)
})

/** JSON texts in all places of which a locator can be; `_` stands for it as JSON, quoted if it is a text. */
const PLACES = [
  '{"partyLocator": _}',
  '{"partyLocator": {"id": _}}',
  '{"partyLocator": [[_, "x"]]}',
  '{"partyLocator": _, "partyLocator": "party-2"}',
  '{"partyLocator": "party-2", "partyLocator": _}',
  '{"a": {"partyLocator": _}, "b": {"partyLocator": "party-2"}}',
]
const TEXT_PLACES = [
  '{"partyLocator": "", "member": _}',
  '{"partyLocator": false, "member": _}',
  '{"partyLocator": {}, "member": _}',
  '{"partyLocator": [], "list": ["\\"", [_]]}',
  '{"members": {_: {}}}',
  '{"x": "\\\\", "member": _}',
]
const LOCATORS = [
  'party-1',
  '42',
  'party-\u00e9',
  'party-\u0160\u{1f600}\u0080\u009f',
  'a"b\\c',
  '/42',
  '-7.50',
  ' ',
]
const asAscii = (json: string) =>
  json.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

const asUtf32 = (text: string) => {
  const points = Array.from(text, (one) => one.codePointAt(0) ?? 0)
  const bytes = Buffer.alloc(4 * points.length)
  for (const [index, point] of points.entries()) bytes.writeUInt32LE(point, 4 * index)
  return bytes
}

t.test('a locator is found wherever a reader could find it', async (t) => {
  for (const party of LOCATORS) {
    for (const place of [...PLACES, ...TEXT_PLACES]) {
      for (const quoted of [JSON.stringify(party), asAscii(JSON.stringify(party))]) {
        const json = place.replace('_', () => quoted)
        t.equal(mention(json, null, party), 'named', json)
        t.equal(mention(JSON.stringify(json), null, party), 'named', `${json} in a string`)
        t.equal(mention(JSON.stringify({ payload: json }), null, party), 'named', `${json} within a text`)
        t.equal(mention(`\0\0\0\0\u0001${json}`, null, party), 'named', `${json} behind a schema id`)
        t.equal(mention(json, null, `${party}0`), null, `${json} is not ${party}0`)
        if (party !== ' ') t.equal(mention(json.slice(0, -1), null, party), 'named', `${json}, cut off`)
      }
    }
    if (/^-?\d/.test(party)) {
      for (const place of PLACES) t.equal(mention(place.replace('_', party), null, party), 'named', place)
      t.equal(mention(`{"partyLocator": [1, {"x": "]"}, ${party}], "amount": 8}`, null, party), 'named')
      t.equal(mention(`{"partyLocator": "party-2", "amount": ${party}}`, null, party), null, 'an amount')
    }
    if (party === ' ') continue
    for (const encoded of [
      Buffer.from(party),
      Buffer.from(party, 'utf16le'),
      Buffer.from(party, 'utf16le').swap16(),
      asUtf32(party),
      asUtf32(`(\u{1f600}${party})`).swap32(),
      Buffer.concat([Buffer.from([255]), asUtf32(party)]),
      Buffer.from(JSON.stringify(party)),
    ]) {
      t.equal(mention(null, encoded, party), 'named', `${party} as key`)
      t.equal(mention(encoded, null, party), 'named', `${party} as value`)
      const header = { h: [null, encoded] }
      t.equal(
        findMention({ key: null, value: null, headers: header }, party, envelopeMap),
        'named',
        `${party} in a header`,
      )
    }
    const name = { [`party:${party}`]: [] }
    t.equal(
      findMention({ key: null, value: null, headers: name }, party, envelopeMap),
      'named',
      `${party} in a name`,
    )
  }
})

/** Texts, and whether each names `party-1`. */
const TEXTS: Readonly<Record<string, Mention | null>> = {
  'party-1': 'named',
  'member party-1 called': 'named',
  'see party-1.': 'named',
  'party-1 and party-10': 'named',
  'party-1-2 and party-1': 'named',
  'urn:member:party-1': 'named',
  'urn:member:party-1:email': 'named',
  '/members/party-1/claims': 'named',
  'party-1@example.com': 'named',
  'X-party-1': 'named',
  'id_party-1': 'named',
  '_party-1_': 'named',
  '--party-1--': 'named',
  'CLM-of-party-1': 'named',
  '\u0161party-1': 'longer',
  'party-1\u4e61': 'longer',
  'party-1e\u0301 and \u201cparty-1\u201d': 'named',
  'party-1--2': 'longer',
  'party-1-\u00e92': 'longer',
  'party-1 -- 2': 'named',
  'https://x/?member=party%2D1&y': 'named',
  'https://x/?member%3D%70arty-1': 'named',
  'x%252Fparty-1': 'named',
  'p=party-1%30': null,
  'p=party-1%2D2': 'longer',
  'p=party-1\\u0030': null,
  'C:\\party-1\\a': 'named',
  '{"note": "\\u0070arty-1"}': 'named',
  '\\nparty-1\\n': 'named',
  'party-1-2': 'longer',
  'party-1_b': 'longer',
  'party-1.5': 'longer',
  'party-10': null,
  'xparty-1': null,
  'party-1x': null,
  '0party-1-2': null,
  'Party-1': null,
}
/** Places of a text in a message. */
const TEXT_IN: Readonly<Record<string, (text: string) => Parameters<typeof findMention>[0]>> = {
  'a JSON text': (text) => aValue(JSON.stringify({ partyLocator: 'party-2', note: text })),
  'an escaped JSON text': (text) => aValue(JSON.stringify({ x: { note: text } }).replaceAll('p', '\\u0070')),
  'a JSON name': (text) => aValue(JSON.stringify({ [text]: 1 })),
  'JSON within a JSON text': (text) => aValue(JSON.stringify({ x: JSON.stringify({ note: text }) })),
  'broken JSON': (text) => aValue(`{"note": ${JSON.stringify(text)}`),
  'broken JSON in UTF-16': (text) => aValue(Buffer.from(`{"note": ${JSON.stringify(text)}`, 'utf16le')),
  'escaped JSON in UTF-16': (text) =>
    aValue(Buffer.from(JSON.stringify({ note: text }).replaceAll('p', '\\u0070'), 'utf16le').swap16()),
  'UTF-16 behind a byte': (text) =>
    aValue(Buffer.concat([Buffer.from([255]), Buffer.from(` ${text}`, 'utf16le')])),
  'UTF-32': (text) => aValue(asUtf32(text)),
  'a key': (text) => ({ ...aValue(null), key: Buffer.from(text) }),
  'a header': (text) => ({ ...aValue(null), headers: { h: [null, Buffer.from(text)] } }),
  'the name of a header': (text) => ({ ...aValue(null), headers: { [text]: [] } }),
}
const aValue = (value: Buffer | string | null) => ({
  key: null,
  value: value === null ? null : Buffer.from(value),
  headers: {},
})

t.test('one rule says in every place whether a text names the member', async (t) => {
  for (const [place, inPlace] of Object.entries(TEXT_IN))
    for (const [text, expected] of Object.entries(TEXTS))
      t.equal(findMention(inPlace(text), 'party-1', envelopeMap), expected, `${text} in ${place}`)
  for (const [text, expected] of Object.entries(TEXTS))
    if (!/%|\\/.test(text)) t.equal(new RegExp(namePattern('party-1')).test(text), expected === 'named', text)
})

/** A text in binary formats, each with its length before it, between fields whose tags are letters. */
const BINARY: Readonly<Record<string, (text: string) => Buffer>> = {
  Protobuf: (text) =>
    Buffer.concat([
      Buffer.from([0x0a, Buffer.byteLength(text)]),
      Buffer.from(text),
      Buffer.from([0x12, 1, 120]),
    ]),
  'Avro behind a schema id': (text) =>
    Buffer.concat([
      Buffer.from([0, 0, 0, 0, 1, 2 * Buffer.byteLength(text)]),
      Buffer.from(text),
      Buffer.from([4, 120, 120]),
    ]),
}

t.test('a locator is found behind its length, whatever letter that is', async (t) => {
  for (let length = 1; length < 64; length++) {
    const party = `${'a1-'.repeat(length).slice(0, length - 1)}7`
    for (const [format, encode] of Object.entries(BINARY)) {
      const message = encode(party)
      t.equal(mention(message, null, party), 'named', `${party} in ${format}`)
      t.equal(mention(null, message, party), 'named', `${party} in ${format}, as key`)
      t.not(mention(encode(`${party}0`), null, party), 'named', `${party}0 in ${format}`)
      t.not(mention(encode(`0${party}`), null, party), 'named', `0${party} in ${format}`)
    }
  }
})

t.test('a dash of any kind, or a character without a width, continues a locator', async (t) => {
  for (const joint of ['\u2011', '\u2013', '\u2060', '\u00ad', '-\u200b']) {
    t.equal(mention(`see party-1${joint}2`), 'longer')
    t.equal(mention(`see party-1 ${joint} 2`), 'named')
    t.notMatch(`party-1${joint}2`, new RegExp(namePattern('party-1')))
  }
})

t.test('in bytes that are no text, a locator within a longer word is named for a look', async (t) => {
  for (const bytes of ['\0party-10', '\u0001xparty-1', '\0party-1B', 'party-10\xff'])
    t.equal(mention(Buffer.from(bytes, 'latin1')), 'longer', JSON.stringify(bytes))
  const cbor = Buffer.concat([
    Buffer.from([0xa1, 0x61, 120, 0x67]),
    Buffer.from('party-1'),
    Buffer.from([0xf6]),
  ])
  t.equal(mention(cbor), 'longer', 'CBOR, whose lengths are letters behind letters')
  t.equal(mention('a text of party-10\r\n\tand xparty-1'), null)
  t.equal(mention('{"partyLocator": "\\u0000party-10"}'), null, 'an envelope is text')
})

t.test('a form has a plus for a blank', async (t) => {
  for (const form of ['party=Jane+Doe&x=1', 'a=b&party=Jane%20Doe', '{"form": "party=Jane+Doe"}'])
    t.equal(mention(form, null, 'Jane Doe'), 'named', form)
  t.equal(mention('party=Jane+Doer', null, 'Jane Doe'), null)
  t.equal(mention('party=Jane+Doe', null, 'Jane+Doe'), 'named')
  t.equal(mention('party=Jane%2BDoe', null, 'Jane Doe'), null)
})

t.test('a number names the party whose digits it equals', async (t) => {
  for (const number of ['42', '42.0', '4.2e1', '420E-1']) {
    t.equal(mention(`{"partyLocator": ${number}}`, null, '42'), 'named', number)
    t.equal(mention(`{"amount": ${number}}`, null, '42'), null, `an amount of ${number}`)
  }
  for (const number of ['42.5', '420', '4.2', '-42'])
    t.not(mention(`{"partyLocator": ${number}}`, null, '42'), 'named', number)
})

t.test('a hostile value is searched in time that grows with its size', async (t) => {
  const depth = 200_000
  const nested = `${'{"partyLocator":['.repeat(depth)}1${']}'.repeat(depth)}`
  t.equal(mention(nested, null, '42'), null)
  for (const part of ['\\\\', '%25', '"'])
    for (const value of [`{"x": ${JSON.stringify(part.repeat(500_000))}}`, part.repeat(500_000)])
      t.equal(mention(value, null, '42'), null)
})

t.test('a header names the party of a message as a word', async (t) => {
  const inHeader = (...values: (Buffer | null)[]) =>
    findMention({ key: null, value: null, headers: { h: [], party: values } }, 'party-1', envelopeMap)
  t.equal(inHeader(Buffer.from('party-1')), 'named')
  t.equal(inHeader(null, Buffer.from('{"party":"party-1"}')), 'named')
  t.equal(inHeader(Buffer.from('party-1', 'utf16le')), 'named')
  t.equal(inHeader(Buffer.from('party-10')), null)
  t.equal(inHeader(null), null)
})

t.test('if the party header is not UTF-8, the envelope decides', async (t) => {
  const { byDefault: map } = loadEnvelopeMaps(
    JSON.stringify({ partyLocator: 'header:party', locator: '/locator', reason: '/reason' }),
  )
  const value = Buffer.from('{"party": "party-1"}')
  const headers = { party: [Buffer.from([0xff])] }
  t.equal(findMention({ key: null, value, headers }, 'party-1', map), 'named')
})

t.test('a message belongs to the party in its key', async (t) => {
  t.equal(mention(null, 'party-1'), 'named')
  t.equal(mention('{"partyLocator": "party-2"}', 'party-1'), 'named')
  t.equal(mention(null, 'party-10'), null)
})

t.test('in an unreadable value, the party locator is searched as a word', async (t) => {
  for (const text of ['{"partyLocator": "party-1", ', 'party-1', '[{"p":"party-1"}]', 'x party-1.']) {
    t.equal(mention(text), 'named', text)
    t.equal(mention(Buffer.from(`\ufeff${text}`, 'utf16le')), 'named', `${text} as UTF-16LE`)
    t.equal(mention(Buffer.from(text, 'utf16le').swap16()), 'named', `${text} as UTF-16BE`)
    t.equal(mention(Buffer.concat([Buffer.from([0xff, 0xfe, 0]), Buffer.from(text)])), 'named')
  }
  t.equal(mention('party-\u00e9\u{1f600} {', null, 'party-\u00e9\u{1f600}'), 'named')
  t.equal(mention('party-10 party-1 '), 'named', 'also behind one that is longer')
  t.equal(mention(''), null)
})

t.test('if the envelope has no party, its locator is searched in all values', async (t) => {
  for (const text of [
    '{"event": {"partyLocator": "party-1"}}',
    '{"partyLocator": null, "parties": ["party-2", "\\u0070arty-1"]}',
    `{"deep": ${'['.repeat(100_000)}"party-1"${']'.repeat(100_000)}}`,
  ]) {
    t.equal(mention(text), 'named', text.slice(0, 80))
    t.equal(mention(text, null, 'party-3'), null)
  }
  t.equal(mention('{"amount": 42}', null, '42'), null)
  t.equal(mention('{}', null, 'undefined'), null)
})

t.test('values with an envelope are distinguished from those without', async (t) => {
  t.equal(isUnreadable(Buffer.from('{}'), envelopeMap), false)
  t.equal(isUnreadable(null, envelopeMap), false)
  t.equal(isUnreadable(Buffer.from(''), envelopeMap), false)
  for (const text of ['{', '[]', '"a"', 'null'])
    t.equal(isUnreadable(Buffer.from(text), envelopeMap), true, text)
})
