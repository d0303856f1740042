import pg from 'pg'
import t from 'tap'
import { createDatabase, createMigratedDatabase } from './databases.ts'
import { startPostgres } from './postgres.ts'
import { until } from './until.ts'

const postgres = await startPostgres()
t.teardown(() => postgres.close())

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

t.test('commits to disk like a real database and takes many connections', async (t) => {
  const settings = await query(
    postgres.url,
    `SELECT name, setting FROM pg_settings
     WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'max_connections') ORDER BY name`,
  )
  t.strictSame(settings, [
    { name: 'fsync', setting: 'on' },
    { name: 'full_page_writes', setting: 'on' },
    { name: 'max_connections', setting: '300' },
    { name: 'synchronous_commit', setting: 'on' },
  ])
})

t.test('a database is fresh, and gone once dropped, even with a connection open', async (t) => {
  const first = await createDatabase(postgres.url)
  const second = await createDatabase(postgres.url)
  await query(first.url, 'CREATE TABLE seen (id int)')
  await t.rejects(query(second.url, 'SELECT FROM seen'), { code: '42P01' })

  const open = new pg.Client({ connectionString: first.url })
  open.on('error', () => {})
  await open.connect()
  await first.drop()
  await second.drop()
  await t.rejects(query(first.url, 'SELECT 1'), { code: '3D000' })
})

t.test('test files that start at once all get a migrated database from one template', async (t) => {
  const databases = await Promise.all(Array.from({ length: 4 }, () => createMigratedDatabase(postgres.url)))
  for (const { url } of databases) {
    t.strictSame(await query(url, 'SELECT count(*)::int AS n FROM notifications.notification_log'), [
      { n: 0 },
    ])
  }
  t.strictSame(
    await query(postgres.url, `SELECT count(*)::int AS n FROM pg_database WHERE datname LIKE 'template\\_%'`),
    [{ n: 1 }],
  )
  await Promise.all(databases.map((database) => database.drop()))
})

t.test('starts again on the same port with its data, after a stop and after a kill', async (t) => {
  await query(postgres.url, 'CREATE TABLE kept AS SELECT 1 AS id')
  // A query that keeps its process busy must not stand in the way of the next start.
  const busy = query(postgres.url, 'SELECT count(*) FROM generate_series(1, 1000000000)').catch(
    () => 'cut off',
  )
  await until(
    async () =>
      (
        await query(
          postgres.url,
          `SELECT FROM pg_stat_activity WHERE query LIKE '%generate_series%' AND pid <> pg_backend_pid() AND state = 'active'`,
        )
      ).length === 1,
    { what: 'the query to run' },
  )
  await postgres.kill()
  t.equal(postgres.pid(), undefined)
  t.equal(await busy, 'cut off')
  await t.rejects(query(postgres.url, 'SELECT 1'), { code: 'ECONNREFUSED' })
  await postgres.start()
  await postgres.stop()
  await postgres.start()
  t.strictSame(await query(postgres.url, 'SELECT id FROM kept'), [{ id: 1 }])
})

t.test('names the remedy when no server is named', async (t) => {
  const before = process.env.DATABASE_URL
  delete process.env.DATABASE_URL
  t.teardown(() => {
    if (before !== undefined) process.env.DATABASE_URL = before
  })
  await t.rejects(createMigratedDatabase(), /with-stack\.ts/)
})
