import kafkajs from 'kafkajs'
import t from 'tap'
import { anEvent, aWorld } from '../stack/world.ts'
import { NO_KCAT, NO_PSQL, psql, publishByKcat } from './kcat.ts'
import { rowsOf } from './rows.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'

const { None, GZIP, Snappy, LZ4, ZSTD } = kafkajs.CompressionTypes
const CODECS = { none: None, gzip: GZIP, snappy: Snappy, lz4: LZ4, zstd: ZSTD }
const COUNT = 100

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

t.test('a header may have no value, and may be repeated', { skip: NO_KCAT }, async (t) => {
  const { eventId, value } = anEvent()
  const headers = ['-H', 'traceparent', '-H', 'twice', '-H', 'twice=', '-H', 'twice=2']
  await publishByKcat(world.brokers, world.topics.enrollment, ['no event', value], headers)
  await world.caughtUp()
  const [rejected] = await rowsOf(world, 'rejected_message')
  t.strictSame(rejected?.headers, { traceparent: [null], twice: [null, '', 'Mg=='] })
  t.ok((await rowsOf(world, 'notification_log')).some((row) => row.event_id === eventId))
})

t.test('batches of all codecs from two Kafka clients are read', async (t) => {
  const makes = NO_KCAT === false ? ['kcat', 'kafkajs'] : ['kafkajs']
  const events = Object.entries(CODECS).flatMap(([codec, compression]) =>
    makes.map((make) => ({
      make,
      codec,
      compression,
      events: compressible(`${make}-${codec}`),
    })),
  )
  for (const { make, codec, compression, events: some } of events) {
    const values = some.map(({ value }) => value)
    if (make === 'kcat') await publishByKcat(world.brokers, world.topics.claims, values, ['-z', codec])
    else
      await world.publish(
        values.map((value) => ({ value })),
        { compression },
      )
  }
  await world.caughtUp()
  const bodies = new Map(
    (await rowsOf(world, 'notification_log')).map((row) => [row.event_id, row.body ?? '']),
  )
  const wrong = events
    .flatMap((batch) => batch.events)
    .filter(({ eventId, payload: { locator, reason } }) => {
      const body = bodies.get(eventId) ?? ''
      return !body.includes(`(reference ${locator})`) || !body.includes(`This is why: ${reason}\n`)
    })
  t.strictSame(wrong, [])
})

/** Events that are worth compressing, each told apart by its reason. */
function compressible(name: string) {
  return Array.from({ length: COUNT }, (_, i) => {
    const reason = `${name} ${i}`
    const payload = { locator: `CLM-${name}-${i}`, reason, notes: 'compress me '.repeat(100) }
    return { ...anEvent({ eventType: 'claim.rejected', payload }), payload }
  })
}
