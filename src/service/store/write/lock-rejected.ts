import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { shareErasure } from '../sql/advisory-locks.ts'

/**
 * Protects a rejected message from erasure until the transaction ends; false if it is gone or erased. Two redrives of one message
 * need no lock: the unique event id lets only one insert a row.
 */
export async function lockRejected(tx: CommonQueryMethods, id: bigint): Promise<boolean> {
  // A lock on the message would not do: an erasure of log entries does not wait for it.
  await shareErasure(tx)
  const found = await tx.maybeOneFirst(sql.type(z.object({ id: z.bigint() }))`
    SELECT id FROM notifications.rejected_message WHERE id = ${id} AND erased_at IS NULL`)
  return found !== null
}
