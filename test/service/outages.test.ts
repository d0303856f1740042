import t, { type Test } from 'tap'
import { startKafka } from '../stack/kafka.ts'
import { startPostgres } from '../stack/postgres.ts'
import type { ServiceProcess as Service } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { aWorld } from '../stack/world.ts'
import { eachOnce, manyEvents, type Published, rowCount, watchCheckpoints } from './exactly-once.ts'

const PARTITION_COUNT = 2
const BACKLOG_COUNT = 3_000

// Of this file alone: they are stopped and started again.
const [kafka, postgres] = await Promise.all([startKafka({ log: () => {} }), startPostgres()])
t.teardown(() => Promise.all([kafka.close(), postgres.close()]))
const skip = kafka.kind === 'mock' && 'the mock broker cannot be stopped and started again with its data'

const OUTAGES = {
  broker: { server: kafka, where: { brokers: kafka.brokers }, readinessWithout: 200 },
  database: { server: postgres, where: { serverUrl: postgres.url }, readinessWithout: 503 },
}

// The one is down while the other is not.
t.jobs = 2

const UNREACHABLE = 'the database cannot be used (ECONNREFUSED): run the command `doctor` to find out why'

for (const [name, { server, where, readinessWithout }] of Object.entries(OUTAGES)) {
  t.test(`a ${name} that is not there`, { skip, buffered: true }, async (t) => {
    const world = await aWorld(t, { partitionCount: PARTITION_COUNT, ...where })
    await watchCheckpoints(world)
    const published: Published[] = []
    let service: Service

    async function publish(count: number): Promise<void> {
      const events = manyEvents(count, PARTITION_COUNT)
      published.push(...events)
      await world.publish(events)
    }
    const readinessIs = (status: number) =>
      until(async () => (await fetch(`${service.url}/readyz`)).status === status, {
        what: `readiness to be answered ${status}`,
      })
    const isLive = async () => (await fetch(`${service.url}/healthz`)).status === 200

    async function goesOn(t: Test): Promise<void> {
      await publish(300)
      await world.caughtUp()
      await eachOnce(t, world, published)
    }

    await t.test('a service that starts before it works once it comes', async (t) => {
      await server.stop()
      service = await world.spawn({ BATCH_MAX: '50' })
      t.match(await service.logged(new RegExp(`^waiting for the ${name}$`)), { level: 'warn' })
      t.ok(await isLive())
      await readinessIs(readinessWithout)
      if (readinessWithout === 503)
        t.match(await (await fetch(`${service.url}/readyz`)).json(), { detail: UNREACHABLE })
      await server.start()
      await goesOn(t)
      await readinessIs(200)
    })

    await t.test('one that is killed in the middle of the work is waited for', async (t) => {
      const before = await rowCount(world)
      await publish(BACKLOG_COUNT)
      await until(async () => (await rowCount(world)) > before, {
        what: 'the work to be under way',
        intervalMs: 10,
      })
      t.ok((await rowCount(world)) < published.length, 'it is in the middle of its work')
      await server.kill()
      await readinessIs(readinessWithout)
      t.ok(await isLive())
      await server.start()
      await readinessIs(200)
      await goesOn(t)
    })

    await t.test('it has outlived all this', async (t) => {
      t.equal(await service.stop(), 0)
    })
  })
}
