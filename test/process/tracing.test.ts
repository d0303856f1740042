import t from 'tap'
import { startCollector } from '../service/telemetry/collector.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'

const SECRET = { locator: 'CLM-SECRET', reason: 'because SECRET' }
const TRACE_IDS = ['a', 'b', 'c'].map((digit) => digit.repeat(32))
/** Events, each by a producer of its own. */
const traced = () =>
  TRACE_IDS.map((traceId) => ({
    ...anEvent({ eventType: 'claim.rejected', payload: SECRET }),
    headers: { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` },
  }))

t.test('traces link producers and rows, without contacts and texts', async (t) => {
  const [world, collector] = await Promise.all([aWorld(t, { partitionCount: 1 }), startCollector()])
  t.teardown(() => collector.stop())
  world.policyAdministration.set('party-1', { email: 'SECRET@example.com', phone: '+44-SECRET' })
  world.policyAdministration.set('error-1', 'error')
  await world.sql(
    `ALTER TABLE notifications.notification_log ADD CONSTRAINT trap CHECK (event_id <> 'refused')`,
  )
  const secret = { eventType: 'claim.rejected', payload: SECRET }
  await world.publish([
    ...traced(),
    anEvent({ partyLocator: 'error-1', ...secret }),
    anEvent({ eventId: 'refused', ...secret }),
    { value: '{"no": "SECRET' },
  ])
  const tracing = { OTEL_ENDPOINT: collector.url, OTEL_SERVICE_NAME: 'told', LOG_LEVEL: 'trace' }
  const service = await world.spawn(tracing)
  await world.caughtUp()
  await world.sql('ALTER TABLE notifications.decision RENAME TO decision_gone')
  await world.publish(traced())
  const line = await service.logged(/^a partition is blocked/)
  t.match(line, { topic: world.topics.claims, partition: 0, offset: '6', traceId: /^[0-9a-f]{32}$/ })
  await world.sql('ALTER TABLE notifications.decision_gone RENAME TO decision')
  await world.caughtUp()
  const batchOf = (traceId: unknown) =>
    collector.spans.find((span) => span.traceId === traceId && span.name.startsWith('process '))
  await until(() => batchOf(line.traceId), { what: 'the trace that the log names' })
  t.equal(await service.stop(), 0)
  t.equal((await world.sql('SELECT FROM notifications.rejected_message')).length, 2)
  t.notMatch(
    JSON.stringify(service.lines) + service.stderr.join() + JSON.stringify(collector.spans),
    /SECRET/,
  )
  t.equal(batchOf(line.traceId)?.status?.code, 2)

  const committed = collector.spans.find(({ name, status }) => name === 'commit' && status?.code !== 2)
  const root = batchOf(committed?.traceId)
  t.match(root, { resource: { 'service.name': 'told' } })
  t.match(new Set(root?.links?.map(({ traceId }) => traceId)), new Set(TRACE_IDS))
  const names = collector.spans
    .filter(({ parentSpanId }) => parentSpanId === root?.spanId)
    .map(({ name }) => name)
  for (const name of ['look up contacts', 'commit']) t.ok(names.includes(name), name)
  const rows = await world.sql(
    'SELECT DISTINCT trace_id FROM notifications.decision WHERE trace_id IS NOT NULL',
  )
  t.strictSame(
    new Set(rows.map(({ trace_id }) => trace_id)),
    new Set(TRACE_IDS),
    'rows keep the trace of their producer',
  )
})
