import { readFile, writeFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { startKafka } from '../stack/kafka.ts'
import { startPostgres } from '../stack/postgres.ts'
import type { Service } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { eachOnce, manyEvents, type Published, rowCount, watchCheckpoints } from './exactly-once.ts'

const PARTITION_COUNT = 2
const BACKLOG_COUNT = 5_000
/** In a batch of records, format 2. */
const RECORD_COUNT_POSITION = 57

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

    /** Publishes a backlog and waits until some of it is done. */
    async function inTheMiddle(t: Test): Promise<void> {
      const before = await rowCount(world)
      await publish(BACKLOG_COUNT)
      await until(async () => (await rowCount(world)) > before, {
        what: 'the work to be under way',
        intervalMs: 10,
      })
      t.ok((await rowCount(world)) < published.length, 'it is in the middle of its work')
    }
    async function goesOn(t: Test): Promise<void> {
      await publish(300)
      await world.caughtUp()
      await eachOnce(t, world, published)
    }

    await t.test('a service that starts before it works once it comes', async (t) => {
      await server.stop()
      service = await world.serve({ BATCH_MAX: '50' })
      t.match(await service.logged(new RegExp(`^waiting for the ${name}$`)), { level: 'warn' })
      t.ok(await isLive())
      await readinessIs(readinessWithout)
      if (readinessWithout === 503)
        t.match(await (await fetch(`${service.url}/readyz`)).json(), { detail: UNREACHABLE })
      await server.start()
      await goesOn(t)
      await readinessIs(200)
    })

    for (const [way, stop] of [
      ['shut down', () => server.stop()],
      ['killed', () => server.kill()],
    ] as const) {
      await t.test(`one that is ${way} in the middle of the work is waited for`, async (t) => {
        await inTheMiddle(t)
        await stop()
        await readinessIs(readinessWithout)
        t.ok(await isLive())
        await server.start()
        await readinessIs(200)
        await goesOn(t)
      })
    }

    if (name === 'database') {
      await t.test('connections that are cut in the middle of the work cost nothing but time', async (t) => {
        t.match(await service.logged(/^a partition is blocked; nothing is lost/), { level: 'error' })
        await inTheMiddle(t)
        for (let cutCount = 0; cutCount < 10; cutCount++) {
          await world.sql(`
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'notifications-service'`)
          const before = await rowCount(world)
          await until(async () => (await rowCount(world)) > before || before === published.length, {
            what: 'the work to go on',
          })
        }
        await goesOn(t)
      })
    } else {
      await t.test('a batch that no consumer can read is told of, and read once it can be', async (t) => {
        await world.publish([{ ...anEvent(), partition: 0 }])
        await world.caughtUp()
        const before = await rowCount(world)
        t.equal(await service.stop(), 0)
        await world.publish([{ ...anEvent(), partition: 0 }])
        await kafka.stop()
        const wasCount = await promiseRecords(`${world.topics.claims}-0`, 1_000)
        await kafka.start()
        service = await world.serve()
        t.match(await service.logged(/^a partition is blocked; nothing is lost: .*`rejected skip`/), {
          level: 'error',
          topic: world.topics.claims,
          partition: 0,
          reason: 'damaged',
          err: { message: /its checksum is wrong$/ },
        })
        await readinessIs(200)
        t.equal(await rowCount(world), before)

        await kafka.stop()
        await promiseRecords(`${world.topics.claims}-0`, wasCount)
        await kafka.start()
        await world.caughtUp()
        t.equal(await rowCount(world), before + 1)
      })
    }

    await t.test('it has outlived all this', async (t) => {
      t.equal(await service.stop(), 0)
    })
  })
}

/**
 * Makes the last batch of a partition say that it holds so many records, on the disk of the broker, which never looks.
 * Returns how many it said before.
 */
async function promiseRecords(partition: string, count: number): Promise<number> {
  const path = `${kafka.dataDir}/${partition}/00000000000000000000.log`
  const segment = await readFile(path)
  let start = 0
  let end = 0
  while (end < segment.length && segment.readInt32BE(end + 8) > 0) {
    start = end
    // Offset and length come before what the length counts.
    end += 12 + segment.readInt32BE(end + 8)
  }
  const before = segment.readInt32BE(start + RECORD_COUNT_POSITION)
  segment.writeInt32BE(count, start + RECORD_COUNT_POSITION)
  await writeFile(path, segment)
  return before
}
