import { type DatabasePool, sql } from 'slonik'
import type { DecidedBatch, PreparedBatch } from '../../core/batch/batch.ts'
import type { RedriveResult } from '../../core/event/rejected-message.ts'
import type { Send } from '../../core/log/delivery.ts'
import { storable } from '../../core/text/sanitize.ts'
import { commitAccepted, writeRows } from './commit-batch.ts'

/**
 * Decides and writes one message that was rejected before, and records the redrive, in one transaction. No checkpoint is
 * compared or moved: an event that is logged meanwhile loses at the insert, and is not sent.
 */
export function commitRedrive(
  pool: DatabasePool,
  { rejectedId, by }: { rejectedId: bigint; by: string },
  batch: PreparedBatch,
  send: Send,
): Promise<RedriveResult> {
  return commitAccepted(pool, batch, async (tx, decide) => {
    const accepted = await decide()
    const [inserted] = await writeRows(tx, accepted, send)
    const result = resultOf(inserted?.locator, accepted)
    const { locator = null, code = null, error = null } = result as Partial<Record<string, string>>
    await tx.query(sql.unsafe`
      INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, locator, code, error)
      VALUES (${rejectedId}, ${storable(by)}, ${result.result}, ${locator}, ${code}, ${error})`)
    return result
  })
}

function resultOf(locator: string | undefined, { rejected: [rejected] }: DecidedBatch): RedriveResult {
  if (locator !== undefined) return { result: 'logged', locator }
  return rejected === undefined ? { result: 'duplicate' } : { result: 'rejected', ...rejected.rejection }
}
