import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { PruneLimits } from './prune-entries.ts'

/** Keeps transactions to a few milliseconds, so that they block nothing. */
const ROW_COUNT_MAX = 1_000

/** Ids of old rejected messages, in pages. Ids follow the time of rejection, so the search ends at the first young one. */
export async function* rejectedToPrune(
  pool: DatabasePool,
  { before }: PruneLimits,
): AsyncGenerator<readonly bigint[]> {
  const row = z.object({ id: z.bigint(), old: z.boolean() })
  for (let after = 0n; ; ) {
    const page: readonly z.infer<typeof row>[] = await pool.any(sql.type(row)`
      SELECT id, rejected_at < ${before}::timestamptz AS old FROM notifications.rejected_message
      WHERE id > ${after} ORDER BY id LIMIT ${ROW_COUNT_MAX}`)
    const old = page.filter((message) => message.old)
    if (old.length > 0) yield old.map(({ id }) => id)
    if (old.length < ROW_COUNT_MAX) return
    after = page.at(-1)?.id ?? after
  }
}

/** Deletes rejected messages; the record of their redrives stays. Returns the number deleted. */
export function pruneRejected(pool: DatabasePool, pruning: bigint, ids: readonly bigint[]): Promise<number> {
  return pool.oneFirst(sql.type(z.object({ count: z.number() }))`
    WITH message AS (
      DELETE FROM notifications.rejected_message WHERE id = ANY(${sql.array([...ids], 'int8')}) RETURNING id
    ), counted AS (
      UPDATE notifications.pruning
      SET rejected_messages = rejected_messages + (SELECT count(*) FROM message) WHERE id = ${pruning}
    )
    SELECT count(*)::integer AS count FROM message`)
}
