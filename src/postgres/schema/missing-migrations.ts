import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { lacksSchema } from '../connection/errors.ts'

/**
 * Checks that the database answers and that each of the named migrations is applied. Returns null when all is well, else
 * what is missing and the remedy; rejects when the database does not answer.
 */
export async function missingMigrations(
  pool: DatabasePool,
  names: readonly string[],
): Promise<string | null> {
  let applied: ReadonlySet<string>
  try {
    const rows = await pool.anyFirst(
      sql.type(z.object({ name: z.string() }))`SELECT name FROM notifications.migration`,
    )
    applied = new Set(rows)
  } catch (error) {
    if (!lacksSchema(error)) throw error
    applied = new Set()
  }
  const missing = names.filter((name) => !applied.has(name))
  return missing.length === 0
    ? null
    : `the schema lacks ${missing.join(', ')}: run the command \`migrate\` of this version, since another may not have it`
}
