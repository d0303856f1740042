import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { LoggedEvents, PartitionEvents } from '../../decide/attempt/batch.ts'
import { sqlColumns } from '../sql/columns.ts'
import { foundRow, selectRows } from './find-rows.ts'

const OFFSET_MAX = '9223372036854775807'

const logged = z.object({
  rows: z.array(foundRow),
  pruned: z.array(z.array(z.object({ beforeMs: z.number(), through: z.coerce.bigint() }))),
})

/**
 * Finds the rows of partitions' events and, for each partition in order, the prunings that may have deleted its rows. One statement
 * reads both, so that it sees either a row or its pruning. In a topic with a pruning, a partition without one counts as processed
 * to its end: the topic may have been recreated from a copy, with more partitions.
 */
export async function findLogged(
  pool: DatabasePool,
  partitions: readonly PartitionEvents[],
): Promise<readonly LoggedEvents[]> {
  const column = sqlColumns(partitions)
  const { rows, pruned } = await pool.one(sql.prepared('find-logged', logged)`
    SELECT
      (
        SELECT coalesce(json_agg(found), '[]') FROM (${selectRows(partitions.flatMap(({ eventIds }) => eventIds))}) AS found
      ) AS rows,
      (
        SELECT json_agg(prunings ORDER BY nr)
        FROM unnest(
          ${column('text', ({ topic }) => topic)},
          ${column('int4', ({ partition }) => partition)}
        ) WITH ORDINALITY AS wanted (topic, partition_id, nr),
        LATERAL (
          SELECT coalesce(
            json_agg(json_build_object('beforeMs', ms, 'through', through::text)) FILTER (WHERE partition_id = wanted.partition_id),
            json_agg(json_build_object('beforeMs', ms, 'through', ${OFFSET_MAX}::text)),
            '[]'
          ) AS prunings
          FROM (
            -- JSON has no number for infinity.
            SELECT partition_id, through,
              extract(epoch FROM least(greatest(before, '0001-01-01Z'), '9999-12-31Z'))::float8 * 1000 AS ms
            FROM notifications.pruned_partition WHERE topic = wanted.topic
          ) AS of_topic
        ) AS found
      ) AS pruned`)
  const byId = new Map(rows.map((row) => [row.eventId, row]))
  return partitions.map((_, i) => ({ rows: byId, pruned: pruned[i] ?? [] }))
}
