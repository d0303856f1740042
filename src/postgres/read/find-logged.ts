import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { arrayOf } from '../sql/columns.ts'

const logged = z.object({ logged: z.array(z.string()) })

/** Those of the event ids that have a log row already. */
export async function findLogged(
  pool: DatabasePool,
  eventIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const row = await pool.one(sql.prepared('find-logged', logged)`
    SELECT ARRAY(
      SELECT event_id FROM notifications.notification_log
      WHERE event_id = ANY(${arrayOf('text', eventIds)})
    ) AS logged`)
  return new Set(row.logged)
}
