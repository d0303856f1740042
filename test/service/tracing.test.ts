import t from 'tap'
import { until } from '../stack/until.ts'
import { anEvent, createWorld } from '../stack/world.ts'
import { type ReceivedSpan, startCollector } from '../telemetry/collector.ts'

/** A world of one partition each, and a collector. */
async function setUp(t: { teardown: (cleanUp: () => Promise<void>) => void }) {
  const [world, collector] = await Promise.all([createWorld({ partitionCount: 1 }), startCollector()])
  t.teardown(async () => {
    await world.close()
    await collector.stop()
  })
  return { world, collector, traced: { OTEL_ENDPOINT: collector.url, OTEL_SERVICE_NAME: 'told' } }
}

const hex = (n: number, length: number) =>
  n
    .toString(16)
    .padStart(length - 1, '0')
    .padStart(length, '7')
const anOrigin = (n: number) => ({ traceId: hex(n, 32), spanId: hex(n, 16) })

/** Events, each by a producer of its own. */
function tracedEvents(count: number, envelope: Record<string, unknown> = {}) {
  return Array.from({ length: count }, (_, n) => {
    const { traceId, spanId } = anOrigin(n)
    return { ...anEvent(envelope), headers: { traceparent: `00-${traceId}-${spanId}-01` } }
  })
}

const batchesOf = (spans: readonly ReceivedSpan[]) => spans.filter(({ name }) => name.startsWith('process '))

t.test('a batch of 500 makes at most 10 spans, linked to every producer', async (t) => {
  const { world, collector, traced } = await setUp(t)
  const service = await world.spawn({ ...traced, BATCH_MAX: '500' })
  // Batches start small, and grow while look-ups are quick.
  for (let i = 0; i < 8; i++) {
    await world.publish(tracedEvents(500))
    await world.caughtUp()
  }
  t.equal(await service.stop(), 0)

  const root = batchesOf(collector.spans).findLast(
    ({ attributes }) => attributes['messaging.batch.message_count'] === 500,
  )
  t.match(root, { attributes: { 'notifications.inserted': 500 }, resource: { 'service.name': 'told' } })
  const spans = collector.spans.filter(({ traceId }) => traceId === root?.traceId)
  const isOfSender = (name: string) => /^[A-Z]+\b/.test(name) && !/notifications\.|^COMMIT$/.test(name)
  const own = spans.filter(({ name }) => !isOfSender(name))
  t.ok(own.length > 1 && own.length <= 10, `${own.length} spans`)
  t.same(
    new Set(root?.links?.map(({ traceId, spanId }) => `${traceId} ${spanId}`)),
    new Set(Array.from({ length: 500 }, (_, n) => Object.values(anOrigin(n)).join(' '))),
  )
  const below = spans.filter((span) => span !== root)
  for (const { parentSpanId, name, startTimeUnixNano, endTimeUnixNano } of below) {
    t.equal(parentSpanId, root?.spanId, name)
    t.ok(BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano))
  }
  const names = below.map(({ name }) => name)
  t.equal(names.filter((name) => name === 'look up contacts').length, 1)
  for (const name of ['INSERT notifications.notification_log', 'INSERT notifications.decision', 'COMMIT']) {
    t.equal(names.filter((each) => each === name).length, 1, `${name} in ${names.join(', ')}`)
  }
  t.match(
    await world.sql('SELECT count(DISTINCT trace_id)::int AS count FROM notifications.decision'),
    [{ count: 500 }],
    'the log row keeps the trace of its producer',
  )
})

t.test('neither logs nor traces contain a contact or a text, and an error names its trace', async (t) => {
  const { world, collector, traced } = await setUp(t)
  const contact = { email: 'SECRET@example.com', phone: '+44-SECRET' }
  for (const name of ['party-1', 'error-1'])
    world.policyAdministration.set(name, name === 'party-1' ? contact : 'error')
  await world.sql(
    `ALTER TABLE notifications.notification_log ADD CONSTRAINT trap CHECK (event_id <> 'refused')`,
  )
  const payload = { locator: 'CLM-SECRET', reason: 'because SECRET' }
  await world.publish([
    ...tracedEvents(3, { eventType: 'claim.rejected', payload }),
    anEvent({ partyLocator: 'error-1', eventType: 'claim.rejected', payload }),
    anEvent({ eventId: 'refused', eventType: 'claim.rejected', payload }),
    { value: '{"no": "SECRET' },
  ])
  const service = await world.spawn({ ...traced, LOG_LEVEL: 'trace', MANAGEMENT_PORT: '0' })
  await world.caughtUp()
  await world.sql('ALTER TABLE notifications.decision RENAME TO decision_gone')
  await world.publish(tracedEvents(1, { payload }))
  const line = await service.logged(/^a partition is blocked/)
  t.match(line, { topic: world.topics.claims, partition: 0, offset: '6', traceId: /^[0-9a-f]{32}$/ })
  await world.sql('ALTER TABLE notifications.decision_gone RENAME TO decision')
  await world.caughtUp()
  await until(() => collector.spans.some(({ traceId }) => traceId === line.traceId), {
    what: 'the trace that the log names',
  })
  t.equal(await service.stop(), 0)
  t.equal((await world.sql('SELECT FROM notifications.rejected_message')).length, 2)
  t.notMatch(JSON.stringify(service.lines) + service.stderr.join(), /SECRET/)
  t.notMatch(JSON.stringify(collector.spans), /SECRET/)
  const failed = batchesOf(collector.spans).find(({ traceId }) => traceId === line.traceId)
  t.equal(failed?.status?.code, 2)
})

t.test('retries are traced', async (t) => {
  const { world, collector, traced } = await setUp(t)
  const first = await world.spawn()
  await world.publish([anEvent({ partyLocator: 'error-1' })])
  await world.caughtUp()
  await first.stop()
  await world.sql(`UPDATE notifications.notification_log SET last_attempt_at = now() - interval '2 min'`)
  const second = await world.spawn(traced)
  await second.logged(/^retried failed notifications$/)
  await second.stop()
  const root = collector.spans.find(({ name }) => name === 'retry')
  t.match(root, { attributes: { 'notifications.rows': 1 } })
  const below = collector.spans.filter(({ parentSpanId }) => parentSpanId === root?.spanId)
  t.ok(below.some(({ name }) => name === 'UPDATE notifications.notification_log'))
})
