import { createHash } from 'node:crypto'
import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { Message } from '../../core/event/message.ts'
import { columnOf } from '../sql/columns.ts'
import { keptOf } from '../write/cut-large-message.ts'

const found = z.object({ offset: z.bigint(), erased: z.boolean() })

/**
 * Returns the messages of a partition that are stored as rejected, by offset. Compares the hash too, because a recreated topic
 * has other messages at the same offsets.
 */
export async function findRejected(
  pool: CommonQueryMethods,
  topic: string,
  partition: number,
  messages: readonly Message[],
): Promise<ReadonlyMap<bigint, z.infer<typeof found>>> {
  const column = columnOf(messages)
  const rows = await pool.any(sql.type(found)`
    SELECT rejected."offset", rejected.erased_at IS NOT NULL AS erased
    FROM unnest(${column('int8', ({ offset }) => offset)}, ${column('text', hashOf)}) AS message ("offset", sha256)
    JOIN notifications.rejected_message AS rejected
      ON rejected.topic = ${topic} AND rejected.partition_id = ${partition}
        AND rejected."offset" = message."offset" AND rejected.value_sha256 = decode(message.sha256, 'hex')`)
  return new Map(rows.map((row) => [row.offset, row]))
}

function hashOf({ value }: Message): string {
  return createHash('sha256')
    .update(keptOf(value) ?? '')
    .digest('hex')
}
