import t from 'tap'
import { startDatabaseProxy } from '../stack/database-proxy.ts'
import { anEvent, aWorld } from '../stack/world.ts'

const world = await aWorld(t, { partitionCount: 1 })

t.test('connections to the database that go dead without a word are given up', async (t) => {
  const path = await startDatabaseProxy(world.databaseUrl)
  t.teardown(() => path.close())
  const service = await world.serve({ DATABASE_URL: path.url })
  await world.publish([{ ...anEvent() }])
  await world.caughtUp()
  path.goDead()
  await world.publish([{ ...anEvent() }])
  await world.caughtUp()
  const attempts = service.lines.filter(({ msg }) => msg.startsWith('a partition is blocked'))
  t.ok(attempts.length <= 1, `${attempts.length} attempts failed: those that were idle meanwhile were closed`)
  t.equal(await service.stop(), 0)
})
