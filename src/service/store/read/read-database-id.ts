import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { CorrectableError } from '../../text/faults.ts'

/** The id that migration 0029 gave this database. It moves with a dump or a logical replication. */
export async function readDatabaseId(pool: CommonQueryMethods): Promise<string> {
  const id = await pool.maybeOneFirst(
    sql.type(z.object({ id: z.string() }))`SELECT id FROM notifications.database_identity`,
  )
  if (id === null)
    throw new CorrectableError(
      'the table database_identity is empty: restore its row, or INSERT INTO notifications.database_identity DEFAULT VALUES as its owner',
    )
  return id
}
