import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { RedriveResult } from '../../core/event/rejected-message.ts'
import { storable } from '../../core/text/sanitize.ts'
import { conditions, type RejectedFilter } from '../read/list-rejected-messages.ts'
import { shareErasure } from '../retention/erasure-record.ts'

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

/** Rows of one statement, which takes about 100 ms. */
const DISMISSED_COUNT_MAX = 10_000

/** Records that an operator dismissed all unsettled rejected messages of the filter, and why. Returns their number. */
export async function dismissRejected(
  pool: DatabasePool,
  filter: Omit<RejectedFilter, 'open'>,
  by: string,
  because: string,
): Promise<number> {
  for (let sum = 0; ; ) {
    const { rowCount } = await pool.query(sql.unsafe`
      INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, error)
      SELECT id, ${storable(by)}, 'dismissed', ${storable(because)} FROM notifications.rejected_message
      WHERE ${conditions({ ...filter, open: true })} LIMIT ${DISMISSED_COUNT_MAX}`)
    sum += rowCount
    if (rowCount < DISMISSED_COUNT_MAX) return sum
  }
}

/**
 * Protects a rejected message from erasure until the transaction ends; false if it is gone or erased. Two redrives of one message
 * need no lock: the unique event id lets only one insert a row.
 */
export async function lockRejected(tx: CommonQueryMethods, id: bigint): Promise<boolean> {
  // Not a lock on the message: an erasure of log entries would not wait for it.
  await shareErasure(tx)
  const found = await tx.maybeOneFirst(sql.type(z.object({ id: z.bigint() }))`
    SELECT id FROM notifications.rejected_message WHERE id = ${id} AND erased_at IS NULL`)
  return found !== null
}
