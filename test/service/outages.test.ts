import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { startKafka } from '../stack/kafka.ts'
import { startPostgres } from '../stack/postgres.ts'
import type { Service } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { anEvent, createWorld } from '../stack/world.ts'
import { eachOnce, manyEvents, type Published, rowCount, watchCheckpoints } from './exactly-once.ts'

// A broker and a database of its own: both are stopped and started again.
const PARTITION_COUNT = 2
const BACKLOG_COUNT = 5_000
/** In a batch of records, format 2. */
const RECORD_COUNT_POSITION = 57

const kafkaLines: string[] = []
const [kafka, postgres] = await Promise.all([
  startKafka({ log: (line) => kafkaLines.push(line) }),
  startPostgres(),
])
t.teardown(() => Promise.all([kafka.close(), postgres.close()]))
process.env.MQ_BROKERS = kafka.brokers
process.env.DATABASE_URL = postgres.url
const skip = kafka.kind === 'mock' && 'the mock broker cannot be stopped and started again with its data'

const world = await createWorld({ partitionCount: PARTITION_COUNT })
t.teardown(() => world.close())
await watchCheckpoints(world)
const published: Published[] = []
let service: Service

async function publish(count: number): Promise<void> {
  const events = manyEvents(count, PARTITION_COUNT)
  published.push(...events)
  await world.publish(events)
}
const readiness = async () => (await fetch(`${service.url}/readyz`)).status
const isLive = async () => (await fetch(`${service.url}/healthz`)).status === 200
const isReady = async () => (await readiness()) === 200

/** Publishes a backlog and waits until some of it is done. */
async function inTheMiddle(): Promise<void> {
  const before = await rowCount(world)
  await publish(BACKLOG_COUNT)
  await until(async () => (await rowCount(world)) > before, {
    what: 'the work to be under way',
    intervalMs: 10,
  })
  t.ok((await rowCount(world)) < published.length, 'it is in the middle of its work')
}

t.test(
  'a service that starts before its database and its broker works once they come',
  { skip },
  async (t) => {
    await Promise.all([kafka.stop(), postgres.stop()])
    service = await world.serve({ BATCH_MAX: '50' })
    t.match(await service.logged(/^waiting for the database$/), { level: 'warn', reason: /ECONNREFUSED/ })
    t.ok(await isLive())
    t.equal(await readiness(), 503)
    t.match(await (await fetch(`${service.url}/readyz`)).json(), { status: 503, detail: /database/ })

    await postgres.start()
    t.match(await service.logged(/^waiting for the broker$/), { level: 'warn', err: { message: String } })
    t.ok(await isReady(), 'readiness follows the database, not the broker')
    await kafka.start()
    await publish(300)
    await world.caughtUp()
    await eachOnce(t, world, published)
  },
)

for (const [way, stop] of [
  ['is shut down', () => kafka.stop()],
  ['is killed', () => kafka.kill()],
] as const) {
  t.test(`a broker that ${way} in the middle of the work is waited for`, { skip }, async (t) => {
    await inTheMiddle()
    await stop()
    t.ok(await isReady())
    await kafka.start()
    await publish(300)
    await world.caughtUp()
    await eachOnce(t, world, published)
  })
}

for (const [way, stop] of [
  ['is shut down', () => postgres.stop()],
  ['is killed', () => postgres.kill()],
] as const) {
  t.test(`a database that ${way} in the middle of the work is waited for`, { skip }, async (t) => {
    await inTheMiddle()
    await stop()
    await until(async () => (await readiness()) === 503, { what: 'the service to be not ready' })
    t.ok(await isLive())
    t.match(await service.logged(/nothing of it is lost, it is tried again/), { level: 'error' })
    await postgres.start()
    await until(isReady, { what: 'the service to be ready' })
    await world.caughtUp()
    await eachOnce(t, world, published)
  })
}

t.test('connections that are cut in the middle of the work cost nothing but time', { skip }, async (t) => {
  await inTheMiddle()
  for (let cutCount = 0; cutCount < 10; cutCount++) {
    await world.sql(`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'notifications-service'`)
    const before = await rowCount(world)
    await until(async () => (await rowCount(world)) > before || before === published.length, {
      what: 'the work to go on',
    })
  }
  await world.caughtUp()
  await eachOnce(t, world, published)
})

t.test('all this time it was the same process', { skip }, async (t) => {
  t.equal(await service.stop(), 0)
})

t.test(
  'a batch that no consumer can read is told of; the process stays, and goes on once it can be',
  { skip },
  async (t) => {
    await world.publish([{ ...anEvent(), partition: 0 }])
    const before = await rowCount(world)
    await kafka.stop()
    const wasCount = await promiseRecords(`${world.topics.claims}-0`, 1_000)
    await kafka.start()
    service = await world.serve()
    const told = await service.logged(
      /cannot be read, as if a record batch were damaged.*kafka-delete-records/,
    )
    t.match(told, { level: 'error', err: { message: /outside buffer bounds/ } })
    t.type((told.checkpoints as Record<string, string>)[`${world.topics.claims}/0`], 'string')
    t.ok(await isReady())
    t.equal(await rowCount(world), before)

    await kafka.stop()
    await promiseRecords(`${world.topics.claims}-0`, wasCount)
    await kafka.start()
    await world.caughtUp()
    t.equal(await rowCount(world), before + 1)
    t.equal(await service.stop(), 0)
  },
)

/**
 * Makes the last batch of a partition say that it holds so many records, on the disk of the broker, which never looks.
 * Returns how many it said before.
 */
async function promiseRecords(partition: string, count: number): Promise<number> {
  const [, dir] = /files in (\S+)/.exec(kafkaLines.join('\n')) ?? []
  const path = `${dir}/data/${partition}/00000000000000000000.log`
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
