import type { IHeaders } from 'kafkajs'
import type { QueryResultRow } from 'pg'
import t, { type Test } from 'tap'
import { IDENTIFIER_LENGTH_MAX } from '../../src/core/event/parse-event.ts'
import type { TestMessage } from '../stack/topics.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { onlyRowOf, rowsOf } from './rows.ts'

/** Just under what the broker takes in one message. */
const BYTES_MAX = 1_000_000

const world = await aWorld(t, { partitionCount: 1 })
await world.serve()

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

t.test('nothing but the nesting that is never closed was rejected', async (t) => {
  t.equal((await rowsOf(world, 'rejected_message')).length, 1)
})
