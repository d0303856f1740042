import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { Pruned } from '../../core/decision/skip-pruned.ts'
import { arrayOf } from '../sql/columns.ts'

/** What the log holds of some events. */
export interface Logged {
  /** Those of the event ids that have a log row. */
  readonly eventIds: ReadonlySet<string>
  /** Null where nothing of the partition was ever pruned. */
  readonly pruned: Pruned | null
}

const logged = z.object({
  eventIds: z.array(z.string()),
  beforeMs: z.number().nullable(),
  through: z.bigint().nullable(),
})

/**
 * Which events of a partition are logged, and which may have had a row that was pruned: in one statement, so that where a
 * row is missing because it was pruned, the record of that pruning is there.
 */
export async function findLogged(
  pool: DatabasePool,
  topic: string,
  partition: number,
  eventIds: readonly string[],
): Promise<Logged> {
  const found = await pool.one(sql.prepared('find-logged', logged)`
    SELECT
      ARRAY(
        SELECT event_id FROM notifications.notification_log
        WHERE event_id = ANY(${arrayOf('text', eventIds)})
      ) AS "eventIds",
      extract(epoch FROM before)::float8 * 1000 AS "beforeMs", through
    FROM (SELECT) AS always
    LEFT JOIN notifications.pruned_partition ON topic = ${topic} AND partition_id = ${partition}`)
  const { beforeMs, through } = found
  const pruned = beforeMs === null || through === null ? null : { beforeMs, through }
  return { eventIds: new Set(found.eventIds), pruned }
}
