import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { databasePlace } from '../../text/database-urls.ts'
import { CorrectableError } from '../../text/faults.ts'

/**
 * The name of this database: the id that migration 0029 gave it, which moves with a dump or a logical replication, and its place by
 * the URL that leads there. Throws CorrectableError if it has no id.
 */
export async function readDatabaseName(
  pool: CommonQueryMethods,
  url: string,
): Promise<{ readonly id: string; readonly place: string }> {
  const id = await pool.maybeOneFirst(
    sql.type(z.object({ id: z.string() }))`SELECT id FROM notifications.database_identity`,
  )
  if (id === null)
    throw new CorrectableError(
      'the table database_identity is empty: restore its row, or INSERT INTO notifications.database_identity DEFAULT VALUES as its owner',
    )
  return { id, place: databasePlace(url) }
}
