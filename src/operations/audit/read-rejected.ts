import { createHash } from 'node:crypto'
import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { Message } from '../../service/decide/event/message.ts'
import { sqlColumns } from '../../service/store/sql/columns.ts'
import { cutBytes } from '../../service/store/sql/cut-large-message.ts'

const rejectedRow = z.object({ offset: z.bigint(), erased: z.boolean() })

/**
 * Returns the messages of a partition that are stored as rejected, by offset. Also compares hashes, because a recreated topic has
 * other messages at the same offsets.
 */
export async function findRejected(
  pool: CommonQueryMethods,
  topic: string,
  partition: number,
  messages: readonly Message[],
): Promise<ReadonlyMap<bigint, z.infer<typeof rejectedRow>>> {
  const column = sqlColumns(messages)
  const rows = await pool.any(sql.type(rejectedRow)`
    SELECT rejected."offset", rejected.erased_at IS NOT NULL AS erased
    FROM unnest(${column('int8', ({ offset }) => offset)}, ${column('text', hashValue)}) AS message ("offset", sha256)
    JOIN notifications.rejected_message AS rejected
      ON rejected.topic = ${topic} AND rejected.partition_id = ${partition}
        AND rejected."offset" = message."offset" AND rejected.value_sha256 = decode(message.sha256, 'hex')`)
  return new Map(rows.map((row) => [row.offset, row]))
}

function hashValue({ value }: Message): string {
  return createHash('sha256')
    .update(cutBytes(value) ?? '')
    .digest('hex')
}

const skip = z.object({ from: z.bigint(), to: z.bigint() })

/** Ranges of offsets that `rejected skip` passed over, both ends included. */
export function listSkips(
  pool: CommonQueryMethods,
  topic: string,
  partition: number,
): Promise<readonly z.infer<typeof skip>[]> {
  return pool.any(sql.type(skip)`
    SELECT "offset" AS "from", skipped_to AS "to"
    FROM notifications.rejected_message
    WHERE topic = ${topic} AND partition_id = ${partition} AND skipped_to IS NOT NULL
    ORDER BY "offset"`)
}
