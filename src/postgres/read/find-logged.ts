import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { Logged } from '../../core/decision/skip-pruned.ts'
import { arrayOf } from '../sql/columns.ts'

const OFFSET_MAX = '9223372036854775807'

const logged = z.object({
  eventIds: z.array(z.string()),
  pruned: z.array(z.object({ beforeMs: z.number(), through: z.coerce.bigint() })),
})

/**
 * Finds events of a partition that are logged, and events that may have had a row that was pruned. One statement reads both, so
 * that a pruned row's pruning is always seen. A partition without a pruning, of a topic with one, counts as processed to its end:
 * the topic may have been recreated from a copy, with more partitions.
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
      (
        SELECT coalesce(
          json_agg(json_build_object('beforeMs', ms, 'through', through::text)) FILTER (WHERE partition_id = ${partition}),
          json_agg(json_build_object('beforeMs', ms, 'through', ${OFFSET_MAX}::text)),
          '[]'
        )
        FROM (
          SELECT partition_id, through, extract(epoch FROM before)::float8 * 1000 AS ms
          FROM notifications.pruned_partition WHERE topic = ${topic}
        ) AS prunings
      ) AS pruned`)
  return { eventIds: new Set(found.eventIds), pruned: found.pruned }
}
