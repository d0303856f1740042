import { readFile } from 'node:fs/promises'
import t from 'tap'
import { loadEnvelopeMaps } from '../../../src/core/event/envelope-map.ts'
import { findMention, isUnreadable } from '../../../src/core/event/find-mention.ts'

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
  t.equal(mention('{"partyLocator": {"id": "party-1"}}'), null)
  t.equal(mention('{"partyLocator": null}', null, 'null'), null)
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
  t.equal(mention('{"party-1": 42}'), null)
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
