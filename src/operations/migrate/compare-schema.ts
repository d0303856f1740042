import type pg from 'pg'
import { createConnector, startTransaction } from '../../service/store/connection/connect.ts'
import { APPLICATION_NAME } from '../../service/store/connection/pool.ts'
import type { Migration } from '../../service/store/schema/migration.ts'

/** Settings for the texts of migrations and definitions, whatever the database or the role is set to. */
export const SPELLING = { standard_conforming_strings: 'on', quote_all_identifiers: 'off' }

/**
 * Functions, tables, columns, constraints and indexes of these migrations that the schema lacks, as PostgreSQL defines them. Runs
 * the migrations again for temporary tables, and rolls back. Additional parts are no fault: a newer version may have made them.
 */
export async function findDifferences(
  client: pg.Client,
  migrations: readonly Migration[],
): Promise<string[]> {
  await client.query(startTransaction({ statement_timeout: '0', lock_timeout: '0', ...SPELLING }))
  try {
    for (const { source } of migrations)
      await client.query(
        source.replaceAll(/\bnotifications\./g, 'pg_temp.').replaceAll(/\bCONCURRENTLY\b/gi, ''),
      )
    const { rows } = await client.query(
      `SELECT definition FROM (${definitions('pg_my_temp_schema()')}) AS made
      WHERE compared NOT IN (SELECT compared FROM (${definitions(`to_regnamespace('notifications')`)}) AS found) ORDER BY 1`,
    )
    return rows.map(({ definition }) => definition)
  } finally {
    await client.query('ROLLBACK').catch(() => {})
  }
}

/** The differences for a role that may not be the owner; null if it may not make temporary tables. */
export async function compareSchema(
  databaseUrl: string,
  migrations: readonly Migration[],
): Promise<readonly string[] | null> {
  const settings = { statement_timeout: '15s', ...SPELLING }
  const { client } = await createConnector({ databaseUrl, settings, applicationName: APPLICATION_NAME })()
  try {
    return (await missingGrant(client)) === null ? await findDifferences(client, migrations) : null
  } finally {
    await client.end()
  }
}

/** The statement that grants the right to make temporary tables, or null if it is granted. */
export async function missingGrant(client: pg.Client): Promise<string | null> {
  const { rows } = await client.query(
    `SELECT format('GRANT TEMPORARY ON DATABASE %I TO %I', current_database(), current_user) AS "grant"
    WHERE NOT has_database_privilege(current_database(), 'TEMPORARY')`,
  )
  return rows[0]?.grant ?? null
}

/**
 * The definitions of a schema, without its name, and the compared form of each. Ignores differences made by dumps (brackets) and
 * owners (validated constraints, fill factors).
 */
function definitions(schema: string): string {
  return `
    SELECT definition, regexp_replace(definition, ' NOT VALID$| WITH \\([^)]*\\)|[()]', '', 'g') AS compared
    FROM pg_class AS made, LATERAL (
      SELECT concat_ws(' ', 'column', relname || '.' || attname, format_type(atttypid, atttypmod),
        'COLLATE ' || nullif(attcollation, 0)::regcollation::text, CASE WHEN attnotnull THEN 'NOT NULL' END,
        'DEFAULT ' || pg_get_expr(adbin, adrelid), nullif(attgenerated, ''), nullif(attidentity, ''))
      FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
      WHERE attrelid = made.oid AND attnum > 0 AND NOT attisdropped
      UNION ALL
      SELECT concat_ws(' ', 'constraint', conname, 'of', relname, pg_get_constraintdef(pg_constraint.oid))
      -- The kind n: columns that are NOT NULL.
      FROM pg_constraint WHERE conrelid = made.oid AND contype <> 'n'
      UNION ALL
      SELECT concat_ws(' ', CASE WHEN NOT indisvalid THEN 'INVALID' END, pg_get_indexdef(indexrelid))
      FROM pg_index WHERE indrelid = made.oid
    ) AS part (whole), LATERAL (
      SELECT regexp_replace(whole, '\\m(notifications|pg_temp(_\\d+)?)\\.', '', 'g')
    ) AS named (definition)
    WHERE relnamespace = ${schema} AND relkind = 'r'
    UNION ALL
    SELECT definition, regexp_replace(definition, '[()]', '', 'g')
    FROM pg_proc, LATERAL (
      SELECT regexp_replace(trim(pg_get_functiondef(pg_proc.oid)), '\\m(notifications|pg_temp(_\\d+)?)\\.', '', 'g')
    ) AS named (definition)
    WHERE pronamespace = ${schema} AND prokind = 'f'`
}
