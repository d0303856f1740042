import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { createConnector, startTransaction } from '../../service/store/connection/connect.ts'
import { databaseMessage, isDuplicate, isLocked } from '../../service/store/connection/errors.ts'
import { encodingFault } from '../../service/store/schema/find-readiness-fault.ts'
import {
  type AppliedMigration,
  describeFault,
  MIGRATIONS_DIR,
  type Migration,
  readMigrations,
  textFault,
} from '../../service/store/schema/migration.ts'
import { MIGRATION_LOCK } from '../../service/store/sql/advisory-locks.ts'
import { CorrectableError } from '../../service/text/faults.ts'
import { sqlStatements } from '../../service/text/sql-statements.ts'
import { findDifferences, missingGrant, SPELLING } from './compare-schema.ts'

const LOCK_POLL_MS = 500
/** Queries on a table queue behind a migration that waits for its lock. */
const LOCK_TIMEOUT = '500ms'
const RETRY_PAUSE_MS = 2_000
const TRY_COUNT_MAX = 60
const LACKING_SHOWN_MAX = 20

const NO_TIMEOUT = { statement_timeout: '0', lock_timeout: '0' }
const INDEX_CHANGE = /^(CREATE|DROP) .*\bCONCURRENTLY\b/i
const INDEX_CREATED = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (?:IF NOT EXISTS )?(\w+)/i

interface Log {
  info(fields: object, message: string): void
}

/**
 * Migrates the schema while others read and write, and returns the names of the applied migrations. A second migrator waits for the
 * first. Rejects with PostgreSQL's error if a migration fails; earlier ones stay applied.
 *
 * @param dir migrations, run in the order of their names
 */
export async function migrate(databaseUrl: string, log: Log, dir = MIGRATIONS_DIR): Promise<string[]> {
  const applicationName = 'notifications-migrate'
  const settings = { ...NO_TIMEOUT, ...SPELLING }
  const connect = createConnector({ databaseUrl, settings, applicationName })
  const { client: keeper } = await connect()
  try {
    await lock(keeper, log)
    const { client } = await connect()
    try {
      await requireEncoding(client)
      return await runMigrations(client, dir, log)
    } finally {
      await client.end()
    }
  } finally {
    // A pooler would end the transaction, and thus the lock, only some time after this connection.
    await keeper.query('ROLLBACK').catch(() => {})
    await keeper.end()
  }
}

/**
 * Takes a transaction-level lock on its own connection. It ends with the connection even through a pooler, which would keep a
 * session-level lock. A session waiting for it would block CREATE INDEX CONCURRENTLY.
 */
async function lock(keeper: pg.Client, log: Log): Promise<void> {
  for (let isFirst = true; ; isFirst = false) {
    await keeper.query(startTransaction({ idle_in_transaction_session_timeout: '0' }))
    // Without a parameter, whose portal would keep a snapshot that CREATE INDEX CONCURRENTLY waits for.
    const { rows } = await keeper.query(`SELECT pg_try_advisory_xact_lock(${MIGRATION_LOCK}) AS locked`)
    if (rows[0]?.locked) return
    await keeper.query('ROLLBACK')
    if (isFirst) log.info({}, 'waiting for another migration to end')
    await sleep(LOCK_POLL_MS)
  }
}

async function requireEncoding(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`SELECT current_setting('server_encoding') AS encoding`)
  const fault = encodingFault(rows[0]?.encoding)
  if (fault !== null) throw new CorrectableError(describeFault(fault))
}

async function runMigrations(client: pg.Client, dir: string, log: Log): Promise<string[]> {
  const migrations = await readMigrations(dir)
  const applied = await appliedTo(client)
  const names = new Set(applied.map(({ name }) => name))
  const fault = textFault(applied, migrations)
  if (fault !== null) throw new CorrectableError(describeFault(fault))
  const missing = migrations.filter(({ name }) => !names.has(name))
  for (const migration of missing) {
    const { name, source } = migration
    log.info({ migration: name }, 'migrating')
    if (sqlStatements(source).some((statement) => INDEX_CHANGE.test(statement))) {
      await changeIndex(client, source)
      await inTransaction(client, `${RECORDS};\n${record(migration)}`)
    } else {
      await untilUnlocked(name, log, () =>
        inTransaction(client, `${RECORDS};\n${source};\n${record(migration)}`),
      ).catch((error) => {
        throw isDuplicate(error) ? unrecorded(migration, error) : error
      })
    }
  }
  await requireSameSchema(client, log, applied, migrations)
  if (applied.some(({ checksum }) => checksum === null)) await adoptTexts(client, log, migrations)
  return missing.map(({ name }) => name)
}

/**
 * Throws CorrectableError if the schema lacks parts of these migrations. A newer version may have dropped some; then only
 * migrations without a checksum count, whose text may have differed.
 */
async function requireSameSchema(
  client: pg.Client,
  log: Log,
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): Promise<void> {
  const haveChecksums = applied.every(({ checksum }) => checksum !== null)
  const known = new Set(migrations.map(({ name }) => name))
  if (haveChecksums && applied.some(({ name }) => !known.has(name))) return
  const grant = await missingGrant(client)
  if (grant !== null && haveChecksums) {
    log.info({ grant }, 'the schema is not compared with its migrations: that needs temporary tables')
    return
  }
  if (grant !== null)
    throw new CorrectableError(
      `the schema was migrated by a version that recorded no checksums, and is compared with its migrations once, in temporary tables: run ${grant}, run \`migrate\`, and revoke it`,
    )
  const lacking = await findDifferences(client, migrations)
  if (lacking.length === 0) return
  throw new CorrectableError(
    [
      'another text of a migration was applied, or the schema was changed since. It lacks:',
      ...lacking.slice(0, LACKING_SHOWN_MAX),
      `${lacking.length} in all. Correct the schema, and run \`migrate\` again`,
    ].join('\n'),
  )
}

/** Records the checksums of migrations applied without one, once the schema matches them. */
async function adoptTexts(client: pg.Client, log: Log, migrations: readonly Migration[]): Promise<void> {
  await untilUnlocked('the table of migrations', log, () =>
    inTransaction(
      client,
      [
        RECORDS,
        ...migrations.map(
          ({ name, checksum }) =>
            `UPDATE notifications.migration SET checksum = '${checksum}' WHERE name = '${name}' AND checksum IS NULL`,
        ),
      ].join(';\n'),
    ),
  )
}

/** IF NOT EXISTS would require the right to create schemas even if the schema exists. */
const RECORDS = `
  DO $$ BEGIN
    IF to_regnamespace('notifications') IS NULL THEN CREATE SCHEMA notifications; END IF;
  END $$;
  CREATE TABLE IF NOT EXISTS notifications.migration (
    id serial PRIMARY KEY, name varchar(255) NOT NULL, run_on timestamp NOT NULL, checksum text
  );
  ALTER TABLE notifications.migration ADD COLUMN IF NOT EXISTS checksum text`

/** `migrate` cannot know whether the migration also changed rows. */
function unrecorded(migration: Migration, cause: Error): CorrectableError {
  return new CorrectableError(
    [
      `${migration.name} makes what the schema has already (${databaseMessage(cause)}), and notifications.migration does not have its row.`,
      'If it was applied, record it as the owner of the schema, and run `migrate` again, which names all that differs; else remove what is there:',
      `${record(migration).replaceAll(/\s+/g, ' ').trim()};`,
    ].join('\n'),
    { cause },
  )
}

/** Numbered by the rows, under the lock: after logical replication the sequence would begin at 1. */
function record({ name, checksum }: Migration): string {
  return `
    INSERT INTO notifications.migration (id, name, run_on, checksum)
    SELECT coalesce(max(id), 0) + 1, '${name}', now(), '${checksum}' FROM notifications.migration`
}

async function appliedTo(client: pg.Client): Promise<readonly AppliedMigration[]> {
  const { rows } = await client.query(`SELECT to_regclass('notifications.migration') IS NOT NULL AS exist`)
  if (!rows[0]?.exist) return []
  const { rows: applied } = await client.query(
    `SELECT name, to_jsonb(migration) ->> 'checksum' AS checksum FROM notifications.migration`,
  )
  return applied
}

async function inTransaction(client: pg.Client, statements: string): Promise<void> {
  await client.query(startTransaction({ ...NO_TIMEOUT, ...SPELLING, lock_timeout: LOCK_TIMEOUT }))
  try {
    await client.query(statements)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

async function untilUnlocked(migration: string, log: Log, run: () => Promise<void>): Promise<void> {
  for (let tryCount = 1; ; tryCount++) {
    try {
      return await run()
    } catch (error) {
      if (!isLocked(error)) throw error
      const remedy = 'find what holds it in pg_stat_activity and pg_prepared_xacts, and run `migrate` again'
      if (tryCount === TRY_COUNT_MAX) throw new Error(`${migration} could not lock its table: ${remedy}`)
      log.info({ migration, tryCount }, 'another session holds a lock: trying again')
      await sleep(RETRY_PAUSE_MS)
    }
  }
}

/** An interrupted build leaves an INVALID index, which slows writes and serves no read. */
async function changeIndex(client: pg.Client, source: string): Promise<void> {
  await requireNoTimeout(client)
  const [, name] = INDEX_CREATED.exec(sqlStatements(source)[0] ?? '') ?? []
  if (name !== undefined) {
    const { rows } = await client.query(
      `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('notifications.' || $1)`,
      [name],
    )
    if (rows[0]?.valid === true) return
    if (rows[0]?.valid === false) await client.query(`DROP INDEX CONCURRENTLY notifications.${name}`)
  }
  await client.query(source)
}

/** Through a pooler, statements outside transactions get the timeouts of role and database. A timeout would leave an INVALID index. */
async function requireNoTimeout(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `SELECT name FROM pg_settings WHERE name = ANY ($1) AND setting <> '0' ORDER BY name`,
    [Object.keys(NO_TIMEOUT)],
  )
  if (rows.length === 0) return
  const timeouts = rows.map(({ name }) => name).join(' and ')
  throw new Error(
    `${timeouts} would interrupt the change of an index: run \`migrate\` on a direct connection, or unset it for role and database`,
  )
}
