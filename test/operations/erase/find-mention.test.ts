import { readFile } from 'node:fs/promises'
import t from 'tap'
import { findMention, isUnreadable } from '../../../src/operations/erase/find-mention.ts'
import { loadEnvelopeMaps } from '../../../src/service/decide/event/envelope-map.ts'

const { byDefault: envelopeMap } = loadEnvelopeMaps(
  await readFile(new URL('../../first/rules/envelope.json', import.meta.url), 'utf8'),
)
const mention = (value: Buffer | string | null, key: string | null = null, party = 'party-1') =>
  findMention(
    { key: key === null ? null : Buffer.from(key), value: value === null ? null : Buffer.from(value) },
    party,
    envelopeMap,
  )

t.test('a message belongs to the party in its envelope, and to no other', async (t) => {
  t.equal(mention('{"partyLocator": "party-1"}'), 'named')
  t.equal(mention('{"partyLocator": "\\u0070arty-1"}'), 'named', 'however it is spelled')
  t.equal(mention('{"partyLocator": 42}', null, '42'), 'named', 'and whatever its type')
  t.equal(mention('{"partyLocator": 12345678901234567890}', null, '12345678901234567890'), 'named', 'as sent')
  t.equal(mention('{"partyLocator": "party-10"}'), null)
  t.equal(mention('{"partyLocator": "party-2", "payload": {"reason": "see party-1"}}'), null)
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
        if (party !== ' ') t.equal(mention(json.slice(0, -1), null, party), 'bytes', `${json}, cut off`)
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
      Buffer.from(JSON.stringify(party)),
    ]) {
      t.equal(findMention({ key: encoded, value: null }, party, envelopeMap), 'named', `${party} as key`)
      t.equal(findMention({ key: null, value: encoded }, party, envelopeMap), 'bytes', `${party} as value`)
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

t.test('letters of other scripts beside a locator are no part of it', async (t) => {
  for (const text of ['\u0161party-1\u0161', '\u4e61party-1\u4e61'])
    for (const bytes of [
      Buffer.from(text),
      Buffer.from(text, 'utf16le'),
      Buffer.from(text, 'utf16le').swap16(),
    ])
      t.equal(mention(bytes), 'bytes', text)
})

t.test('a hostile value is searched in time that grows with its size', async (t) => {
  const depth = 200_000
  const nested = `${'{"partyLocator":['.repeat(depth)}1${']}'.repeat(depth)}`
  t.equal(mention(nested, null, '42'), null)
  t.equal(mention(`{"x": "${'\\\\'.repeat(500_000)}"}`, null, '42'), null)
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
    t.equal(mention(text), 'bytes', text)
    t.equal(mention(Buffer.from(`\ufeff${text}`, 'utf16le')), 'bytes', `${text} as UTF-16LE`)
    t.equal(mention(Buffer.from(text, 'utf16le').swap16()), 'bytes', `${text} as UTF-16BE`)
    t.equal(mention(Buffer.concat([Buffer.from([0xff, 0xfe, 0]), Buffer.from(text)])), 'bytes')
  }
  t.equal(mention('party-\u00e9\u{1f600} {', null, 'party-\u00e9\u{1f600}'), 'bytes')
  t.equal(mention('party-10 party-1 '), 'bytes', 'also behind one that is longer')
  for (const text of ['party-10 {', 'no-party-1', 'party-1-b', '_party-1', '']) {
    t.equal(mention(text), null, text)
    t.equal(mention(Buffer.from(text, 'utf16le')), null, `${text} as UTF-16LE`)
    t.equal(mention(Buffer.from(text, 'utf16le').swap16()), null, `${text} as UTF-16BE`)
  }
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
  t.equal(mention('{"event": {"partyLocator": "party-10"}, "reason": "see party-1"}'), null)
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
