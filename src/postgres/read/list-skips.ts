import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { SKIPPED_TO } from '../../core/event/rejected-message.ts'

const skip = z.object({ from: z.bigint(), to: z.bigint().nullable() })

/**
 * Ranges of offsets that `rejected skip` passed over, both ends included. Only the record's text contains the last offset, which
 * is null if the text was erased.
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
