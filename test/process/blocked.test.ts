import pg from 'pg'
import t from 'tap'
import type { ServiceStatus } from '../../src/service/model/service-status.ts'
import { writeBatch } from '../service/consume/records/write-batch.ts'
import { writeBomb } from '../service/consume/records/write-bomb.ts'
import { scrape } from '../stack/ask.ts'
import { produceRaw } from '../stack/kafka/produce-raw.ts'
import type { Service } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'
import { rowsOf } from './rows.ts'

const world = await aWorld(t, { partitionCount: 1 })
const service = await world.serve({ MANAGEMENT_PORT: '0' })
const managementUrl = await service.managementUrl()
const { claims } = world.topics

const metrics = () => scrape(managementUrl)
const place = { topic: claims, partition: '0' }
const isHeld = async (reason: string) =>
  (await metrics()).value('notifications_partition_blocked', { ...place, reason }) === 1

const loggedIds = async () =>
  new Set((await rowsOf(world, 'notification_log')).map(({ event_id }) => event_id))

/** Publishes an event to another topic and waits for its row. */
async function othersGoOn(): Promise<void> {
  const event = { ...anEvent(), topic: 'billing' as const }
  await world.publish([event])
  await until(async () => (await loggedIds()).has(event.eventId), { what: 'the event of another topic' })
}

t.test('a checkpoint that another session locks stops its own partition only', async (t) => {
  await world.publish([anEvent()])
  await world.caughtUp()
  const locker = new pg.Client({
    connectionString: world.databaseUrl,
    application_name: 'a-forgotten-shell',
  })
  await locker.connect()
  await locker.query('BEGIN')
  const { pid } = (await locker.query('SELECT pg_backend_pid() AS pid')).rows[0]
  await locker.query('SELECT FROM notifications.projection_checkpoints WHERE topic = $1 FOR UPDATE', [claims])
  const events = [anEvent(), anEvent()]
  await world.publish(events)
  await othersGoOn()
  await until(() => isHeld('locked'), { what: 'the metric to say so' })
  await othersGoOn()
  // A scrape does not wait for a broker that is slow.
  const isBehind = async () =>
    (await metrics()).value('notifications_consumer_lag_messages', place) === events.length
  await until(isBehind, { what: 'the metric to count what waits' })
  const { code, stdout } = await command(['doctor'], world.env)
  t.equal(code, 1)
  t.match(stdout, new RegExp(`${claims}/0 at offset 1, locked: .*held by one of`))
  t.match(
    stdout,
    `session ${pid} of user postgres, application "a-forgotten-shell", in a transaction since 2`,
  )
  await locker.query('ROLLBACK')
  await locker.end()
  await world.caughtUp()
  const ids = await loggedIds()
  t.ok(events.every(({ eventId }) => ids.has(eventId)))
  await until(async () => !(await isHeld('locked')), { what: 'the metric to say that it goes on' })
})

t.test('a batch too large to decompress is skipped by command, and nothing else is', async (t) => {
  const skip = (offset: number, ...more: string[]) => {
    const place = ['--topic', claims, '--partition', '0', '--offset', String(offset)]
    const because = ['--yes', '--by', 'ops', '--because', 'a test']
    return command(['rejected', 'skip', ...place, ...because, ...more], { DATABASE_URL: world.databaseUrl })
  }
  t.match(await skip(3), {
    code: 1,
    stdout: /stopped: nothing was skipped: the partition has nothing from offset 3 on/,
  })
  const [before, after] = [anEvent(), anEvent()]
  await world.publish([before])
  await produceRaw(world.brokers, claims, 0, writeBomb())
  await world.publish([after])
  await until(() => isHeld('too-large'), { what: 'the metric to say so' })
  await othersGoOn()
  t.ok((await loggedIds()).has(before.eventId), 'what comes before it is logged')
  t.match(await command(['doctor'], world.env), {
    code: 1,
    stdout: new RegExp(
      `${claims}/0 at offset 4, too-large: .*rejected skip --topic ${claims} --partition 0 --offset 4 --because`,
    ),
  })

  t.match(await skip(3), { code: 1, stdout: /is processed up to offset 3: nothing to skip/ })
  t.match(await skip(5), { code: 1, stdout: /is processed up to offset 3: offset 5 is not the next one/ })
  t.match(await skip(4, '--to', '5'), { code: 1, stdout: /nothing was skipped: offset 5 can be read/ })
  const place = ['--topic', claims, '--partition', '0', '--offset', '4', '--because', 'x']
  t.match(await command(['rejected', 'skip', ...place], world.env), { code: 2, stderr: /--yes/ })
  t.match(await skip(4), { code: 0, stdout: /done: 1 skipped/ })
  await world.caughtUp()
  await until(async () => (await loggedIds()).has(after.eventId), { what: 'what follows it' })
  await until(async () => !(await isHeld('too-large')), { what: 'the metric to say that it goes on' })
  const [kept, ...others] = await rowsOf(world, 'rejected_message')
  t.strictSame(others, [])
  t.match(kept, {
    topic: claims,
    partition_id: 0,
    offset: '4',
    code: 'unreadable',
    error: /larger than 268435456 bytes .*; skipped offsets 4 to 4 by ops; because: a test$/,
  })
  const redriven = await command(['rejected', 'redrive', '--all', '--yes', '--because', 'x'], world.env)
  t.match(redriven, { code: 0, stdout: /left unchanged: it is an unreadable record batch/ })
  t.match(await command(['doctor'], world.env), { code: 0, stdout: /3 partitions, none blocked/ })
  const audited = await command(['audit', '--topic', claims, '--json'], world.env)
  t.match(JSON.parse(audited.stdout), { sound: true, rows: 5, skipped: 1, unreadable: 0 })
  await world.sql(`DELETE FROM notifications.rejected_message WHERE code = 'unreadable'`)
  t.match(await command(['audit', '--topic', claims], world.env), {
    code: 1,
    stdout: `${claims}/0@4  unreadable: it is larger than`,
  })
})

t.test('a message with 100,000 header names costs one row, and HTTP still answers', async (t) => {
  const headers = Array.from({ length: 100_000 }, (_, i) => [`h${i}`, Buffer.alloc(0)] as const)
  const event = anEvent()
  const records = [{ value: event.value, headers }]
  await produceRaw(world.brokers, claims, 0, writeBatch({ baseOffset: 0, records }))
  await until(async () => (await loggedIds()).has(event.eventId), { what: 'its row' })
  t.equal((await fetch(`${service.url}/healthz`)).status, 200)
  t.equal(await service.stop(), 0)
})

t.test('the console of each replica shows what stops the others', async (t) => {
  const world = await aWorld(t, { partitionCount: 1 })
  const { claims } = world.topics
  await world.publish([anEvent()])
  await produceRaw(world.brokers, claims, 0, writeBomb())
  const services = [
    await world.serve({ MANAGEMENT_PORT: '0' }),
    await world.serve({ MANAGEMENT_PORT: '0' }),
  ] as const
  const readStatus = async ({ managementUrl }: Service) =>
    (await fetch(`${await managementUrl()}/console/data/status`)).json() as Promise<ServiceStatus>
  const addReplica = (troubles: object, seenAgo = '0 s') =>
    world.sql(
      `INSERT INTO notifications.replica (id, group_id, topics, database_oid, troubles, seen_at)
       SELECT gen_random_uuid(), $1, '{}', oid, $2, now() - $3::interval FROM pg_database WHERE datname = current_database()`,
      [world.groupId, JSON.stringify(troubles), seenAgo],
    )
  await addReplica({ written: 'by another version' })
  const stuck = { topic: claims, partition: 7, reason: 'locked', remedy: 'wait', isSkippable: false }
  const blocked = [{ ...stuck, offset: null, since: new Date().toISOString() }]
  await addReplica({ lookUps: null, lookUpsFailSince: null, blocked }, '2 min')
  await addReplica({ lookUps: 'policy administration is down', lookUpsFailSince: null, blocked: [] })
  // The second one's join takes the partition from the first one for a while, and a busy broker may not tell what waits.
  const statuses = await until(
    async () => {
      await world.sql(
        `UPDATE notifications.replica SET seen_at = now() WHERE troubles ->> 'lookUps' = 'policy administration is down'`,
      )
      const found = await Promise.all(services.map(readStatus))
      return found.every(({ blocked }) => blocked[0]?.waiting === 2) && found
    },
    { what: 'both consoles to show the blocked partition, and that 2 messages wait' },
  )
  for (const { blocked, lookUps, partitionCount } of statuses) {
    t.match(blocked, [{ topic: claims, partition: 0, reason: 'too-large', isSkippable: true }])
    t.strictSame([blocked.length, partitionCount], [1, 3])
    t.equal(lookUps, 'policy administration is down for another replica')
  }
})
