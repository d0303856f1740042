import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { SKIPPED_TO } from '../../core/event/rejected-message.ts'

const skip = z.object({ from: z.bigint(), to: z.bigint().nullable() })

/**
 * The offsets of a partition that `rejected skip` went past, both included. Only the text of the record tells the last one,
 * which is null where that was erased.
 */
export function listSkips(
  pool: CommonQueryMethods,
  topic: string,
  partition: number,
): Promise<readonly z.infer<typeof skip>[]> {
  return pool.any(sql.type(skip)`
    SELECT "offset" AS "from",
      substring(error FROM ${SKIPPED_TO}::text)::bigint AS "to"
    FROM notifications.rejected_message
    WHERE topic = ${topic} AND partition_id = ${partition} AND code = 'unreadable'
    ORDER BY "offset"`)
}
