import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { storable } from '../../core/text/sanitize.ts'

/** Records that a pruning begins, and by whom it was asked for. Returns its id. */
export function beginPruning(pool: DatabasePool, before: string, by: string): Promise<bigint> {
  return pool.oneFirst(sql.type(z.object({ id: z.bigint() }))`
    INSERT INTO notifications.pruning (before, pruned_by) VALUES (${before}::timestamptz, ${storable(by)}) RETURNING id`)
}

/** Records that all was done. */
export async function finishPruning(pool: DatabasePool, pruning: bigint): Promise<void> {
  await pool.query(
    sql.unsafe`UPDATE notifications.pruning SET finished_at = clock_timestamp() WHERE id = ${pruning}`,
  )
}
