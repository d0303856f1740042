import type { QueryResultRow } from 'pg'
import type { Offsets } from './topics.ts'

type Sql = (query: string, values?: unknown[]) => Promise<QueryResultRow[]>

/**
 * The lag of a topic behind its last messages, over all partitions: 0 once all is processed.
 * @param ends offset of the next message to come
 */
export async function backlog(sql: Sql, topic: string, ends: Offsets): Promise<number> {
  const rows = await sql(
    `SELECT partition_id, "offset" FROM notifications.projection_checkpoints WHERE topic = $1`,
    [topic],
  )
  const reached = new Map(rows.map((row) => [String(row.partition_id), Number(row.offset)]))
  return Object.entries(ends).reduce(
    (count, [partition, end]) => count + Math.abs(end - 1 - (reached.get(partition) ?? -1)),
    0,
  )
}
