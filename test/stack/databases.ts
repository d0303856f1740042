import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import type { Test } from 'tap'
import { migrate } from '../../src/operations/migrate/apply-migrations.ts'
import { until } from './until.ts'

export interface Database {
  url: string
  /** Waits a moment for connections to end, then breaks off whatever is still connected. */
  drop(): Promise<void>
}

/** Waiters for an advisory lock of this database only: parallel tests share the server. */
export const ADVISORY_LOCK_WAITS = `
  SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database
  WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()`

const MIGRATIONS_DIR = new URL('../../db/migrations/', import.meta.url)
/** A pool's `end` resolves before its connections have ended, and a terminated one throws in its process. A busy machine takes seconds. */
const CONNECTIONS_END_MS_MAX = 10_000
/** One of the numbers of src/service/store/sql/advisory-locks.ts: one test file creates the template, and the others wait. */
const TEMPLATE_LOCK = 4_006_002

/**
 * A fresh database for one test file.
 * @param template database to clone; nobody may be connected to it
 * @param options more options of CREATE DATABASE
 */
export async function createDatabase(
  serverUrl = serverFromEnvironment(),
  template = 'template1',
  options = '',
): Promise<Database> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await onServer(serverUrl, (client) =>
    client.query(`CREATE DATABASE ${name} TEMPLATE ${template} ${options}`),
  )
  return {
    url: databaseUrl(serverUrl, name),
    drop: () =>
      onServer(serverUrl, async (client) => {
        const isUnused = async () =>
          (await client.query('SELECT FROM pg_stat_activity WHERE datname = $1', [name])).rowCount === 0
        const patience = { timeoutMs: CONNECTIONS_END_MS_MAX, intervalMs: 10 }
        await until(isUnused, { what: 'its connections to end', ...patience }).catch(() => {})
        await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      }),
  }
}

/** A fresh database with all migrations applied, cloned from a template that the first caller makes. */
export async function createMigratedDatabase(serverUrl = serverFromEnvironment()): Promise<Database> {
  const template = `template_${await migrationsHash()}`
  await onServer(serverUrl, async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK])
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [template])
    if (rowCount === 0) await makeTemplate(client, serverUrl, template)
  })
  return createDatabase(serverUrl, template)
}

/** One that is dropped with its test. */
export async function aDatabase(t: Test): Promise<Database> {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  return database
}

/** Renames the template once it is complete, so that a failed migration leaves no partial one. */
async function makeTemplate(client: pg.Client, serverUrl: string, template: string): Promise<void> {
  const draft = `${template}_draft`
  await client.query(`DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`)
  await client.query(`CREATE DATABASE ${draft}`)
  await migrate(databaseUrl(serverUrl, draft), { info: () => {} })
  await client.query(`ALTER DATABASE ${draft} RENAME TO ${template}`)
}

/** Names the template after its migrations, so that it is never stale. */
async function migrationsHash(): Promise<string> {
  const hash = createHash('sha256')
  for (const file of (await readdir(MIGRATIONS_DIR)).sort()) {
    hash.update(`${file}\0`).update(await readFile(new URL(file, MIGRATIONS_DIR)))
  }
  return hash.digest('hex').slice(0, 16)
}

/** Works on a connection of its own. */
export async function onServer<T>(serverUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: serverUrl })
  // The query that was under way reports a lost connection.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}

function serverFromEnvironment(): string {
  const url = process.env.DATABASE_URL
  if (!url)
    throw new Error('DATABASE_URL is not set: run this under node test/stack/with-stack.ts -- <command>')
  return url
}
