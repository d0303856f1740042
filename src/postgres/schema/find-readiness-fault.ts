import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { databaseMessage, lacksRight, lacksSchema } from '../connection/errors.ts'
import { sqlColumns } from '../sql/columns.ts'

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
  migrations: readonly string[],
): Promise<ReadinessFault | null> {
  try {
    return (await missingMigrations(pool, migrations)) ?? (await faultOfState(pool))
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

async function missingMigrations(
  pool: DatabasePool,
  names: readonly string[],
): Promise<ReadinessFault | null> {
  const name = z.object({ name: z.string() })
  const applied = await pool
    .anyFirst(sql.type(name)`SELECT name FROM notifications.migration`)
    .catch((error): readonly string[] => {
      if (!lacksSchema(error)) throw error
      return []
    })
  const missing = names.filter((migration) => !applied.includes(migration))
  return missing.length === 0
    ? null
    : ofDatabase(
        `the schema lacks ${missing.join(', ')}: run the command \`migrate\` of this version: another version may lack it`,
      )
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
