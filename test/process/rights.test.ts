import { readFile } from 'node:fs/promises'
import pg from 'pg'
import t from 'tap'
import { openPool } from '../../src/service/store/connection/pool.ts'
import { ensureCheckpoint } from '../../src/service/store/write/checkpoints.ts'
import { addRequest, takeRequest } from '../../src/service/store/write/request-row.ts'
import { skipUnreadable } from '../../src/service/store/write/skip-unreadable.ts'
import { putPreferences, untilReady } from '../stack/ask.ts'
import { createDatabase, onServer } from '../stack/databases.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'

const world = await aWorld(t)
const database = await createDatabase()
const grants = await readFile(new URL('../../db/grants.sql', import.meta.url), 'utf8')
// Roles belong to the whole server, which other tests share.
const nameOf = (role: string) => `notifications_${role}_${process.pid}`
const urlOf = (role: string) => Object.assign(new URL(database.url), { username: nameOf(role) }).href
const envOf = (role: string) => ({ ...world.env, DATABASE_URL: urlOf(role) })
const ROLES = ['owner', 'service', 'operator']

await onServer(database.url, async (client) => {
  for (const role of ROLES) await client.query(`CREATE ROLE ${nameOf(role)} LOGIN`)
  await client.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} OWNER TO ${nameOf('owner')}`)
})
const client = new pg.Client(database.url)
await client.connect()
t.teardown(async () => {
  await client.end()
  await database.drop()
  await onServer(world.databaseUrl, async (client) => {
    for (const role of ROLES) await client.query(`DROP ROLE ${nameOf(role)}`)
  })
})
const rowsOf = async (query: string) => (await client.query(query)).rows

const OWNS = /^the database role \S+ (owns the tables|is a superuser)/

t.test('the rights of db/grants.sql are enough for owner and service', async (t) => {
  t.match(await command(['migrate'], envOf('owner')), { code: 0 })
  await onServer(urlOf('owner'), (client) =>
    client.query(grants.replaceAll(/notifications_(owner|service|operator)\b/g, (_, role) => nameOf(role))),
  )
  const service = await world.serve({ DATABASE_URL: urlOf('service'), MANAGEMENT_PORT: '0' })
  await untilReady(service.url)
  t.notOk(service.lines.some(({ msg }) => OWNS.test(msg)))
  const preferences = { email: 'member@example.com', optedOutEvents: ['claim.paid'] }
  for (const party of ['party-1', 'party-1', 'party-2'])
    t.match(await putPreferences(service.url, party, preferences), { status: 200 })
  await world.publish([
    anEvent(),
    anEvent({ partyLocator: 'party-3' }),
    anEvent({ partyLocator: 'error-1' }),
    { value: 'not an event' },
    { value: '{"partyLocator": "party-3"}' },
  ])
  await until(async () => (await rowsOf('SELECT FROM notifications.notification_log')).length === 3, {
    what: '3 rows',
  })
  await until(async () => (await rowsOf('SELECT FROM notifications.rejected_message')).length === 2, {
    what: '2 rejected',
  })
  t.match(await command(['doctor'], envOf('service')), { code: 0, stdout: /ok +schema.*ok +role/s })
  await service.stop()
  await client.query(
    `UPDATE notifications.rejected_message SET value = $1, code = 'refused-by-database' WHERE value = 'not an event'`,
    [anEvent({ partyLocator: 'party-3' }).value],
  )
  await client.query(
    `UPDATE notifications.rejected_message SET rejected_at = now() - interval '2 days' WHERE code <> 'refused-by-database'`,
  )
  await client.query(
    `UPDATE notifications.notification_log SET created_at = now() - interval '2 days' WHERE status = 'SENT'`,
  )
})

const COMMANDS = [
  ['retry', '--since', '1h', '--because', 'an outage', '--yes'],
  ['rejected', 'redrive', '--all', '--because', 'an outage', '--yes'],
  ['erase', '--party', 'party-3', '--yes'],
  ['erase', '--party', 'party-1', '--yes'],
  ['replay', '--rebuild'],
  ['prune', '--older-than', '1d', '--yes'],
]

t.test(
  'the rights of the operator are enough for each command that writes, those of the service for what it is asked',
  async (t) => {
    const service = await world.serve({ DATABASE_URL: urlOf('service') })
    for (const args of COMMANDS) {
      const { stderr } = await command(args, envOf('operator'))
      t.notMatch(stderr, /permission denied/, args.join(' '))
    }
    t.match(await command(['requests', 'list'], envOf('operator')), {
      stdout: /done: 1 logged, 1 left unchanged .*\n.*done/,
    })
    await service.stop()
    t.match(await command(['doctor'], envOf('operator')), {
      code: 1,
      stdout: /^failed +schema .*\n +→ name the service's role in DATABASE_URL, or /m,
    })
  },
)

t.test('the rights of the service are enough to skip what cannot be read', async (t) => {
  const pool = await openPool({ databaseUrl: urlOf('service'), connectionCountMax: 1 })
  t.teardown(() => pool.end())
  const topic = world.topics.claims
  const { offset: checkpoint } = await ensureCheckpoint(pool, topic, 0)
  const rejection = { code: 'unreadable' as const, error: 'it is damaged' }
  const damaged = { topic, partition: 0, checkpoint, to: checkpoint + 3n, bytes: Buffer.of(1), rejection }
  const target = { topic, partition: 0, offset: String(checkpoint + 1n) }
  await addRequest(pool, { kind: 'skip', target }, 'alice', 'a test')
  const request = await takeRequest(pool, [{ topic, partition: 0 }], false)
  if (request === null) throw new Error('no request was taken')
  await skipUnreadable(pool, request, damaged)
  t.match(await ensureCheckpoint(pool, topic, 0), { offset: checkpoint + 3n, lastMessage: null })
  t.equal(await takeRequest(pool, [{ topic, partition: 0 }], false), null, 'it is done')
})

t.test('a command under the rights of the service says which rights it needs', async (t) => {
  t.match(await command(['erase', '--party', 'party-2', '--yes'], envOf('service')), {
    code: 1,
    stderr:
      /^permission denied for table \w+: run this command as a role with the rights of the operator in db\/grants.sql\n$/,
  })
})
