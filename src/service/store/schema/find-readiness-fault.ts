import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { databaseMessage, lacksRight, lacksSchema } from '../connection/errors.ts'
import { sqlColumns } from '../sql/columns.ts'
import { columnFault, listColumns, type Migration, textFault } from './migration.ts'

/** The rights that `serve` needs on each table; db/grants.sql grants them. */
const NEEDED = {
  notification_log: ['SELECT', 'INSERT', 'UPDATE'],
  notification_preferences: ['SELECT', 'INSERT', 'UPDATE'],
  projection_checkpoints: ['SELECT', 'INSERT', 'UPDATE'],
  checkpoint_message: ['SELECT', 'INSERT', 'UPDATE'],
  decision: ['SELECT', 'INSERT'],
  preference_change: ['SELECT', 'INSERT'],
  rejected_message: ['SELECT', 'INSERT'],
  ruleset: ['SELECT', 'INSERT'],
  template_revision: ['SELECT', 'INSERT'],
  envelope_map: ['SELECT', 'INSERT'],
  rule_table_activation: ['SELECT', 'INSERT'],
  redrive: ['SELECT', 'INSERT'],
  request: ['SELECT', 'INSERT', 'UPDATE'],
  pruned_partition: ['SELECT'],
  database_identity: ['SELECT'],
} as const

const PAIRS = Object.entries(NEEDED).flatMap(([table, rights]) =>
  rights.map((right) => ({ right, table: `notifications.${table}` })),
)

const state = z.object({
  user: z.string(),
  encoding: z.string(),
  isReadOnly: z.boolean(),
  missing: z.array(z.string()),
})

export interface ReadinessFault {
  /** The reason why the service cannot work, with its remedy. */
  readonly text: string
  /** The role lacks a right; else the database is at fault. */
  readonly isOfRights: boolean
}

/** Null if the service can work. Rejects if the database does not answer. */
export async function findReadinessFault(
  pool: DatabasePool,
  migrations: readonly Migration[],
): Promise<ReadinessFault | null> {
  try {
    return (
      (await faultOfMigrations(pool, migrations)) ??
      (await faultOfColumns(pool, migrations)) ??
      (await faultOfState(pool))
    )
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (lacksSchema(error))
      return ofDatabase(
        `the schema does not match this version (${databaseMessage(error)}): restore what is missing`,
      )
    if (!lacksRight(error)) throw error
    return ofRights(`${databaseMessage(error)}: run db/grants.sql as the owner of the schema`)
  }
}

const ofDatabase = (text: string): ReadinessFault => ({ text, isOfRights: false })
const ofRights = (text: string): ReadinessFault => ({ text, isOfRights: true })

async function faultOfState(pool: DatabasePool): Promise<ReadinessFault | null> {
  const column = sqlColumns(PAIRS)
  const { user, encoding, isReadOnly, missing } = await pool.one(sql.type(state)`
    SELECT quote_ident(current_user) AS "user", current_setting('server_encoding') AS encoding,
      current_setting('transaction_read_only') = 'on' AS "isReadOnly",
      ARRAY(
        SELECT "right" || ' ON ' || "table"
        FROM unnest(${column('text', ({ right }) => right)}, ${column('text', ({ table }) => table)}) AS pair ("right", "table")
        WHERE NOT has_table_privilege("table", "right")
      ) AS missing`)
  const fault = encodingFault(encoding)
  if (fault !== null) return ofDatabase(fault)
  if (isReadOnly)
    return ofDatabase(
      'the database is read-only: point DATABASE_URL at the primary, or set default_transaction_read_only to off',
    )
  if (missing.length === 0) return null
  return ofRights(
    `the user ${user} lacks ${missing.join(', ')}: connect as the service's role, or run db/grants.sql as the owner of the tables`,
  )
}

const appliedRow = z.object({ name: z.string(), checksum: z.string().nullable() })

async function faultOfMigrations(
  pool: DatabasePool,
  migrations: readonly Migration[],
): Promise<ReadinessFault | null> {
  // As JSON: before the first `migrate` of a version that records checksums there is no such column.
  const applied = await pool
    .any(sql.type(appliedRow)`
      SELECT name, to_jsonb(migration) ->> 'checksum' AS checksum FROM notifications.migration`)
    .catch((error): readonly z.infer<typeof appliedRow>[] => {
      if (!lacksSchema(error)) throw error
      return []
    })
  const names = new Set(applied.map(({ name }) => name))
  const missing = migrations.filter(({ name }) => !names.has(name))
  if (missing.length > 0)
    return ofDatabase(
      `the schema lacks ${missing.map(({ name }) => name).join(', ')}: run the command \`migrate\` of this version: another version may lack it`,
    )
  const fault = textFault(applied, migrations)
  return fault === null ? null : ofDatabase(fault)
}

async function faultOfColumns(
  pool: DatabasePool,
  migrations: readonly Migration[],
): Promise<ReadinessFault | null> {
  const columns = listColumns(migrations)
  const column = sqlColumns(columns)
  const missing = new Set(
    await pool.anyFirst(sql.type(z.object({ place: z.string() }))`
      SELECT "table" || '.' || "column" AS place
      FROM unnest(${column('text', ({ table }) => table)}, ${column('text', (made) => made.column)}) AS made ("table", "column")
      WHERE NOT EXISTS (
        SELECT FROM pg_attribute WHERE attrelid = to_regclass("table") AND attname = "column" AND NOT attisdropped
      )`),
  )
  const fault = columnFault(columns.filter(({ table, column }) => missing.has(`${table}.${column}`)))
  return fault === null ? null : ofDatabase(fault)
}

/**
 * The reason why a database of this encoding cannot be used, with its remedy, or null. In any other than UTF8 the database refuses
 * characters that events, names and texts may contain.
 */
export function encodingFault(encoding: string): string | null {
  return encoding === 'UTF8'
    ? null
    : `the encoding of the database is ${encoding}, which cannot store every event: create a database with ENCODING 'UTF8' TEMPLATE template0, move the schema there with pg_dump and pg_restore, and name it in DATABASE_URL`
}
