import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { shareErasure } from '../retention/erasure-record.ts'

/**
 * Keeps a rejected message from being erased until the transaction ends; false if it is gone or erased already. Two redrives of
 * one message need no lock: they meet at the unique event id.
 */
export async function lockRejected(tx: CommonQueryMethods, id: bigint): Promise<boolean> {
  // Not FOR SHARE: that needs the right to UPDATE, which only `erase` has.
  await shareErasure(tx)
  const found = await tx.maybeOneFirst(sql.type(z.object({ id: z.bigint() }))`
    SELECT id FROM notifications.rejected_message WHERE id = ${id} AND erased_at IS NULL`)
  return found !== null
}
