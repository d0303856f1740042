import { connect, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { ask, untilReady } from '../stack/ask.ts'
import { createDatabase } from '../stack/databases.ts'
import { freePort } from '../stack/free-port.ts'
import { listen } from '../stack/listen.ts'
import type { Service } from '../stack/service.ts'
import { deleteTopics, ensureTopics, produce } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command, spawned } from './command.ts'
import { rowCount } from './rows.ts'

const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker has no topic administration'

const get = (service: Service, path: string) => ask(`${service.url}${path}`)

// These tests mostly wait, each in its own world.
t.jobs = 3

t.test('a service waits for the migration of its schema, and logs so', { buffered: true }, async (t) => {
  const world = await aWorld(t)
  const database = await createDatabase()
  t.teardown(() => database.drop())
  const service = await world.spawn({ DATABASE_URL: database.url })
  t.match(await service.logged(/^waiting for the schema$/), {
    level: 'warn',
    reason: /run the command `migrate`/,
  })
  await service.logged(/^all routes are open: set IDP_JWKS_URI to require tokens$/)
  t.match(await get(service, '/healthz'), { status: 200 })
  t.match(await get(service, '/readyz'), { status: 503, body: { detail: /run the command `migrate`/ } })

  t.match(await spawned(['migrate'], { DATABASE_URL: database.url }), { code: 0 })
  // The database is asked once a second.
  await untilReady(service.url)
  const { eventId, value } = anEvent()
  await world.publish([{ value }])
  await until(async () => JSON.stringify((await get(service, '/log/list')).body).includes(eventId), {
    what: 'the event to be logged',
  })
  t.equal(await service.stop(), 0)
})

t.test('a recreated topic is consumed from its start', { skip: SKIP_MOCK, buffered: true }, async (t) => {
  const world = await aWorld(t)
  const { billing } = world.topics
  const service = await world.spawn()
  await world.publish(Array.from({ length: 3 }, () => ({ ...anEvent(), topic: 'billing', partition: 0 })))
  await world.caughtUp()
  await deleteTopics(world.brokers, [billing])
  await world.publish([anEvent()])
  await until(async () => (await rowCount(world)) === 4, { what: 'the others to go on' })
  t.match(await service.logged(/waiting for topics that do not exist yet/), { missing: [billing] })

  await ensureTopics(world.brokers, [billing], 2)
  await produce(world.brokers, [{ topic: billing, partition: 0, value: anEvent().value }])
  await until(async () => (await rowCount(world)) === 5, {
    what: 'the new topic to be consumed',
  })
  t.match(await service.logged(/the topic was recreated/), {
    level: 'error',
    topic: billing,
    checkpoint: '2',
  })
})

t.test(
  'a topic that is recreated while nothing runs is named by doctor, and read from its start',
  { skip: SKIP_MOCK, buffered: true },
  async (t) => {
    const world = await aWorld(t)
    const { billing } = world.topics
    /** Replaces the topic by one with so many messages, and says what doctor finds. */
    const recreate = async (count: number) => {
      await deleteTopics(world.brokers, [billing])
      await ensureTopics(world.brokers, [billing], 2)
      const messages = Array.from({ length: count }, () => anEvent())
      await produce(
        world.brokers,
        messages.map(({ value }) => ({ topic: billing, partition: 0, value })),
      )
      const { stdout } = await command(['doctor', '--json'], world.env)
      return JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === 'partitions')
    }
    const passed = async (rows: number) => {
      const service = await world.serve()
      await until(async () => (await rowCount(world)) === rows, { what: `${rows} rows` })
      await service.stop()
      return service.lines.find(({ msg }) => /the topic was recreated/.test(msg))
    }
    await world.publish(Array.from({ length: 3 }, () => ({ ...anEvent(), topic: 'billing', partition: 0 })))
    await passed(3)
    // The broker would take the offset of the last message for the next one.
    t.match(await recreate(2), {
      status: 'warning',
      detail: `${billing}/0 (the checkpoint lies beyond the end of the partition)`,
      remedy: /checkpoints set/,
    })
    t.match(await passed(5), { level: 'error', topic: billing, checkpoint: '2' })
    t.match(await recreate(4), {
      status: 'warning',
      detail: `${billing}/0 (the message at offset 1 is not the one that was processed)`,
    })
    t.match(await passed(9), { level: 'error', topic: billing, checkpoint: '1' })
    t.match(await recreate(0), { status: 'warning', detail: /beyond the end/ })
  },
)

t.test(
  'an advertised address that cannot be reached is called so, in one line',
  { skip: SKIP_MOCK, buffered: true },
  async (t) => {
    const world = await aWorld(t)
    const advertised = await proxyTo(t, world.brokers, await freePort())
    const env = { ...world.env, MQ_BROKERS: advertised.proxy }
    const said = new RegExp(
      `the broker at ${advertised.proxy} advertises ${advertised.address}, which cannot be reached`,
    )
    const service = await world.spawn(env)
    t.match(await service.logged(said), { level: 'warn', err: undefined })
    t.strictSame(
      service.lines.filter(({ level, kafkajs }) => level === 'warn' && kafkajs),
      [],
      'without the lines of kafkajs',
    )
    const { code, stdout } = await command(['doctor'], env)
    t.equal(code, 1)
    t.match(stdout, new RegExp(`^failed +broker +${said.source}.*\\n +→ set advertised.listeners`, 'm'))
  },
)

/** A way to the broker through which it advertises a port on which nobody listens. */
async function proxyTo(t: Test, broker: string, port: number) {
  const [host = '', brokerPort] = broker.split(':')
  const place = (port: number) =>
    Buffer.concat([Buffer.from(host), Buffer.from([0, 0, port >> 8, port & 255])])
  const [real, lying] = [place(Number(brokerPort)), place(port)]
  const server = createServer((client) => {
    const upstream = connect(Number(brokerPort), host)
    client.pipe(upstream)
    upstream.on('data', (data) => {
      const at = data.indexOf(real)
      if (at >= 0) lying.copy(data, at)
      client.write(data)
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
  })
  t.teardown(() => server.close())
  return { proxy: `127.0.0.1:${await listen(server)}`, address: `${host}:${port}` }
}
