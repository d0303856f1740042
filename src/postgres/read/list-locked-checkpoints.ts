import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'

const row = z.object({ topic: z.string(), partition: z.number(), offset: z.bigint() })

/** The checkpoints of these topics that another session holds the lock of right now. Locks the others for a moment. */
export function listLockedCheckpoints(
  pool: DatabasePool,
  topics: readonly string[],
): Promise<readonly z.infer<typeof row>[]> {
  return pool.any(sql.type(row)`
    WITH free AS (
      SELECT id FROM notifications.projection_checkpoints
      WHERE topic = ANY(${sql.array([...topics], 'text')}) FOR UPDATE SKIP LOCKED
    )
    SELECT topic, partition_id AS partition, "offset" FROM notifications.projection_checkpoints
    WHERE topic = ANY(${sql.array([...topics], 'text')}) AND id NOT IN (SELECT id FROM free)
    ORDER BY topic, partition_id`)
}
