import { readFile } from 'node:fs/promises'
import t from 'tap'
import {
  createSearch,
  fixedPart,
  isUnreadable,
  type Mention,
  wordPattern,
} from '../../../src/operations/erase/find-mention.ts'
import { type EnvelopeMaps, loadEnvelopeMaps } from '../../../src/service/decide/event/envelope-map.ts'

const maps = loadEnvelopeMaps(
  await readFile(new URL('../../first/rules/envelope.json', import.meta.url), 'utf8'),
)
type Bytes = Buffer | string | null
interface Sent {
  readonly key?: Bytes
  readonly value?: Bytes
  readonly headers?: Readonly<Record<string, readonly Bytes[]>>
}
const toBuffer = (bytes: Bytes) => (bytes === null ? null : Buffer.from(bytes))
const mentionIn = (
  { key = null, value = null, headers = {} }: Sent,
  party: string,
  envelopeMaps: readonly EnvelopeMaps[] = [maps],
) =>
  createSearch(party, envelopeMaps).mentionInMessage('claims', {
    key: toBuffer(key),
    value: toBuffer(value),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, values]) => [name, values.map(toBuffer)]),
    ),
  })
const mention = (value: Bytes, party = 'party-1') => mentionIn({ value }, party)

t.test('a message belongs to the party in its envelope, and to no other', async (t) => {
  t.equal(mention('{"partyLocator": "party-1"}'), 'named')
  t.equal(mention('{"partyLocator": "\\u0070arty-1"}'), 'named', 'however it is spelled')
  t.equal(mention('\0\0\0\0\u0001{"partyLocator": "party-1"}'), 'named', 'behind a schema id')
  t.equal(mention(JSON.stringify('{"partyLocator": "party-1"}')), 'named', 'in a string')
  t.equal(mention('{"partyLocator": 42}', '42'), 'named', 'and whatever its type')
  t.equal(mention('{"partyLocator": 12345678901234567890}', '12345678901234567890'), 'named', 'as sent')
  t.equal(mention('{"partyLocator": "party-10"}'), null)
  t.equal(mention('{"partyLocator": "party-2", "payload": {"reason": "see party-10"}}'), null)
  t.equal(mention('{"partyLocator": null}', 'null'), 'longer')
  t.equal(mention('{"partyLocator": "party-2", "payload": {"from": "party-1"}}'), 'longer', "another's")
  t.equal(mentionIn({ key: 'party-1', value: '{"partyLocator": "party-2"}' }, 'party-1'), 'longer')
})

t.test("a message with several values at the place of the party is not one member's", async (t) => {
  for (const [place, expected] of [
    ['["party-1"]', 'named'],
    ['["party-1", null, "", "party-1"]', 'named'],
    ['["party-1", "party-2"]', 'longer'],
    ['["party-2", "party-1"]', 'longer'],
    ['[["party-1"], ["party-2"]]', 'longer'],
    ['{"insured": "party-1", "holder": "party-2"}', 'longer'],
    ['{"party-1": {}, "party-2": {}}', 'longer'],
    ['true', 'longer'],
  ] as const) {
    const value = `{"partyLocator": ${place}, "from": "party-1"}`
    t.equal(mention(value), expected, place)
    t.equal(mentionIn({ key: 'party-1', value }, 'party-1'), expected, `${place} with a key`)
  }
})

t.test('the map in force says whose a message is; where it finds nobody, those before it do', async (t) => {
  const mapAt = (partyLocator: string) =>
    loadEnvelopeMaps(JSON.stringify({ partyLocator, locator: '/locator', reason: '/reason' }))
  const both = '{"id": "party-2", "from": "party-1"}'
  for (const [inForce, earlier, expected] of [
    ['/from', '/id', 'named'],
    ['/id', '/from', 'longer'],
    ['/none', '/id', 'longer'],
    ['/none', '/from', 'named'],
    ['/none', '/none', 'longer'],
    ['header:party', '/none', 'longer'],
  ] as const)
    t.equal(
      mentionIn({ value: both, headers: { party: ['party-2'] } }, 'party-1', [
        mapAt(inForce),
        mapAt(earlier),
      ]),
      expected,
      `${inForce} after ${earlier}`,
    )
  const broken = { value: '{"from": "party-1"', headers: { party: ['party-1'] } }
  t.equal(mentionIn(broken, 'party-1', [mapAt('header:party')]), 'named', 'the value need not be readable')
  const binary = { value: '{"from": "party-1"}', headers: { party: [Buffer.from([0xff])] } }
  t.equal(mentionIn(binary, 'party-1', [mapAt('header:party')]), 'longer', 'a name in another encoding')
})

t.test('a number names a member only where the map has the party', async (t) => {
  for (const value of [
    '{"partyLocator": "43", "amount": 42}',
    '{"partyLocator": "43", "amount": "42"}',
    '{"amount": 42}',
    '{"amount": "42"}',
    '{"reason": "42 EUR"}',
    '{"partyLocator": 42.0}',
    '[42]',
    '42',
  ])
    t.equal(mention(value, '42'), 'longer', value)
  t.equal(mentionIn({ key: '42' }, '42'), 'longer', 'a key may be the number of a claim')
  t.equal(mention('{"amount": 420, "at": 1742, "in": "x42"}', '42'), null)
  t.equal(createSearch('42', [maps]).mentionIn('42'), 'longer')
})

const asUtf32 = (text: string) => {
  const points = Array.from(text, (one) => one.codePointAt(0) ?? 0)
  const bytes = Buffer.alloc(4 * points.length)
  for (const [index, point] of points.entries()) bytes.writeUInt32LE(point, 4 * index)
  return bytes
}
const asAscii = (json: string) =>
  json.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
const inForm = (text: string) => encodeURIComponent(text).replaceAll('%20', '+')
const NAMED = { '"': '&quot;', '&': '&amp;', "'": '&apos;', '<': '&lt;', '>': '&gt;' } as Record<
  string,
  string
>
const inXml = (text: string) => text.replaceAll(/["&'<>]/g, (mark) => NAMED[mark] ?? '')
const inDigits = (text: string) => Array.from(text, (one) => `&#${one.codePointAt(0)};`).join('')
const inHex = (text: string) => Array.from(text, (one) => `&#x${one.codePointAt(0)?.toString(16)};`).join('')
const lengthOf = (text: string, factor: number) => {
  const length = factor * Buffer.byteLength(text)
  return Buffer.from(length < 128 ? [length] : [(length & 127) | 128, length >> 7])
}

/** Forms of messages that no map finds a party in. */
const UNCERTAIN: Readonly<Record<string, (party: string) => Sent>> = {
  'a text': (party) => ({ value: JSON.stringify({ deep: [[{ member: party }]] }) }),
  'a name': (party) => ({ value: JSON.stringify({ members: { [party]: {} } }) }),
  'a text behind a replaced one': (party) => ({
    value: `{"member": ${JSON.stringify(party)}, "member": "x\\\\"}`,
  }),
  'JSON within a text': (party) => ({
    value: JSON.stringify({ payload: JSON.stringify({ member: party }) }),
  }),
  'a list': (party) => ({ value: JSON.stringify([party]) }),
  'a value': (party) => ({ value: party }),
  'a key': (party) => ({ key: party, value: 'x' }),
  'a JSON key': (party) => ({ key: JSON.stringify({ id: party }) }),
  'a header': (party) => ({ headers: { h: [null, party] } }),
  'the name of a header': (party) => ({ headers: { [party]: [] } }),
  'a deep value': (party) => ({
    value: `{"x": ${'['.repeat(9_999)}${JSON.stringify(party)}${']'.repeat(9_999)}}`,
  }),
  'a sentence': (party) => ({ value: JSON.stringify({ note: `see ${party}.` }) }),
  'broken JSON': (party) => ({ value: `{"member": ${JSON.stringify(party)}` }),
  'broken JSON in ASCII': (party) => ({ value: `{"member": ${asAscii(JSON.stringify(party))}` }),
  'broken JSON in UTF-16': (party) => ({
    value: Buffer.from(`{"member": ${asAscii(JSON.stringify(party))}`, 'utf16le').swap16(),
  }),
  'broken JSON within JSON': (party) => ({
    value: JSON.stringify({ x: `{"member": ${asAscii(JSON.stringify(party))}` }),
  }),
  'broken JSON within broken JSON': (party) => ({
    value: `{"x": ${JSON.stringify(JSON.stringify(`"${party}"`))}`,
  }),
  'UTF-16': (party) => ({ value: Buffer.from(party, 'utf16le') }),
  'UTF-16 behind a byte': (party) => ({
    key: Buffer.concat([Buffer.from([255]), Buffer.from(`${party} `, 'utf16le').swap16()]),
  }),
  'UTF-32': (party) => ({ headers: { h: [asUtf32(party)] } }),
  'UTF-32 behind a byte': (party) => ({
    value: Buffer.concat([Buffer.from([255]), asUtf32(party).swap32()]),
  }),
  'a URL': (party) => ({ value: `https://x/?a=b&member=${encodeURIComponent(party)}&y` }),
  'a path': (party) => ({
    value: JSON.stringify({ url: `/members%2F${encodeURIComponent(party)}%2Fclaims` }),
  }),
  'a form': (party) => ({ value: `a=b&member=${inForm(party)}&x=1` }),
  'a form in a form': (party) => ({ value: `a=b&form=${inForm(`member=${inForm(party)}&x=1`)}` }),
  'a form in a form in a form': (party) => ({ value: `a=${inForm(`b=${inForm(`c=${inForm(party)}`)}`)}` }),
  'an XML attribute': (party) => ({ value: `<member id="${inXml(party)}"/>` }),
  'XML with numbers': (party) => ({ value: `<member>${inDigits(party)}</member>` }),
  'XML with hexadecimal numbers': (party) => ({ key: `<member>${inHex(party)}</member>` }),
  'XML in XML': (party) => ({ value: `<x>${inXml(`<y>${inXml(party)}</y>`)}</x>` }),
  CSV: (party) => ({ value: `a;"${party.replaceAll('"', '""')}";b`.replaceAll('""', '"') }),
  'no-break spaces': (party) => ({ value: `member:${party.replaceAll(' ', '\u00a0')}` }),
  NFD: (party) => ({ value: JSON.stringify({ note: `of ${party.normalize('NFD')}` }) }),
  Protobuf: (party) => ({
    value: Buffer.concat([Buffer.from([0x0a]), lengthOf(party, 1), Buffer.from(`${party}\x12\x01x`)]),
  }),
  Avro: (party) => ({ value: Buffer.concat([lengthOf(party, 2), Buffer.from(party), Buffer.from([48])]) }),
  'Avro behind letters': (party) => ({
    value: Buffer.concat([Buffer.from('2x'), lengthOf(party, 2), Buffer.from(`${party}1x`)]),
  }),
  CBOR: (party) => ({
    value: Buffer.concat([Buffer.from([0xa1, 0x61, 120, 0x67]), Buffer.from(`${party}\xf6`)]),
  }),
}

const LOCATORS = [
  'party-1',
  'Jane Doe',
  'M\u00fcller-1',
  'party-\u0160\u{1f600}\u0080',
  'CORP\\nina-7',
  '100%41',
  'a"b\\\\c&amp;<d>',
  'urn:member/1~2@x',
]

t.test('where no map has the party, a locator in any form is listed, and never missed', async (t) => {
  for (const [form, encode] of Object.entries(UNCERTAIN))
    for (const party of LOCATORS) t.equal(mentionIn(encode(party), party), 'longer', `${party} in ${form}`)
  for (const party of ['M\u00fcller-1', 'caf\u00e9'])
    t.equal(mention(Buffer.from(`of ${party}.`, 'latin1'), party), 'longer', `${party} in Latin-1`)
  t.equal(mention('of M%FCller-1', 'M\u00fcller-1'), 'longer')
  t.equal(mention('{"note": "of Jane\\u00a0Doe"}', 'Jane Doe'), 'longer')
  t.equal(mention('<p>Jane&nbsp;Doe</p>', 'Jane Doe'), 'longer')
})

/** Texts in which `party-1` is no whole value. */
const TEXTS: Readonly<Record<string, Mention | null>> = {
  'party-1/2': 'longer',
  'party-1:2': 'longer',
  'party-1~2': 'longer',
  'party-1@b': 'longer',
  'party-1 2': 'longer',
  'b-party-1': 'longer',
  'party-1-2': 'longer',
  'party-1 ': 'longer',
  '"party-1"': 'longer',
  '\u0161party-1': 'longer',
  'party-1e\u0301 and \u201cparty-1\u201d': 'longer',
  'C:\\party-1\\a': 'longer',
  'p=party-1%30': 'longer',
  '\\nparty-1\\n': 'longer',
  'party-10': null,
  'xparty-1': null,
  'party-1x': null,
  '0party-1-2': null,
  'Party-1': null,
}

t.test('a text or a longer name is listed, but for more letters or digits', async (t) => {
  for (const [text, expected] of Object.entries(TEXTS)) {
    t.equal(mention(JSON.stringify({ partyLocator: text })), expected, `party ${text}`)
    t.equal(mention(JSON.stringify({ note: text })), expected, `note ${text}`)
    t.equal(mention(text), expected, text)
    t.equal(mentionIn({ key: text, headers: { [text]: [text] } }, 'party-1'), expected, `key ${text}`)
    t.equal(createSearch('party-1', [maps]).mentionIn(text), expected, text)
  }
  for (const bytes of ['\0party-10', '\u0001xparty-1', '\0party-1B', 'party-10\xff'])
    t.equal(mention(Buffer.from(bytes, 'latin1')), 'longer', 'a letter in bytes may be a length or a tag')
  t.equal(mention('a text of party-10\r\n\tand xparty-1'), null)
  t.equal(mention('{"partyLocator": "\\u0000party-10"}'), null, 'an envelope is text')
  t.equal(mention(''), null)
})

/** Numbers from 0 to below 1, the same in each run. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

t.test("no message of another member is named, and none of the member's is missed", async (t) => {
  const random = createRandom(42)
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  const SEPARATORS = [...' -_.:/~@=&,;|+#%\\"\'<>()[]{}*?!\u00a0\u2013\u00fc']
  const name = () =>
    Array.from({ length: 1 + Math.floor(random() * 8) }, () =>
      random() < 0.25 ? pick(SEPARATORS) : pick([...'ab01']),
    ).join('')
  const digits = () => String(Math.floor(random() * 1_000))
  const asParty = (party: string): Sent => ({ value: JSON.stringify({ partyLocator: party }) })
  const encoders = [asParty, ...Object.values(UNCERTAIN)]
  const faults: string[] = []
  for (let i = 0; i < 2_000; i++) {
    const party = pick([name, digits])()
    const other = pick([
      () => `${party}${pick(SEPARATORS)}${name()}`,
      () => `${name()}${pick(SEPARATORS)}${party}`,
      () => `${pick(SEPARATORS)}${party}${pick(SEPARATORS)}`,
      () => `${party}${digits()}`,
      () => ` ${party}`,
    ])()
    const encode = pick(encoders)
    const amount = Number.isFinite(Number(party)) && party.trim() === party ? party : '1'
    const ofOther = encode(other)
    if (mentionIn(ofOther, party) === 'named')
      faults.push(`${other} is erased with ${party}: ${show(ofOther)}`)
    const beside = { value: JSON.stringify({ partyLocator: other, amount, from: party }) }
    if (mentionIn(beside, party) !== 'longer') faults.push(`${show(beside)} for ${party}`)
    const ofParty = encode(party)
    if (mentionIn(ofParty, party) === null) faults.push(`${party} is missed: ${show(ofParty)}`)
    if (mentionIn(asParty(party), party) !== 'named' && party !== '.') faults.push(`${party} is not erased`)
  }
  t.strictSame(faults.slice(0, 20), [])
})

const show = ({ key, value, headers }: Sent) =>
  JSON.stringify(
    [key, value, headers].map((part) => (Buffer.isBuffer(part) ? part.toString('latin1') : part)),
  )

t.test('a hostile value is searched in time that grows with its size', async (t) => {
  const depth = 200_000
  const nested = `${'{"partyLocator":['.repeat(depth)}1${']}'.repeat(depth)}`
  t.equal(mention(nested, '42'), null)
  for (const part of ['\\\\', '%25', '25', '"', '&amp;', 'amp;', '\0', '\\"'])
    for (const value of [
      `{"x": ${JSON.stringify(part.repeat(20_000))}}`,
      part.repeat(20_000),
      `%${part.repeat(20_000)}`,
    ])
      for (const party of ['42', 'a\\b', '"', ' ', '\\"']) {
        const found = mention(value, party)
        t.not(found, 'named')
      }
})

t.test('a reason names a member by a word, not by a longer name', async (t) => {
  const names = (text: string, party = 'party-1') => new RegExp(wordPattern(party)).test(text)
  for (const text of [
    'party-1',
    'party-1 called',
    '(party-1),',
    'of "party-1".',
    "party-1's son",
    'x\nparty-1',
  ])
    t.equal(names(text), true, text)
  for (const text of [
    'party-1/2',
    'party-1-2',
    'x/party-1',
    'party-1:2',
    'party-1@b',
    'party-10',
    'X-party-1',
  ])
    t.equal(names(text), false, text)
  t.equal(names('42 EUR', '42'), false)
  t.equal(names('42', '42'), true)
})

t.test('the part of a locator that PostgreSQL looks for is in each spelling', async (t) => {
  t.equal(fixedPart('party-1'), 'party-1')
  t.equal(fixedPart('Jane M\u00fcller-1'), 'ller-1')
  t.equal(fixedPart('a"b\\cd'), 'cd')
  t.equal(fixedPart('\u00e9'), '')
  for (const party of ['joe~smith', 'cafe\u0301', 'caf\u00e9', 'a-cafe\u0301\u0323', 'x\u212a-1'])
    for (const spelling of [
      new URLSearchParams({ party }).toString(),
      encodeURIComponent(party),
      party.normalize('NFC'),
      party.normalize('NFD'),
      party,
    ])
      t.ok(spelling.includes(fixedPart(party)), `${party} in ${spelling}`)
})

t.test('values with an envelope are distinguished from those without', async (t) => {
  t.equal(isUnreadable(Buffer.from('{}')), false)
  t.equal(isUnreadable(null), false)
  t.equal(isUnreadable(Buffer.from('')), false)
  for (const text of ['{', '[]', '"a"', 'null']) t.equal(isUnreadable(Buffer.from(text)), true, text)
})

t.test('a locator with backslashes is searched for in the time of any other', async (t) => {
  const deep = `${String.raw`\\\\\\\\\\\\\\\\\"`.repeat(6)}y`
  const runs = `DOMAIN${`${'\\'.repeat(15)}u005c`.repeat(20)}z`
  for (const [party, text] of [
    [String.raw`\"\"\"\"\"\"x`, deep],
    [String.raw`\u\u\u\u\u\ux`, `${`${'\\'.repeat(17)}u0075`.repeat(6)}!`],
    [String.raw`DOMAIN\jdoe`, runs.repeat(2_000)],
    [String.raw`a\b`, `a${'\\u005c'.repeat(50_000)}c`],
  ] as const)
    t.equal(mentionIn({ value: text }, party), null, `${party} in ${text.length} characters`)
  t.equal(mentionIn({ value: String.raw`see DOMAIN\\u005cjdoe` }, String.raw`DOMAIN\jdoe`), 'longer')
})

t.test('a locator is found also if Unicode composes it otherwise', async (t) => {
  for (const party of ['\u{fa19}-g2', '\u212b-1', '\u0958-1'])
    t.equal(mentionIn({ value: `see ${party} now` }, party), 'longer', party)
})
