import type { QueryResultRow } from 'pg'
import t, { type Test } from 'tap'
import { IDENTIFIER_LENGTH_MAX } from '../../src/core/event/parse-event.ts'
import type { TestMessage } from '../stack/topics.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { onlyRowOf, rowsOf } from './rows.ts'

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
