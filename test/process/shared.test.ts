import kafkajs from 'kafkajs'
import pg from 'pg'
import t from 'tap'
import { scrape } from '../stack/ask.ts'
import { createMigratedDatabase } from '../stack/databases.ts'
import { until } from '../stack/until.ts'
import { aWorld, manyEvents } from '../stack/world.ts'
import { command } from './command.ts'

const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker describes no group'

/** What `doctor` says of a check. */
async function check(name: string, env: Record<string, string>) {
  const { stdout } = await command(['doctor', '--json'], env)
  return JSON.parse(stdout).checks.find((one: { name: string }) => one.name === name)
}

t.test('two consumer groups on one database name each other, and tell each member once', async (t) => {
  const world = await aWorld(t)
  const group = { MQ_GROUP_ID: `${world.groupId}-second` }
  t.match(await check('replicas', world.env), { status: 'ok' })
  const first = await world.serve()
  await first.logged(/^joined/)
  const second = await world.serve({ ...group, MANAGEMENT_PORT: '0' })
  const line = await second.logged(/^another consumer group works on this database/)
  t.match(line, { level: 'warn', msg: `${world.groupId} on 1 replica`, remedy: /a database of its own/ })
  for (const env of [world.env, { ...world.env, ...group }])
    t.match(await check('replicas', env), { status: 'failed', detail: line.msg.split(':')[0] })
  const url = await second.managementUrl()
  t.match(await (await fetch(`${url}/startupz`)).json(), { warning: line.msg })
  t.equal((await scrape(url)).value('notifications_shared', { resource: 'database' }), 1)
  await world.publish(manyEvents(60, 2))
  await world.caughtUp()
  const [counts] = await world.sql(`SELECT
    (SELECT count(*)::int FROM notifications.notification_log) AS rows,
    (SELECT count(*)::int FROM notifications.decision WHERE receipt IS NOT NULL) AS messages`)
  t.strictSame(counts, { rows: 60, messages: 60 })
  const other = { MQ_GROUP_ID: `${world.groupId}-third`, MQ_TOPICS: 'nobody-reads' }
  t.notMatch((await check('replicas', { ...world.env, ...other })).detail, world.groupId, 'other topics')
})

t.test('a copy of the database in the same consumer group is named', { skip: SKIP_MOCK }, async (t) => {
  const world = await aWorld(t)
  const first = await world.serve()
  await first.logged(/^joined/)
  const copy = await createMigratedDatabase()
  const rows = await until(
    async () => {
      const found = await world.sql('SELECT to_jsonb(replica) AS row FROM notifications.replica')
      return found.length > 0 ? found : null
    },
    { what: 'the first to say that it runs' },
  )
  const client = new pg.Client(copy.url)
  await client.connect()
  const insert =
    'INSERT INTO notifications.replica SELECT * FROM jsonb_populate_record(NULL::notifications.replica, $1)'
  for (const { row } of rows ?? []) await client.query(insert, [row])
  await client.end()
  const env = { ...world.env, DATABASE_URL: copy.url }
  const other = await world.serve({ DATABASE_URL: copy.url })
  t.teardown(async () => {
    await other.stop()
    await copy.drop()
  })
  const line = await other.logged(/^members of the consumer group .* do not report to this database/)
  t.match(line, { level: 'warn', remedy: /MQ_GROUP_ID of its own/ })
  t.match(await check('replicas', env), { status: 'failed', detail: line.msg })
  await other.logged(/^joined/)
  t.match(await check('replicas', world.env), { status: 'failed', detail: /do not report to this database/ })
})

t.test('another program that takes partitions of the group is named', { skip: SKIP_MOCK }, async (t) => {
  const world = await aWorld(t)
  const kafka = new kafkajs.Kafka({
    clientId: 'billing-report',
    brokers: [world.brokers],
    logLevel: kafkajs.logLevel.NOTHING,
  })
  const stranger = kafka.consumer({ groupId: world.groupId })
  const joined = new Promise((resolve) => stranger.on('consumer.group_join', resolve))
  await stranger.connect()
  t.teardown(() => stranger.disconnect())
  await stranger.subscribe({ topics: Object.values(world.topics) })
  await stranger.run({ eachMessage: async () => {} })
  await joined
  const service = await world.serve({ MANAGEMENT_PORT: '0' })
  const told = /^another program is in the consumer group .*: billing-report on 127\.0\.0\.1/
  t.match(await service.logged(told), { level: 'warn', remedy: /a group of its own/ })
  const url = await service.managementUrl()
  t.equal((await scrape(url)).value('notifications_shared', { resource: 'consumer_group' }), 1)
  t.match(await (await fetch(`${url}/console/data/status`)).json(), { notices: [{ text: told }] })
  await service.logged(/^joined/)
  const found = await until(
    async () => {
      const one = await check('consumer group', world.env)
      return one.status === 'failed' ? one : null
    },
    { what: 'doctor to name it', intervalMs: 500 },
  )
  t.match(found, { detail: told, remedy: /a group of its own/ })
})
