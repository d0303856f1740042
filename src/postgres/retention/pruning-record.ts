import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { storable } from '../../core/text/sanitize.ts'

/**
 * Records the start of a pruning, who requested it, and how far each partition is processed. One statement, so that this is after
 * every deleted event and before every unread one. Earlier records that reach further stay: the checkpoint of a recreated topic
 * is lower. Returns its id.
 */
export function beginPruning(pool: DatabasePool, before: string, by: string): Promise<bigint> {
  return pool.oneFirst(sql.type(z.object({ id: z.bigint() }))`
    WITH processed AS (
      INSERT INTO notifications.pruned_partition AS pruned (topic, partition_id, before, through)
      SELECT topic, partition_id, ${before}::timestamptz, "offset" FROM notifications.projection_checkpoints
      ORDER BY topic, partition_id
      ON CONFLICT (topic, partition_id, through) DO UPDATE SET before = greatest(pruned.before, excluded.before)
    ),
    outdone AS (
      DELETE FROM notifications.pruned_partition AS pruned USING notifications.projection_checkpoints AS now
      WHERE (pruned.topic, pruned.partition_id) = (now.topic, now.partition_id)
        AND pruned.through < now."offset" AND pruned.before <= ${before}::timestamptz
    )
    INSERT INTO notifications.pruning (before, pruned_by) VALUES (${before}::timestamptz, ${storable(by)}) RETURNING id`)
}

export async function finishPruning(pool: DatabasePool, pruning: bigint): Promise<void> {
  await pool.query(
    sql.unsafe`UPDATE notifications.pruning SET finished_at = clock_timestamp() WHERE id = ${pruning}`,
  )
}
