import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { storable } from '../../core/text/sanitize.ts'

/**
 * Records that a pruning begins, by whom it was asked for, and how far each partition is processed: in one statement, and
 * so after whatever it is going to delete and before whatever is not read yet. Returns its id.
 */
export function beginPruning(pool: DatabasePool, before: string, by: string): Promise<bigint> {
  return pool.oneFirst(sql.type(z.object({ id: z.bigint() }))`
    WITH processed AS (
      INSERT INTO notifications.pruned_partition AS pruned (topic, partition_id, before, through)
      SELECT topic, partition_id, ${before}::timestamptz, "offset" FROM notifications.projection_checkpoints
      ORDER BY topic, partition_id
      ON CONFLICT (topic, partition_id) DO UPDATE
      SET before = greatest(pruned.before, excluded.before), through = excluded.through
    )
    INSERT INTO notifications.pruning (before, pruned_by) VALUES (${before}::timestamptz, ${storable(by)}) RETURNING id`)
}

/** Records that all was done. */
export async function finishPruning(pool: DatabasePool, pruning: bigint): Promise<void> {
  await pool.query(
    sql.unsafe`UPDATE notifications.pruning SET finished_at = clock_timestamp() WHERE id = ${pruning}`,
  )
}
