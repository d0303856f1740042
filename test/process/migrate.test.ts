import pg from 'pg'
import t, { type Test } from 'tap'
import { ADVISORY_LOCK_WAITS, createDatabase, onServer } from '../stack/databases.ts'
import { NO_PGBOUNCER, startPgBouncer } from '../stack/pgbouncer.ts'
import { until } from '../stack/until.ts'
import { spawned } from './command.ts'

/** The lock of src/service/store/sql/advisory-locks.ts. It never changes: replicas of different versions share it. */
const MIGRATION_LOCK = 4_006_001

async function anEmptyDatabase(t: Test, template?: string, options?: string) {
  const database = await createDatabase(undefined, template, options)
  const client = new pg.Client(database.url)
  await client.connect()
  t.teardown(async () => {
    await client.end()
    await database.drop()
  })
  const rows = async (query: string, values?: unknown[]) => (await client.query(query, values)).rows
  return { url: database.url, rows }
}

const TABLES = `SELECT table_name FROM information_schema.tables WHERE table_schema = 'notifications' ORDER BY 1`
const APPLIED = 'SELECT name FROM notifications.migration ORDER BY id'
/** Sessions that tried the lock in vain. */
const TRIED = `
  SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'notifications-migrate' AND query = 'ROLLBACK'`
const migrate = (url: string) => spawned(['migrate'], { DATABASE_URL: url })

t.test('migrate creates the schema; a second run changes nothing', async (t) => {
  const { url, rows } = await anEmptyDatabase(t)
  t.match(await migrate(url), { code: 0, stdout: /the schema was migrated/, stderr: '' })
  const tables = await rows(TABLES)
  const applied = await rows(APPLIED)
  for (const name of ['notification_log', 'notification_preferences', 'projection_checkpoints']) {
    t.ok(
      tables.some(({ table_name }) => table_name === name),
      name,
    )
  }
  t.match(await migrate(url), { code: 0, stdout: /the schema is up to date/, stderr: '' })
  t.strictSame(await rows(TABLES), tables)
  t.strictSame(await rows(APPLIED), applied)
})

t.test('a database that cannot store every text is refused, with the remedy', async (t) => {
  const latin1 = `ENCODING 'LATIN1' LOCALE 'C'`
  const { url, rows } = await anEmptyDatabase(t, 'template0', latin1)
  const said = /the encoding of the database is LATIN1.* create a database with ENCODING 'UTF8'/s
  t.match(await migrate(url), { code: 1, stderr: said })
  t.strictSame(await rows(TABLES), [])
  const env = { DATABASE_URL: url, MQ_BROKERS: '127.0.0.1:1', POLICY_ADMIN_URL: 'http://127.0.0.1:1' }
  t.match(await spawned(['doctor'], env), { code: 1, stdout: said })
})

t.test('`doctor` names a remedy that `migrate` accepts', async (t) => {
  const { url, rows } = await anEmptyDatabase(t)
  await migrate(url)
  const edit = (checksum: string) => rows(`UPDATE notifications.migration SET checksum = ${checksum}`)
  await edit(`'another'`)
  const env = { DATABASE_URL: url, MQ_BROKERS: '127.0.0.1:1', POLICY_ADMIN_URL: 'http://127.0.0.1:1' }
  const said = /set all checksums in notifications\.migration to null and run `migrate`/
  t.match(await spawned(['doctor'], env), { code: 1, stdout: said })
  t.match(await migrate(url), { code: 1, stderr: said })
  await edit('NULL')
  t.match(await migrate(url), { code: 0, stdout: /the schema is up to date/ })
  t.match((await spawned(['doctor'], env)).stdout, /migrations applied, all that this version has/)

  const index =
    'CREATE INDEX notification_log_party ON notifications.notification_log USING btree (party_locator, created_at)'
  await rows('DROP INDEX notifications.notification_log_party')
  const missing =
    /^warning +schema +the schema lacks the index notification_log_party of notifications\.notification_log,.*\n +→ run `migrate`/m
  t.match((await spawned(['doctor'], env)).stdout, missing)
  t.match(await migrate(url), {
    code: 1,
    stderr: new RegExp(index.replaceAll(/notifications\.|[()]/g, '.?')),
  })
  await rows(index)
  t.match(await migrate(url), { code: 0, stdout: /the schema is up to date/ })
})

t.test('the owner of a schema migrates it without the right to create one', async (t) => {
  const { url, rows } = await anEmptyDatabase(t)
  const role = `owner_${process.pid}`
  await rows(`CREATE ROLE ${role} LOGIN`)
  t.teardown(() => onServer(url, (client) => client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)))
  const ofOwner = new URL(url)
  ofOwner.username = role
  t.match(await migrate(ofOwner.href), { code: 1, stderr: /run CREATE SCHEMA notifications AUTHORIZATION/ })
  await rows(`CREATE SCHEMA notifications AUTHORIZATION ${role}`)
  t.match(await migrate(ofOwner.href), { code: 0, stdout: /the schema was migrated/ })
})

t.test('one of two simultaneous migrations waits for the other', async (t) => {
  const { url, rows } = await anEmptyDatabase(t)
  await rows('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
  const both = Promise.all([migrate(url), migrate(url)])
  await until(async () => (await rows(TRIED)).length === 2, { what: 'both to have tried the lock' })
  t.strictSame(await rows(ADVISORY_LOCK_WAITS), [], 'none waits in it')
  await rows('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK])
  const ended = await both
  t.strictSame(
    ended.map(({ code }) => code),
    [0, 0],
  )
  t.strictSame(ended.map(({ stdout }) => /the schema was migrated/.test(stdout)).sort(), [false, true])
  const applied = await rows(APPLIED)
  t.equal(new Set(applied.map(({ name }) => name)).size, applied.length)
})

t.test('migrate through a pooler leaves no lock behind', { skip: NO_PGBOUNCER }, async (t) => {
  for (const pool_mode of ['transaction', 'session']) {
    const { url, rows } = await anEmptyDatabase(t)
    const pooler = await startPgBouncer(url, { pool_mode, server_reset_query: '' })
    t.teardown(() => pooler.close())
    t.match(await migrate(pooler.through(url)), { code: 0, stdout: /the schema was migrated/ }, pool_mode)
    t.strictSame(
      await rows(
        `SELECT FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory' AND datname = current_database()`,
      ),
      [],
      pool_mode,
    )
    t.match(await migrate(pooler.through(url)), { code: 0, stdout: /the schema is up to date/ }, pool_mode)
  }
})
