import t from 'tap'
import { loadEnvelopeMaps, mapOf, sourceText } from '../../../../src/service/decide/event/envelope-map.ts'
import { parseEvent, VALUE_BYTES_MAX } from '../../../../src/service/decide/event/parse-event.ts'
import type { RejectionCode } from '../../../../src/service/decide/event/rejection.ts'
import { STATED_FACT_LIST } from '../../../../src/service/decide/event/stated-facts.ts'

const OWN_FORM = { partyLocator: '/partyLocator', locator: '/payload/locator', reason: '/payload/reason' }
const load = (map: object) => loadEnvelopeMaps(JSON.stringify(map)).byDefault
const map = load(OWN_FORM)
const parse = (value: string | Uint8Array | null, headers = {}, by = map) =>
  parseEvent(
    { offset: 0n, key: null, value: typeof value === 'string' ? Buffer.from(value) : value, headers },
    by,
  )
const event = (envelope: object, headers = {}) => {
  const parsed = parse(JSON.stringify({ eventId: 'e', eventType: 'claim.paid', ...envelope }), headers)
  if (parsed.kind !== 'event') throw new Error(JSON.stringify(parsed))
  return parsed.event
}

t.test('a message that is not an event is rejected with a reason', async (t) => {
  const cases: [value: string | Uint8Array, code: string, error: string][] = [
    ['', 'empty', 'the value is empty'],
    [Buffer.from([0x01, 0x9f, 0x92]), 'not-utf8', 'the value is not valid UTF-8'],
    ['hello', 'not-json', 'the value is not valid JSON'],
    ['[]', 'not-object', 'the value is JSON, but not an object'],
    ['{"eventType":"b"}', 'event-id', 'eventId is missing'],
    ['{"eventId":null}', 'event-id', 'eventId is not a string or number but null'],
    ['{"eventId":""}', 'event-id', 'eventId is empty'],
    ['{"eventId":"a\\u0000"}', 'event-id', 'eventId contains NUL'],
    ['{"eventId":"\\ud800"}', 'event-id', 'eventId contains a lone surrogate'],
    [`{"eventId":"${'x'.repeat(10_000)}"}`, 'event-id', 'eventId has 10000 characters, more than 255'],
    ['{"eventId":"a"}', 'event-type', 'eventType is missing'],
    ['{"eventId":"a","eventType":"\\u0000"}', 'event-type', 'eventType contains NUL'],
  ]
  for (const [value, code, error] of cases)
    t.strictSame(parse(value), { kind: 'rejection', rejection: { code, error } }, error)
})

t.test('an event is read by the envelope map', async (t) => {
  t.strictSame(event({ partyLocator: 'p', payload: { locator: 'CLM-1', reason: 'late' } }), {
    eventId: 'e',
    eventType: 'claim.paid',
    partyLocator: 'p',
    stated: {},
    reference: 'CLM-1',
    reason: 'late',
    traceId: null,
  })
})

t.test('identifiers may have 255 characters', async (t) => {
  const id = '😀'.repeat(127)
  t.equal(event({ eventId: id }).eventId, id)
  t.equal(event({ partyLocator: 'x'.repeat(255) }).partyLocator, 'x'.repeat(255))
})

t.test('an event without a locator uses its party locator', async (t) => {
  t.equal(event({ partyLocator: 'p' }).reference, 'p')
  t.equal(event({ partyLocator: 'p', payload: { locator: '' } }).reference, 'p')
  t.equal(event({ partyLocator: 'p', payload: { locator: {} } }).reference, 'p')
  t.equal(event({ partyLocator: 'p', payload: { locator: 4711 } }).reference, '4711')
})

t.test('a numeric identifier is read as its digits', async (t) => {
  const digits = '12345678901234567890'
  t.match(parse(`{"eventId":${digits},"eventType":7,"partyLocator":${digits}}`), {
    event: { eventId: digits, eventType: '7', partyLocator: digits, stated: {} },
  })
})

t.test('a numeric identifier in JSON too deep to read digits is refused', async (t) => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  t.match(parse(`{"eventId":1,"eventType":"b","payload":${deep}}`), {
    rejection: { code: 'event-id', error: 'eventId is a number in JSON of too many levels' },
  })
  t.match(parse(`{"eventId":"a","eventType":"b","partyLocator":1,"payload":${deep}}`), {
    event: { partyLocator: null, stated: { invalidLocator: true } },
  })
})

t.test('a message without a value is a tombstone, and Confluent’s framing is named', async (t) => {
  t.strictSame(parse(null), { kind: 'tombstone' })
  const framed = Buffer.concat([Buffer.from([0, 0, 0, 0, 1]), Buffer.from('{"eventId":"a","eventType":"b"}')])
  t.match(parse(framed), { rejection: { code: 'not-json', error: /set "value": "confluent-json"/ } })
  const confluent = load({ ...OWN_FORM, value: 'confluent-json' })
  t.match(parse('{"eventId":"a"}', {}, confluent), {
    rejection: { code: 'not-json', error: /it does not begin with the magic byte 0 of Confluent's framing$/ },
  })
  t.match(parse(Buffer.from([0, 0, 0, 0, 1, 2, 97]), {}, confluent), {
    rejection: {
      code: 'not-json',
      error: /after the five bytes of .*: Avro and Protobuf are not supported$/,
    },
  })
})

t.test('a number appears in the text with the digits that were sent', async (t) => {
  for (const digits of ['12345678901234567890', '1.10', '1E400', '-0', '0.1e-7', '4711']) {
    const parsed = parse(
      `{"eventId":"a","eventType":"b","payload":{"locator":1,"locator" : ${digits} ,"reason":${digits}}}`,
    )
    t.match(parsed, { event: { reference: digits, reason: digits } }, digits)
  }
})

t.test('an event without a party, or with an impossible one, is still an event', async (t) => {
  for (const partyLocator of [undefined, null]) {
    t.match(event({ partyLocator }), { partyLocator: null, stated: { invalidLocator: undefined } })
  }
  for (const partyLocator of ['', '.', '..', 'x'.repeat(256), 'a\0', '\ud800', true, {}, ['p']]) {
    t.match(
      event({ partyLocator }),
      { partyLocator: null, stated: { invalidLocator: true } },
      JSON.stringify(partyLocator),
    )
  }
})

t.test('a field is read from the first of its places that has a value', async (t) => {
  const by = load({ ...OWN_FORM, eventId: ['/id', 'header:id', '/no'], partyLocator: ['header:p', '/p'] })
  const cases: [value: object, headers: Record<string, string>, match: object][] = [
    [{ id: 'a', no: 1 }, { id: 'b' }, { event: { eventId: 'a' } }],
    [{ id: null, no: 1.5 }, { id: 'b' }, { event: { eventId: 'b' } }],
    [{ id: null, no: 1.5, p: 'x' }, {}, { event: { eventId: '1.5', partyLocator: 'x' } }],
    [{ id: '', no: 1 }, {}, { rejection: { error: 'eventId (/id or header:id or /no) is empty' } }],
    [{}, {}, { rejection: { error: 'eventId (/id or header:id or /no) is missing' } }],
    [{ no: null }, {}, { rejection: { error: /is not a string or number but null$/ } }],
  ]
  for (const [value, headers, match] of cases) {
    const bytes = Object.fromEntries(
      Object.entries(headers).map(([name, text]) => [name, [Buffer.from(text)]]),
    )
    t.match(parse(JSON.stringify({ eventType: 't', ...value }), bytes, by), match, JSON.stringify(value))
  }
})

t.test('a header that is not UTF-8 is not treated as missing', async (t) => {
  const place = 'header:x'
  const of = (field: string) => load({ ...OWN_FORM, [field]: place })
  const message = {
    offset: 0n,
    key: null,
    value: Buffer.from('{"eventId":"a","eventType":"b"}'),
    headers: { x: [Buffer.from([0xff])] },
  }
  t.match(parseEvent(message, of('eventId')), {
    rejection: { error: 'eventId (header:x) is not valid UTF-8' },
  })
  t.match(parseEvent(message, of('partyLocator')), { event: { stated: { invalidLocator: true } } })
})

t.test('NUL and lone surrogates in text to be inserted become U+FFFD', async (t) => {
  t.match(event({ partyLocator: 'p', payload: { locator: 'a\0b', reason: '\udc00!' } }), {
    reference: 'a\uFFFDb',
    reason: '\uFFFD!',
  })
})

t.test('every form of envelope that JSON allows is an event', async (t) => {
  const plain = '"eventId":"a","eventType":"b","partyLocator":"p"'
  const cases: [name: string, value: string, locator: string][] = [
    ['byte order mark', `\ufeff{${plain},"payload":{"locator":"CLM-1"}}`, 'CLM-1'],
    ['white space', `\r\n\t {${plain},"payload":{"locator":"CLM-1"}} \n`, 'CLM-1'],
    ['the last of equal keys', `{"eventId":"first",${plain}}`, 'p'],
    ['payload null', `{${plain},"payload":null}`, 'p'],
    ['payload a list', `{${plain},"payload":["CLM-1"]}`, 'p'],
    ['inherited', `{${plain},"payload":{"__proto__":{"locator":"polluted"}}}`, 'p'],
  ]
  for (const [name, value, locator] of cases)
    t.match(parse(value), { event: { eventId: 'a', reference: locator } }, name)
  t.equal(Object.keys({}).length, 0)
})

t.test('nesting of 100,000 levels beside the identifiers is an event', async (t) => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  t.equal(parse(`{"eventId":"a","eventType":"b","payload":${deep}}`).kind, 'event')
  t.match(
    parse(`{"eventId":"a","eventType":"b","payload":{"x":${deep},"locator":110}}`),
    { event: { reference: '110' } },
    'beside a number to be inserted, too',
  )
})

t.test('the trace id is taken from a valid traceparent header only', async (t) => {
  const id = '4bf92f3577b34da6a3ce929d0e0e4736'
  const header = (value: string) => ({ traceparent: [Buffer.from(value)] })
  t.equal(event({}, header(`00-${id}-00f067aa0ba902b7-01`)).traceId, id)
  t.equal(event({}, header(`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`)).traceId, null)
  t.equal(event({}, header('garbage')).traceId, null)
  t.equal(event({}, {}).traceId, null)
})

interface Format {
  readonly name: string
  readonly map: Readonly<Record<string, string>>
  readonly message: (eventId: string) => {
    readonly value: string | Buffer
    readonly headers?: Readonly<Record<string, string>>
  }
}

const PAYLOAD = { member: 'party-7', claim: 'CLM-1', why: 'late' }
const FIELDS = { partyLocator: '/member', locator: '/claim', reason: '/why' }
const IN_DATA = { partyLocator: '/data/member', locator: '/data/claim', reason: '/data/why' }
const OUTBOX = { eventId: 'header:id', eventType: 'header:eventType' }

/** The formats of consume/README.md: envelope map, and a message of claim.paid of party-7 for CLM-1, because it is late. */
const FORMATS: readonly Format[] = [
  {
    name: 'CloudEvents, structured',
    map: { eventId: '/id', eventType: '/type', ...IN_DATA },
    message: (id) => ({
      value: JSON.stringify({ specversion: '1.0', id, type: 'claim.paid', source: '/claims', data: PAYLOAD }),
    }),
  },
  {
    name: 'CloudEvents, binary',
    map: { eventId: 'header:ce_id', eventType: 'header:ce_type', ...FIELDS },
    message: (id) => ({
      headers: { ce_specversion: '1.0', ce_id: id, ce_type: 'claim.paid', ce_source: '/claims' },
      value: JSON.stringify(PAYLOAD),
    }),
  },
  {
    name: 'Debezium outbox, raw',
    map: { ...OUTBOX, ...FIELDS, value: 'json-in-string' },
    message: (id) => ({
      headers: { id, eventType: 'claim.paid' },
      value: JSON.stringify(JSON.stringify(PAYLOAD)),
    }),
  },
  {
    name: 'Debezium outbox, flattened',
    map: { ...OUTBOX, ...FIELDS },
    message: (id) => ({ headers: { id, eventType: 'claim.paid' }, value: JSON.stringify(PAYLOAD) }),
  },
  {
    name: 'Confluent JSON Schema',
    map: { eventId: '/id', eventType: '/type', ...FIELDS, value: 'confluent-json' },
    message: (id) => ({
      value: Buffer.concat([
        Buffer.from([0, 0, 0, 0, 42]),
        Buffer.from(JSON.stringify({ id, type: 'claim.paid', ...PAYLOAD })),
      ]),
    }),
  },
]

/** Each format is one topic's. */
const ALL_FORMATS = loadEnvelopeMaps(
  JSON.stringify({ ...OWN_FORM, topics: Object.fromEntries(FORMATS.map(({ name, map }) => [name, map])) }),
)

for (const { name, message } of FORMATS) {
  t.test(`${name}: the event has the right party and claim, and a tombstone is ignored`, async (t) => {
    const { value, headers = {} } = message('e-1')
    const bytesOf = ([key, text]: [string, unknown]) => [key, [Buffer.from(String(text))]]
    const received = Object.fromEntries(Object.entries(headers).map(bytesOf))
    const parseFormat = (found: typeof value | null) => parse(found, received, mapOf(ALL_FORMATS, name))
    t.match(parseFormat(value), {
      kind: 'event',
      event: {
        ...{ eventId: 'e-1', eventType: 'claim.paid', partyLocator: 'party-7' },
        ...{ reference: 'CLM-1', reason: 'late' },
      },
    })
    t.match(parseFormat(null), { kind: 'tombstone' })
  })
}

/** The text between blanks, unchanged. */
const words = ({ raw }: TemplateStringsArray) => raw.join('').trim().split(/\s+/)
const around = (payload: Buffer | string) =>
  Buffer.concat([
    Buffer.from('{"eventId":"e","eventType":"x","payload":'),
    Buffer.from(payload),
    Buffer.from('}'),
  ])

/** After the cases that a parser must refuse in nst/JSONTestSuite. */
const NO_JSON = [
  ...words`
    +1 - -01 -1.0. .2e-3 1e 1.0e+ 0x1 Infinity NaN 1_000 1n
    [ [1 [1,] [,1] [1,,2] [1:2] [1]x [1} { {"a" {"a":1 {"a":1,} {,"a":1} {"a"::1} {'a':1} {a:1} {1:1}
    {"a":1}x {"a":1}/**/ {"a":1}// {"a":1;"b":2} {}{} " 'a' "\" "\u" "\u00g0" "\x00" "\'" "a"b
    nul True undefined <a/> --- key=value # *
  `,
  ...['1 000.0', '{"a":1 "b":2}', '"\u0009"', '"\u0000"', '\u201ca\u201d', '\u00a0', '\u200b', '1\u0000'],
]
const NO_UTF8: readonly (readonly number[])[] = [
  [0x80], // A lone continuation byte.
  [0xc3, 0x28], // A lead byte before ASCII.
  [0xe2, 0x82], // Two of three bytes.
  [0xc0, 0xaf], // An overlong slash.
  [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80], // A pair of surrogates (CESU-8).
  [0xf4, 0x90, 0x80, 0x80], // Beyond U+10FFFF.
  [0xff],
  [0x93, 0x61, 0x94], // Windows-1252.
]
// biome-ignore format: a list
const NO_IDENTIFIERS = [
  'null', 'true', '["a"]', '{"id":"a"}', '""', JSON.stringify('x'.repeat(256)), JSON.stringify('\u{1f600}'.repeat(128)),
  '"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"\\udc00"', '"\\udc00\\ud800"',
]
const UTF_16 = Buffer.from('{"eventId":"a"}', 'utf16le')
const MALFORMED: Readonly<Partial<Record<RejectionCode, readonly (string | Buffer)[]>>> = {
  empty: [''],
  'not-utf8': [
    ...NO_UTF8.flatMap((bytes) => [Buffer.from(bytes), around(Buffer.from([0x22, ...bytes, 0x22]))]),
    Buffer.concat([Buffer.from([0xff, 0xfe]), UTF_16]),
    Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0x00]), // gzip
  ],
  'not-json': [
    ...NO_JSON.flatMap((text) => [text, around(text)]),
    ...[' \t\r\n', '\ufeff', '\ufeff\ufeff{}', '['.repeat(500_000), '{"a":'.repeat(100_000)],
    ...[UTF_16, Buffer.from([0, 0, 0, 0, 7, 2, 97]), Buffer.from([0x0a, 0x03, 0x61, 0x62, 0x63])],
  ],
  'not-object': [...words`null true 0 -0 1e999 "" "event" [] [{}] [[[]]]`, '\ufeff1'],
  'event-id': [
    ...NO_IDENTIFIERS.map((json) => `{"eventId":${json},"eventType":"x"}`),
    '{}',
    '{"__proto__":{"eventId":"a","eventType":"b"}}',
    '{"event":{"eventId":"a","eventType":"b"}}',
    '{"eventid":"a","EventType":"b"}',
    '{"eventId ":"a"," eventType":"b"}',
    '{"eventId":"a","eventType":"b","eventId":null}',
  ],
  'event-type': ['{"eventId":"a"}', ...NO_IDENTIFIERS.map((json) => `{"eventId":"a","eventType":${json}}`)],
}

t.test('malformed messages are rejected with their code', async (t) => {
  for (const [code, values] of Object.entries(MALFORMED))
    for (const value of values)
      t.match(parse(value), { rejection: { code } }, JSON.stringify(value.toString('latin1')).slice(0, 80))
})

t.test('a value of 16 MiB is an event, a larger one is not', async (t) => {
  const value = Buffer.alloc(VALUE_BYTES_MAX + 1, ' ')
  value.write('{"eventId":"a","eventType":"b"}')
  t.strictSame(parse(value), {
    kind: 'rejection',
    rejection: { code: 'too-large', error: 'the value has 16777217 bytes, more than 16777216' },
  })
  t.equal(parse(value.subarray(0, VALUE_BYTES_MAX)).kind, 'event')
})

t.test('a fact is stated by a value that is known, in its place', async (t) => {
  for (const [key, { values, place, usual }] of STATED_FACT_LIST) {
    t.equal(sourceText(map[key]), place)
    const moved = load({ ...OWN_FORM, [key]: '/elsewhere' })
    const stated = (elsewhere: unknown) => {
      const parsed = parse(JSON.stringify({ eventId: 'e', eventType: 'claim.paid', elsewhere }), {}, moved)
      return parsed.kind === 'event' && parsed.event.stated
    }
    for (const value of values) t.strictSame(stated(value), { [key]: value })
    for (const value of [undefined, null, 'of no version', 7, {}]) t.strictSame(stated(value), {})
    t.ok(values.includes(usual))
  }
})
