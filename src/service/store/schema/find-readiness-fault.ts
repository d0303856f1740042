import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { databaseMessage, lacksRight, lacksSchema } from '../connection/errors.ts'
import { sqlArray, sqlColumns } from '../sql/columns.ts'
import {
  isAddition,
  listParts,
  type Migration,
  partFault,
  type SchemaChange,
  type SchemaFault,
  textFault,
} from './migration.ts'

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
  erasure: ['SELECT'],
  database_identity: ['SELECT'],
} as const
/** Without these rights the service works, but does not notice other replicas. */
const USEFUL = { replica: ['SELECT', 'INSERT', 'UPDATE'] } as const

const state = z.object({ encoding: z.string(), isReadOnly: z.boolean() })

/** Null if the service can work. Rejects if the database does not answer. */
export async function findReadinessFault(
  pool: DatabasePool,
  migrations: readonly Migration[],
): Promise<SchemaFault | null> {
  try {
    return (
      (await faultOfMigrations(pool, migrations)) ??
      partFault((await findSchemaChanges(pool, migrations)).filter(({ kind }) => IS_RELIED_ON[kind])) ??
      (await faultOfState(pool))
    )
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (lacksSchema(error))
      return {
        problem: `the schema does not match this version (${databaseMessage(error)})`,
        remedy: 'restore what is missing',
      }
    if (!lacksRight(error)) throw error
    return { problem: databaseMessage(error), remedy: GRANTS }
  }
}

const GRANTS = "name the service's role in DATABASE_URL, or run db/grants.sql as the owner of the schema"

async function faultOfState(pool: DatabasePool): Promise<SchemaFault | null> {
  const { encoding, isReadOnly } = await pool.one(sql.type(state)`
    SELECT current_setting('server_encoding') AS encoding,
      current_setting('transaction_read_only') = 'on' AS "isReadOnly"`)
  const fault = encodingFault(encoding)
  if (fault !== null) return fault
  if (isReadOnly)
    return {
      problem: 'the database is read-only',
      remedy: 'point DATABASE_URL at the primary, or set default_transaction_read_only to off',
    }
  return rightFault(pool, NEEDED)
}

/** The fault if optional rights are missing, or null. */
export async function findLackOfUsefulRights(pool: DatabasePool): Promise<SchemaFault | null> {
  return rightFault(pool, USEFUL)
}

const rights = z.object({ user: z.string(), missing: z.array(z.string()) })

/** Includes the right to make ids, which each insert needs. */
async function rightFault(
  pool: DatabasePool,
  needed: Readonly<Record<string, readonly string[]>>,
): Promise<SchemaFault | null> {
  const pairs = Object.entries(needed).flatMap(([table, rights]) =>
    rights.map((right) => ({ right, table: `notifications.${table}` })),
  )
  const column = sqlColumns(pairs)
  const { user, missing } = await pool.one(sql.type(rights)`
    SELECT quote_ident(current_user) AS "user", ARRAY(
      SELECT "right" || ' ON ' || "table"
      FROM unnest(${column('text', ({ right }) => right)}, ${column('text', ({ table }) => table)}) AS pair ("right", "table")
      WHERE NOT has_table_privilege("table", "right")
      UNION ALL
      SELECT 'EXECUTE ON FUNCTION notifications.next_id()'
      WHERE NOT has_function_privilege(to_regprocedure('notifications.next_id()'), 'EXECUTE')
    ) AS missing`)
  return missing.length === 0
    ? null
    : { problem: `the user ${user} lacks ${missing.join(', ')}`, remedy: GRANTS }
}

const appliedRow = z.object({ name: z.string(), checksum: z.string().nullable() })

async function faultOfMigrations(
  pool: DatabasePool,
  migrations: readonly Migration[],
): Promise<SchemaFault | null> {
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
    return {
      problem: `the schema lacks ${missing.map(({ name }) => name).join(', ')}`,
      remedy:
        'run the command `migrate` of this version with the DATABASE_URL of the owner of the schema, then db/grants.sql',
    }
  return textFault(applied, migrations)
}

/** True if a missing part or such an addition makes statements fail, loses or hides rows, or allows two rows for an event. */
const IS_RELIED_ON = {
  column: true,
  default: true,
  key: true,
  constraint: false,
  index: false,
  unlogged: true,
  rowSecurity: true,
  idOwner: true,
  trigger: false,
  rule: false,
  heir: false,
  limit: false,
} as const

/**
 * Missing parts of the schema, and additions to its tables. Empty if a newer version has migrated, which may have dropped or added
 * them.
 */
export async function findSchemaChanges(
  pool: CommonQueryMethods,
  migrations: readonly Migration[],
): Promise<readonly SchemaChange[]> {
  const names = migrations.map(({ name }) => name)
  const { isNewer, found } = await pool.one(sql.type(schemaRow)`
    SELECT
      EXISTS (SELECT FROM notifications.migration WHERE name <> ALL (${sqlArray('text', names)})) AS "isNewer",
      (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
          'kind', kind, 'table', 'notifications.' || made.relname, 'name', name, 'columns', columns
        )), '[]')
        FROM pg_class AS made, LATERAL (
          SELECT 'column', attname, NULL::name[] FROM pg_attribute WHERE attrelid = made.oid AND attnum > 0 AND NOT attisdropped
          UNION ALL
          SELECT 'default', attname, NULL FROM pg_attribute WHERE attrelid = made.oid AND attnum > 0 AND atthasdef
          UNION ALL
          SELECT 'constraint', conname, NULL FROM pg_constraint WHERE conrelid = made.oid AND contype NOT IN ('p', 'u')
          UNION ALL
          SELECT CASE WHEN indisunique THEN 'key' ELSE 'index' END, relname,
            ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = indexrelid ORDER BY attnum)
          FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
          WHERE indrelid = made.oid AND indisvalid AND indimmediate AND NOT (indisunique AND indpred IS NOT NULL)
          UNION ALL
          SELECT 'unlogged', made.relname, NULL WHERE made.relpersistence = 'u'
          UNION ALL
          SELECT 'rowSecurity', made.relname, NULL WHERE row_security_active(made.oid)
          UNION ALL
          SELECT 'trigger', tgname, NULL FROM pg_trigger
          WHERE tgrelid = made.oid AND NOT tgisinternal AND tgenabled IN ('O', 'A')
          UNION ALL
          SELECT 'rule', rulename, NULL FROM pg_rewrite WHERE ev_class = made.oid AND made.relkind = 'r'
          UNION ALL
          SELECT 'heir', inhrelid::regclass::name, NULL FROM pg_inherits WHERE inhparent = made.oid AND made.relkind = 'r'
          UNION ALL
          SELECT 'limit', conname, NULL FROM pg_constraint WHERE conrelid = made.oid AND contype IN ('c', 'f', 'x')
          UNION ALL
          SELECT 'limit', relname, NULL FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
          WHERE indrelid = made.oid AND indisunique
          UNION ALL
          SELECT 'idOwner', rolname, NULL FROM pg_proc JOIN pg_roles ON
            CASE WHEN prosecdef THEN pg_roles.oid = proowner ELSE rolname = current_user END
          WHERE pg_proc.oid = to_regprocedure('notifications.next_id()') AND made.oid = to_regclass('notifications.id_counter')
            AND NOT has_sequence_privilege(pg_roles.oid, made.oid, 'USAGE, UPDATE')
        ) AS part (kind, name, columns)
        WHERE relnamespace = to_regnamespace('notifications')
      ) AS found`)
  if (isNewer) return []
  const made = listParts(migrations)
  const tables = new Set([...made.map(({ table }) => table), 'notifications.id_counter'])
  const there = new Map(found.map(({ kind, table, name, columns }) => [`${kind} ${table} ${name}`, columns]))
  const missing = made.filter(({ kind, table, name, columns }) => {
    const has = there.get(`${kind} ${table} ${name}`)
    return has === undefined || (columns !== null && has !== null && !areSame(columns, has))
  })
  const madeNames = new Set(made.map(({ table, name }) => `${table} ${name}`))
  const added = found
    .filter(isAddition)
    .filter(
      ({ kind, table, name }) =>
        tables.has(table) && (kind !== 'limit' || !madeNames.has(`${table} ${name}`)),
    )
  return [...missing, ...added]
}

/** `""` stands for any quoted name. */
function areSame(made: readonly string[], found: readonly string[]): boolean {
  return made.length === found.length && made.every((name, i) => name === '""' || name === found[i])
}

const foundPart = z.object({
  kind: z.string(),
  table: z.string(),
  name: z.string(),
  columns: z.array(z.string()).nullable(),
})
const schemaRow = z.object({ isNewer: z.boolean(), found: z.array(foundPart) })

/** Null for UTF8. Other encodings refuse characters that events, names and texts may contain. */
export function encodingFault(encoding: string): SchemaFault | null {
  return encoding === 'UTF8'
    ? null
    : {
        problem: `the encoding of the database is ${encoding}, which cannot store every event`,
        remedy: `create a database with ENCODING 'UTF8' TEMPLATE template0, move the schema there with pg_dump and pg_restore, and name it in DATABASE_URL`,
      }
}
