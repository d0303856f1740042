import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import pg from 'pg'
import { connectionOf } from '../connection/tls.ts'

const MIGRATIONS_DIR = fileURLToPath(new URL('../../../db/migrations', import.meta.url))
/** Any fixed number: all replicas that migrate at once wait for the one that holds it. */
const MIGRATION_LOCK = 4_006_001

interface Log {
  info(fields: object, message: string): void
}

/**
 * Brings the schema up to date and returns the names of the migrations that it ran. All run in one transaction, under
 * an advisory lock that a second migrator waits for. Rejects with PostgreSQL's error if one fails: then none was applied.
 */
export async function migrate(databaseUrl: string, log: Log): Promise<string[]> {
  const { url, ssl } = connectionOf(databaseUrl)
  const client = new pg.Client({ connectionString: url, ssl, application_name: 'notifications-migrate' })
  await client.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
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
  } finally {
    await client.end()
  }
}

/** Names of all migrations that this version of the service needs, as recorded once applied. */
export async function knownMigrations(): Promise<string[]> {
  const files = await readdir(MIGRATIONS_DIR)
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .sort()
}
