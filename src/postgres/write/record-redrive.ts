import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { RedriveResult } from '../../core/event/rejected-message.ts'
import { storable } from '../../core/text/sanitize.ts'
import { shareErasure } from '../retention/erasure-record.ts'

/** Records that an operator redrove a rejected message, and the result. */
export async function recordRedrive(
  tx: CommonQueryMethods,
  rejectedId: bigint,
  by: string,
  result: RedriveResult,
): Promise<void> {
  const { locator = null, code = null, error = null } = result as Partial<Record<string, string>>
  await tx.query(sql.unsafe`
    INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, locator, code, error)
    VALUES (${rejectedId}, ${storable(by)}, ${result.result}, ${locator}, ${code}, ${error})`)
}

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
