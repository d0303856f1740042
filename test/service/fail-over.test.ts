import t from 'tap'
import { startDatabaseProxy } from '../stack/database-proxy.ts'
import { promote, startPostgres, startStandby } from '../stack/postgres.ts'
import { until } from '../stack/until.ts'
import { aWorld } from '../stack/world.ts'
import { eachOnce, manyEvents, watchCheckpoints } from './exactly-once.ts'

t.test('the service moves to the promoted one of two hosts, and logs every event once', async (t) => {
  const primary = await startPostgres()
  t.teardown(() => primary.close())
  const standby = await startStandby(primary, { replication: 'synchronous' })
  t.teardown(() => standby.close())
  // The test's own queries go to the primary; the service must find it by itself.
  const asked = await startDatabaseProxy(primary.url)
  t.teardown(() => asked.close())
  const world = await aWorld(t, { serverUrl: asked.url })
  await watchCheckpoints(world)

  const both = new URL(world.databaseUrl)
  both.searchParams.set('target_session_attrs', 'read-write')
  const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`
  const service = await world.spawn({ DATABASE_URL: both.href.replace(both.host, hosts) })
  const isReady = async () => (await fetch(`${service.url}/readyz`)).ok
  const events = manyEvents(900, 2)
  await world.publish(events.slice(0, 300))
  await world.caughtUp()
  await until(isReady, { what: 'it to be ready' })

  // Whatever it does with these at that moment breaks off.
  await world.publish(events.slice(300, 600))
  await primary.kill()
  await until(async () => !(await isReady()), { what: 'it to notice' })
  await promote(standby)
  asked.pointTo(standby.url)
  await world.publish(events.slice(600))
  await world.caughtUp()
  await eachOnce(t, world, events)
  t.same(await world.sql(`SELECT event_id FROM notifications.notification_log WHERE status = 'FAILED'`), [])
  await until(isReady, { what: 'it to be ready again' })
  t.equal(await service.stop(), 0)
})
