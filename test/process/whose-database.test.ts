import pg from 'pg'
import t from 'tap'
import { scrape } from '../stack/ask.ts'
import { createMigratedDatabase } from '../stack/databases.ts'
import { until } from '../stack/until.ts'
import { aWorld, manyEvents } from '../stack/world.ts'
import { command, jsonLines } from './command.ts'

const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker keeps no offsets of groups'
const FOREIGN = /^another database commits offsets of the consumer group/
const LOST = /^this database has lost the rows of up to \d+ messages/

/** What `doctor` says of a check. */
async function check(name: string, env: Record<string, string>) {
  const { stdout } = await command(['doctor', '--json'], env)
  return JSON.parse(stdout).checks.find((one: { name: string }) => one.name === name)
}

t.test('two deployments in one group name each other', { skip: SKIP_MOCK }, async (t) => {
  const world = await aWorld(t)
  const staging = await createMigratedDatabase()
  const client = new pg.Client(staging.url)
  await client.connect()
  // All databases of the tests are clones of one.
  const query = 'UPDATE notifications.database_identity SET id = gen_random_uuid() RETURNING id'
  const { id: theirs } = (await client.query(query)).rows[0]
  await client.end()
  const [{ id: ours } = { id: '' }] = await world.sql('SELECT id FROM notifications.database_identity')
  const service = await world.serve({ MANAGEMENT_PORT: '0' })
  await service.logged(/^joined/)
  await world.publish(manyEvents(6, 2))
  await world.caughtUp()
  // Offsets are committed at most once a second.
  const committed = await until(
    async () => {
      const one = await check('committed offsets', world.env)
      return one.detail.includes(ours) && one
    },
    { what: 'the offsets to be committed', intervalMs: 500 },
  )
  t.match(committed, { status: 'ok' })

  const env = { ...world.env, DATABASE_URL: staging.url }
  const other = await world.serve({ DATABASE_URL: staging.url })
  t.teardown(async () => {
    await other.stop()
    await staging.drop()
  })
  t.match(await other.logged(FOREIGN), { level: 'error', remedy: /its own MQ_GROUP_ID/ })
  t.match((await service.logged(FOREIGN)).msg, new RegExp(`${theirs} \\(.*this one is ${ours} \\(.*/test_`))
  for (const [databases, wanted] of [
    [world.env, theirs],
    [env, ours],
  ] as const)
    t.match(await check('committed offsets', databases), {
      status: 'failed',
      detail: new RegExp(`${wanted} \\(`),
      remedy: /MQ_GROUP_ID/,
    })
  const url = await service.managementUrl()
  const response = await fetch(`${url}/startupz`)
  t.equal(response.status, 200, 'which ends no replica')
  t.match(await response.json(), { status: 'started', warning: FOREIGN })
  t.equal((await scrape(url)).value('notifications_foreign_database', { database: theirs }), 1)
  const audited = await command(['audit', '--json'], world.env)
  t.equal(audited.code, 1)
  t.match(jsonLines(audited.stdout).at(-1), { sound: false, lost: 0 })
  t.ok(jsonLines(audited.stdout).at(-1).foreign > 0)

  await other.stop()
  await service.logged(/^no other database commits offsets/)
  t.match(await check('committed offsets', world.env), { status: 'ok' })
})

t.test('a restored database is named before it is read again', { skip: SKIP_MOCK }, async (t) => {
  const world = await aWorld(t)
  const { claims } = world.topics
  const first = await world.serve()
  await world.publish(manyEvents(30, 2))
  await world.caughtUp()
  const restore = `
    WITH gone AS (DELETE FROM notifications.decision WHERE topic = $1 AND "offset" >= 2 RETURNING locator),
    without AS (DELETE FROM notifications.notification_log WHERE locator IN (SELECT locator FROM gone))
    UPDATE notifications.projection_checkpoints SET "offset" = 1 WHERE topic = $1`
  await world.publish(manyEvents(30, 2))
  await world.sql(restore, [claims])
  const line = await first.logged(LOST)
  t.match(line, { level: 'error', topic: claims, checkpoint: '1', remedy: /same idempotency keys/ })
  await world.caughtUp()
  await first.stop()

  await world.sql(restore, [claims])
  t.match(await check('committed offsets', world.env), {
    status: 'failed',
    detail: new RegExp(`${claims}/0: this database has lost the rows of up to 8 messages`),
    remedy: /checkpoints set --to committed/,
  })
  const audited = await command(['audit', '--json', '--topic', claims], world.env)
  t.match(jsonLines(audited.stdout).at(-1), { sound: false, lost: 16, foreign: 0 })
  const set = ['checkpoints', 'set', '--to', 'committed', '--because', 'a test', '--yes']
  t.match(await command([...set, '--dry-run'], world.env), {
    code: 0,
    stdout: new RegExp(`^${claims}/0 {2}checkpoint 1, to be 9: 10 is the first`, 'm'),
  })
  const never = { ...world.env, MQ_GROUP_ID: `${world.groupId}-never` }
  // As three minutes after its last replica of another group.
  await world.sql('DELETE FROM notifications.replica')
  t.match(await command(set, never), { code: 1, stderr: /has committed no offset of these partitions/ })
  const second = await world.serve({ MANAGEMENT_PORT: '0' })
  t.match(await second.logged(LOST), { level: 'error', topic: claims, checkpoint: '1', committed: '9' })
  await world.caughtUp()
  const { value } = await scrape(await second.managementUrl())
  t.equal(value('notifications_rows_lost_total', { topic: claims }), 16)
  await second.stop()
  t.match(await check('committed offsets', world.env), { status: 'ok' })
  t.match(await command(['audit'], world.env), { code: 0 })
})
