import t from 'tap'
import { openPool } from '../../../src/postgres/connection/pool.ts'
import { findReadinessFault } from '../../../src/postgres/schema/find-readiness-fault.ts'
import { knownMigrations } from '../../../src/postgres/schema/migrate.ts'
import { openDatabase } from '../fixtures.ts'

const { url, client } = await openDatabase(t)
const migrations = await knownMigrations()
const user = `limited_${process.pid}`
const limited = new URL(url)
limited.username = user
await client.query(`CREATE ROLE ${user} LOGIN`)
t.teardown(async () => {
  await client.query(`DROP OWNED BY ${user}`)
  await client.query(`DROP ROLE ${user}`)
})
const pool = await openPool({ databaseUrl: limited.href, connectionCountMax: 1 })
t.teardown(() => pool.end())
const fault = () => findReadinessFault(pool, migrations)

t.test('missing rights are reported one by one, and no other right is needed', async (t) => {
  t.match(await fault(), /permission denied for schema notifications: run db\/grants.sql/)
  await client.query(`GRANT USAGE ON SCHEMA notifications TO ${user}`)
  t.match(await fault(), /permission denied for table migration: run db\/grants.sql/)
  await client.query(`GRANT SELECT ON ALL TABLES IN SCHEMA notifications TO ${user}`)
  const reason = await fault()
  const missing: readonly string[] = reason?.match(/(INSERT|UPDATE|DELETE) ON notifications\.\w+/g) ?? []
  t.ok(missing.includes('INSERT ON notifications.decision'), reason ?? '')
  t.match(
    reason,
    new RegExp(
      `^the user ${user} lacks .*: connect as the service's role, or run db/grants.sql as the owner of the tables$`,
    ),
  )
  for (const right of missing) await client.query(`GRANT ${right} TO ${user}`)
  t.equal(await fault(), null)
})

t.test('a missing table is reported', async (t) => {
  await client.query('ALTER TABLE notifications.decision RENAME TO moved')
  t.match(await fault(), /relation "notifications.decision" does not exist/)
  await client.query('ALTER TABLE notifications.moved RENAME TO decision')
})
