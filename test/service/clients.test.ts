import kafkajs from 'kafkajs'
import t from 'tap'
import { committedOffsets, endOffsets } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { NO_KCAT, NO_PSQL, NO_REAL_BROKER, psql, publishByKcat } from './kcat.ts'
import { rowsOf } from './rows.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'

const world = await aWorld(t, { partitionCount: 1 })
await world.serve()

t.test('what kcat publishes, psql shows with every column right', { skip: NO_KCAT || NO_PSQL }, async (t) => {
  const { eventId, value } = anEvent({ eventType: 'invoice.paid', payload: { locator: 'INV-1' } })
  const headers = ['-H', `traceparent=00-${TRACE_ID}-00f067aa0ba902b7-01`, '-H', 'source=kcat']
  await publishByKcat(world.brokers, world.topics.billing, [value], ['-k', 'party-1', ...headers])
  await world.caughtUp()
  const log = await psql(
    world.databaseUrl,
    `SELECT
       locator ~ '^NTF-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', event_id, party_locator, event_type, channel,
       status, subject, replace(body, E'\\n', '|'), failure_reason IS NULL, attempt_count,
       now() - sent_at BETWEEN interval '0' AND interval '1 minute', created_at = sent_at, last_attempt_at = sent_at
     FROM notifications.notification_log`,
  )
  const body = 'Hello,||Thank you: your invoice (reference INV-1) is paid. You need not do anything more.'
  const text = ['Your invoice is paid', body]
  const sent = [eventId, 'party-1', 'invoice.paid', 'EMAIL', 'SENT']
  t.strictSame(log, [['t', ...sent, ...text, 't', '1', 't', 't', 't']])
  const decision = await psql(
    world.databaseUrl,
    `SELECT event_id, outcome, rule_id, receipt <> '', topic, partition_id, "offset", trace_id FROM notifications.decision`,
  )
  const place = [world.topics.billing, '0', '0', TRACE_ID]
  t.strictSame(decision, [[eventId, 'SEND', 'email', 't', ...place]])
})

t.test('a header may come without a value, and more than once', { skip: NO_KCAT }, async (t) => {
  const { eventId, value } = anEvent()
  const headers = ['-H', 'traceparent', '-H', 'twice', '-H', 'twice=', '-H', 'twice=2']
  await publishByKcat(world.brokers, world.topics.enrollment, ['no event', value], headers)
  await world.caughtUp()
  const [rejected] = await rowsOf(world, 'rejected_message')
  t.strictSame(rejected?.headers, { traceparent: [null], twice: [null, '', 'Mg=='] })
  t.ok((await rowsOf(world, 'notification_log')).some((row) => row.event_id === eventId))
})

t.test('of transactions only what was committed is logged', { skip: NO_REAL_BROKER }, async (t) => {
  const kafka = new kafkajs.Kafka({ brokers: world.brokers.split(','), logLevel: kafkajs.logLevel.NOTHING })
  const producer = kafka.producer({
    transactionalId: world.groupId,
    maxInFlightRequests: 1,
    idempotent: true,
    allowAutoTopicCreation: false,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  })
  await producer.connect()
  t.teardown(() => producer.disconnect())
  let end = 0
  async function publish(ending: 'commit' | 'abort', count: number): Promise<string[]> {
    const events = Array.from({ length: count }, () => anEvent())
    const transaction = await producer.transaction()
    await transaction.send({ topic: world.topics.claims, messages: events.map(({ value }) => ({ value })) })
    await transaction[ending]()
    // The coordinator answers before it writes the record that ends the transaction.
    end += count + 1
    await until(async () => (await endOffsets(world.brokers, world.topics.claims))[0] === end, {
      what: 'the transaction to be ended in the partition',
    })
    return events.map(({ eventId }) => eventId)
  }
  const before = (await rowsOf(world, 'notification_log')).map((row) => row.event_id)
  const committed = [
    ...(await publish('commit', 3)),
    ...(await publish('abort', 3).then(() => [])),
    ...(await publish('commit', 1)),
    ...(await publish('abort', 5)
      .then(() => publish('abort', 5))
      .then(() => [])),
    ...(await publish('commit', 2)),
  ]
  // Past the records that end a transaction, too: the last of them is the partition's last.
  await world.caughtUp()
  const rows = (await rowsOf(world, 'notification_log')).map((row) => row.event_id)
  t.strictSame(rows.toSorted(), [...before, ...committed].toSorted())

  await publish('abort', 4)
  await world.caughtUp()
  await until(
    async () => (await committedOffsets(world.brokers, world.groupId, world.topics.claims))[0] === end,
    { what: "the group's offset to be the end of the partition too" },
  )
  const last = anEvent()
  await world.publish([last])
  await world.caughtUp()
  t.equal((await rowsOf(world, 'notification_log')).length, rows.length + 1)
})
