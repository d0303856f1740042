import pg from 'pg'
import t from 'tap'
import { ask } from '../stack/ask.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { rowsOf } from './rows.ts'

const world = await aWorld(t)

t.test('startup waits for the consumer group, readiness does not', async (t) => {
  const service = await world.serve({ MANAGEMENT_PORT: '0', MQ_BROKERS: '127.0.0.1:1' })
  await service.logged(/^waiting for the broker/)
  t.match(await ask(`${service.url}/readyz`), { status: 200 })
  t.match(await ask(`${await service.managementUrl()}/startupz`), { status: 503, body: { detail: /broker/ } })
  await service.stop()
})

/** Work that waits for the table of the log, and the line that follows it. */
const WORK = {
  batch: {
    begin: () => world.publish([anEvent({ partyLocator: 'no-email-1' })]),
    line: /^1 event SKIPPED in the last minute/,
  },
  retry: {
    begin: async () => {
      await world.sql(`
        UPDATE notifications.notification_log SET status = 'FAILED', subject = 'S', body = 'B',
          last_attempt_at = now() - interval '2 minutes'`)
    },
    line: /^retried failed notifications$/,
  },
}

for (const [name, { begin, line }] of Object.entries(WORK))
  t.test(`a stop waits for the ${name} in progress, then ends listeners and connections`, async (t) => {
    await begin()
    const locker = new pg.Client(world.databaseUrl)
    await locker.connect()
    t.teardown(() => locker.end())
    await locker.query('BEGIN; LOCK TABLE notifications.notification_log IN EXCLUSIVE MODE')
    const service = await world.serve({ MANAGEMENT_PORT: '0' })
    const management = await service.managementUrl()
    const waiting = () =>
      world.sql(
        "SELECT FROM pg_locks WHERE relation = 'notifications.notification_log'::regclass AND NOT granted",
      )
    await until(async () => (await waiting()).length > 0, { what: `the ${name} to wait for the table` })
    const order: string[] = []
    const stops = ['stopped', 'stopped again'].map((done) => service.stop().then(() => order.push(done)))
    const stopping = { status: 503, body: { detail: 'the service is stopping' } }
    t.match(await ask(`${service.url}/readyz`), stopping, 'readiness')
    t.equal((await fetch(`${management}/metrics`)).status, 200, 'metrics are served to the end')
    order.push('released')
    await locker.end()
    await Promise.all(stops)
    t.strictSame(order, ['released', 'stopped', 'stopped again'])
    t.match(await rowsOf(world, 'notification_log'), [{ status: 'SKIPPED' }])
    t.ok(
      service.lines.some(({ msg }) => line.test(msg)),
      'the log says so',
    )
    for (const url of [service.url, management]) await t.rejects(fetch(url), 'nothing listens any more')
  })
