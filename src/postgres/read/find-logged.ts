import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { arrayOf } from '../sql/columns.ts'

/** What the log holds of some events. */
export interface Logged {
  /** Those of the event ids that have a log row. */
  readonly eventIds: ReadonlySet<string>
  /** Events published before this may have had a row that was pruned: ms since 1970; null where nothing was ever pruned. */
  readonly prunedBeforeMs: number | null
}

const logged = z.object({ eventIds: z.array(z.string()), prunedBeforeMs: z.number().nullable() })

/**
 * Which events are logged, and up to when rows were pruned: in one statement, so that where a row is missing because it was
 * pruned, the record of that pruning is there.
 */
export async function findLogged(pool: DatabasePool, eventIds: readonly string[]): Promise<Logged> {
  const found = await pool.one(sql.prepared('find-logged', logged)`
    SELECT
      ARRAY(
        SELECT event_id FROM notifications.notification_log
        WHERE event_id = ANY(${arrayOf('text', eventIds)})
      ) AS "eventIds",
      (SELECT extract(epoch FROM max(before))::float8 * 1000 FROM notifications.pruning) AS "prunedBeforeMs"`)
  return { ...found, eventIds: new Set(found.eventIds) }
}
