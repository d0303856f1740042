import { readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import type pg from 'pg'
import { createConnector } from '../connection/connect.ts'

const MIGRATIONS_DIR = fileURLToPath(new URL('../../../db/migrations', import.meta.url))
/** Any fixed number: all replicas that migrate at once wait for the one that holds it. */
const MIGRATION_LOCK = 4_006_001
const LOCK_POLL_MS = 500

interface Log {
  info(fields: object, message: string): void
}

/**
 * Brings the schema up to date and returns the names of the migrations that it ran. All run in one transaction, under
 * an advisory lock that a second migrator waits for. Rejects with PostgreSQL's error if one fails: then none was applied.
 */
export async function migrate(databaseUrl: string, log: Log): Promise<string[]> {
  const connect = createConnector({ databaseUrl, settings: {}, applicationName: 'notifications-migrate' })
  const { client: keeper } = await connect()
  try {
    await lock(keeper, log)
    const { client } = await connect()
    try {
      return await runMigrations(client, log)
    } finally {
      await client.end()
    }
  } finally {
    await keeper.end()
  }
}

/**
 * Takes the lock of an open transaction, on a connection of its own: that one ends with its connection, through a pooler
 * too, where a lock of the session would stay behind. A session that waits for it would hold up CREATE INDEX CONCURRENTLY.
 */
async function lock(keeper: pg.Client, log: Log): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    await keeper.query('START TRANSACTION; SET LOCAL idle_in_transaction_session_timeout = 0')
    const { rows } = await keeper.query('SELECT pg_try_advisory_xact_lock($1) AS locked', [MIGRATION_LOCK])
    if (rows[0]?.locked) return
    await keeper.query('ROLLBACK')
    if (isFirst) log.info({}, 'waiting for another migration to end')
    await sleep(LOCK_POLL_MS)
  }
}

async function runMigrations(client: pg.Client, log: Log): Promise<string[]> {
  const ran = await runner({
    dbClient: client,
    dir: MIGRATIONS_DIR,
    direction: 'up',
    schema: 'public',
    migrationsSchema: 'notifications',
    createMigrationsSchema: true,
    migrationsTable: 'migration',
    singleTransaction: true,
    noLock: true,
    log: (message) => log.info({}, message.trim()),
    verbose: false,
  })
  return ran.map((migration) => migration.name)
}

/** Names of all migrations that this version of the service needs, as recorded once applied. */
export async function knownMigrations(): Promise<string[]> {
  const files = await readdir(MIGRATIONS_DIR)
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .sort()
}
