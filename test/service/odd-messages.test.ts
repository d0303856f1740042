import type { IHeaders } from 'kafkajs'
import type { QueryResultRow } from 'pg'
import t, { type Test } from 'tap'
import { IDENTIFIER_LENGTH_MAX } from '../../src/core/event/parse-event.ts'
import type { TestMessage } from '../stack/topics.ts'
import { anEvent, createWorld } from '../stack/world.ts'
import { onlyRowOf, rowsOf } from './rows.ts'

/** Just under what the broker takes in one message. */
const BYTES_MAX = 1_000_000

const world = await createWorld({ partitionCount: 1 })
t.teardown(() => world.close())
await world.serve()

const json = (value: unknown) => JSON.stringify(value)
const withId = (eventId: unknown) => json({ eventId, eventType: 'claim.paid', partyLocator: 'party-1' })
const withType = (eventType: unknown) => json({ eventId: 'id', eventType, partyLocator: 'party-1' })
const bytes = (...values: number[]) => Buffer.from(values)

/** Messages that are no event, and what is to be said of them. */
const NO_EVENTS: [title: string, value: string | Buffer | null, code: string, error: string][] = [
  ['empty', '', 'empty', 'the message has no value'],
  ['tombstone', null, 'empty', 'the message has no value'],
  [
    'binary',
    Buffer.from(Uint8Array.from({ length: 256 }, (_, i) => i)),
    'not-utf8',
    'the value is not valid UTF-8',
  ],
  [
    'invalid UTF-8',
    Buffer.concat([Buffer.from('{"eventId":"'), bytes(0xff), Buffer.from('"}')]),
    'not-utf8',
    'the value is not valid UTF-8',
  ],
  [
    'a surrogate in UTF-8',
    Buffer.concat([Buffer.from('"'), bytes(0xed, 0xa0, 0x80), Buffer.from('"')]),
    'not-utf8',
    'the value is not valid UTF-8',
  ],
  ['UTF-16', Buffer.from(`\ufeff${anEvent().value}`, 'utf16le'), 'not-utf8', 'the value is not valid UTF-8'],
  ['blank', ' \n', 'not-json', 'the value is not valid JSON'],
  ['a lone BOM', '\ufeff', 'not-json', 'the value is not valid JSON'],
  ['plain text', 'hello', 'not-json', 'the value is not valid JSON'],
  ['cut short', anEvent().value.slice(0, -1), 'not-json', 'the value is not valid JSON'],
  ['trailing garbage', `${anEvent().value}x`, 'not-json', 'the value is not valid JSON'],
  ['two events', anEvent().value + anEvent().value, 'not-json', 'the value is not valid JSON'],
  ['list', '[]', 'not-object', 'the value is JSON, but not an object'],
  ['list of an event', `[${anEvent().value}]`, 'not-object', 'the value is JSON, but not an object'],
  ['null', 'null', 'not-object', 'the value is JSON, but not an object'],
  ['string', '"event"', 'not-object', 'the value is JSON, but not an object'],
  ['no id', '{"eventType":"claim.paid"}', 'event-id', 'eventId is missing'],
  [
    'an inherited id',
    '{"__proto__":{"eventId":"id","eventType":"claim.paid"}}',
    'event-id',
    'eventId is missing',
  ],
  ['null as id', withId(null), 'event-id', 'eventId is not a string but null'],
  ['a number as id', withId(42), 'event-id', 'eventId is not a string but of type number'],
  ['an object as id', withId({ id: '1' }), 'event-id', 'eventId is not a string but of type object'],
  ['an empty id', withId(''), 'event-id', 'eventId is empty'],
  [
    'an id too long by one',
    withId('i'.repeat(IDENTIFIER_LENGTH_MAX + 1)),
    'event-id',
    'eventId has 256 characters, more than 255',
  ],
  [
    'an id of 10,000 characters',
    withId('i'.repeat(10_000)),
    'event-id',
    'eventId has 10000 characters, more than 255',
  ],
  ['NUL in the id', withId('a\0b'), 'event-id', 'eventId contains NUL'],
  ['a lone surrogate in the id', withId('\ud800'), 'event-id', 'eventId contains a lone surrogate'],
  ['no type', '{"eventId":"id"}', 'event-type', 'eventType is missing'],
  ['a number as type', withType(42), 'event-type', 'eventType is not a string but of type number'],
  ['an empty type', withType(''), 'event-type', 'eventType is empty'],
  [
    'a type of 10,000 characters',
    withType('t'.repeat(10_000)),
    'event-type',
    'eventType has 10000 characters, more than 255',
  ],
  ['NUL in the type', withType('a\0b'), 'event-type', 'eventType contains NUL'],
  ['a lone surrogate in the type', withType('\udfff'), 'event-type', 'eventType contains a lone surrogate'],
]

const byOffset = (rows: QueryResultRow[]) => new Map(rows.map((row) => [Number(row.offset), row]))
const bufferOf = (value: string | Buffer | null) => (typeof value === 'string' ? Buffer.from(value) : value)
const base64 = (text: string) => Buffer.from(text).toString('base64')

t.test(
  'a message that is no event is kept whole with its reason, and its neighbours are logged',
  async (t) => {
    const neighbours = NO_EVENTS.map(() => anEvent())
    const key = (i: number) => (i % 2 === 0 ? null : bytes(0, 0xff, i))
    const headers = { source: 'test', twice: ['1', '2'], binary: bytes(0xff, 0), valueOf: 'x' }
    const topic = 'billing'
    await world.publish(
      NO_EVENTS.flatMap(([, value], i) => [
        { topic, partition: 0, value: neighbours[i]?.value ?? null },
        { topic, partition: 0, value, key: key(i), headers },
      ]),
    )
    await world.caughtUp()

    const rejected = byOffset(await rowsOf(world, 'rejected_message'))
    t.equal(rejected.size, NO_EVENTS.length)
    for (const [i, [title, value, code, error]] of NO_EVENTS.entries()) {
      const offset = 2 * i + 1
      const row = rejected.get(offset)
      t.ok(row, title)
      t.equal(row?.topic, world.topics.billing, title)
      t.equal(row?.partition_id, 0, title)
      t.equal(row?.code, code, title)
      t.equal(row?.error, error, title)
      t.strictSame(row?.key, key(i), title)
      t.strictSame(row?.value, bufferOf(value), title)
      t.strictSame(
        row?.headers,
        {
          source: [base64('test')],
          twice: [base64('1'), base64('2')],
          binary: ['/wA='],
          valueOf: [base64('x')],
        },
        title,
      )
    }
    const decisions = await rowsOf(world, 'decision')
    t.equal(decisions.length, NO_EVENTS.length)
    for (const [i, event] of neighbours.entries()) t.equal(onlyRowOf(decisions, event).offset, String(2 * i))
  },
)

/** Publishes messages that are events, and hands back their rows in the same order. */
async function logged(
  t: Test,
  messages: Omit<TestMessage, 'topic'>[],
  ids: string[],
): Promise<QueryResultRow[]> {
  // One by one: together the large ones are more than the broker takes in one batch.
  for (const message of messages) await world.publish([message])
  await world.caughtUp()
  const rows = await rowsOf(world, 'notification_log')
  return ids.map((eventId) => {
    const row = onlyRowOf(rows, { eventId })
    t.equal(row.status, 'SENT')
    return row
  })
}

t.test('big events are logged', async (t) => {
  const text = 'x'.repeat(900_000)
  const events = [
    anEvent({ payload: { locator: 'CLM-1', notes: text } }),
    anEvent({ eventType: 'claim.rejected', payload: { locator: 'CLM-1', reason: text } }),
    anEvent({ payload: { locator: text } }),
    anEvent(Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`unknown field ${i}`, i]))),
  ]
  const [, reason, locator] = await logged(
    t,
    events,
    events.map(({ eventId }) => eventId),
  )
  t.ok(reason?.body.includes(`This is why: ${text}\n`))
  t.ok(locator?.body.includes(`(reference ${text})`))
})

/** The value of an event around a payload that JSON.stringify could not write. */
const around = (eventId: string, payload: string) =>
  `{"eventId":"${eventId}","eventType":"claim.paid","partyLocator":"party-1","payload":${payload}}`
const nested = (open: string, close: string, depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`

t.test(
  'events nested as deep as a message can be are logged: nothing within 1 MB breaks the parser',
  async (t) => {
    const values = [
      around('nested 1000', nested('[', ']', 1_000)),
      around('nested lists', nested('[', ']', BYTES_MAX / 2 - 100)),
      around('nested objects', nested('{"a":', '}', Math.floor(BYTES_MAX / 6) - 100)),
    ]
    t.ok(values.every((value) => value.length < BYTES_MAX))
    await logged(
      t,
      values.map((value) => ({ value })),
      ['nested 1000', 'nested lists', 'nested objects'],
    )
  },
)

t.test('nesting that is never closed is no JSON', async (t) => {
  await world.publish([{ topic: 'enrollment', partition: 0, value: '['.repeat(BYTES_MAX) }])
  await world.publish([{ topic: 'enrollment', value: anEvent().value }])
  await world.caughtUp()
  const rejected = await rowsOf(world, 'rejected_message')
  const [row] = rejected.filter(({ topic }) => topic === world.topics.enrollment)
  t.equal(row?.code, 'not-json')
  t.equal(row?.value.length, BYTES_MAX)
})

t.test('text that PostgreSQL cannot hold is replaced, and only that', async (t) => {
  const event = anEvent({
    eventType: 'claim.rejected',
    payload: {
      locator: 'CLM\0-\ud800-1',
      reason: '\udc00 <why> \0 \ud83d\ude00',
      other: '\0\ud800',
      '\0': 1,
    },
  })
  const [row] = await logged(t, [event], [event.eventId])
  t.match(row?.body, '(reference CLM\ufffd-\ufffd-1)')
  t.match(row?.body, 'This is why: \ufffd <why> \ufffd \ud83d\ude00\n')
})

t.test('odd but valid events are logged', async (t) => {
  const longest = '\u4e2d'.repeat(IDENTIFIER_LENGTH_MAX)
  const values: [id: string, value: string, inBody: string][] = [
    ['bom', `\ufeff${anEvent({ eventId: 'bom' }).value}`, 'CLM-1'],
    ['spaces', `\r\n\t ${anEvent({ eventId: 'spaces' }).value} \n`, 'CLM-1'],
    [
      'last',
      '{"eventId":"first","eventType":"claim.paid","partyLocator":"party-1","eventId":"last"}',
      'party-1',
    ],
    ['number', anEvent({ eventId: 'number', payload: { locator: 4711 } }).value, 'reference 4711'],
    ['no payload', anEvent({ eventId: 'no payload', payload: null }).value, 'party-1'],
    ['a list', anEvent({ eventId: 'a list', payload: ['CLM-1'] }).value, 'party-1'],
    ['an object', anEvent({ eventId: 'an object', payload: { locator: { id: 1 } } }).value, 'party-1'],
    ['inherited', around('inherited', '{"__proto__":{"locator":"polluted"}}'), 'party-1'],
    [
      longest,
      anEvent({ eventId: longest, eventType: longest, partyLocator: `party-${longest}`.slice(0, 255) }).value,
      longest,
    ],
    [
      "'; DROP TABLE x; --",
      anEvent({ eventId: "'; DROP TABLE x; --", eventType: "a'\\\n{}," }).value,
      "a'\\\n{},",
    ],
  ]
  const rows = await logged(
    t,
    values.map(([, value]) => ({ value })),
    values.map(([id]) => id),
  )
  for (const [i, [id, , inBody]] of values.entries()) t.ok(rows[i]?.body.includes(inBody), id)
  t.equal(Object.keys({}).length, 0)
})

t.test('a bad trace header or an odd header name is no reason to reject', async (t) => {
  const headers: IHeaders[] = [
    { traceparent: '' },
    { traceparent: 'x'.repeat(10_000) },
    { traceparent: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01` },
    JSON.parse('{"__proto__":"x","constructor":"x","toString":["x","y"],"":"x","a\\u0000b":"x"}'),
  ]
  const events = headers.map(() => anEvent())
  await logged(
    t,
    events.map(({ value }, i) => ({ value, headers: headers[i] ?? {} })),
    events.map(({ eventId }) => eventId),
  )
  const decisions = await rowsOf(world, 'decision')
  for (const event of events) t.equal(onlyRowOf(decisions, event).trace_id, null)
})

t.test('nothing but what is no event was rejected', async (t) => {
  t.equal((await rowsOf(world, 'rejected_message')).length, NO_EVENTS.length + 1)
})
