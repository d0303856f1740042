import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { RedriveResult } from '../../core/event/rejected-message.ts'
import { addResults, DONE, type TakenRequest } from '../../core/request/request.ts'
import type { RejectedTarget } from '../../core/request/schemas.ts'
import { storable } from '../../core/text/sanitize.ts'
import { conditions, toRejectedFilter } from '../read/list-rejected-messages.ts'
import { shareErasure } from '../sql/advisory-locks.ts'
import { lockRequest, recordProgress } from './requests.ts'

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

/** Dismisses the next unsettled messages of a request, for its reason, and writes its progress. */
export async function dismissPage(
  pool: DatabasePool,
  request: TakenRequest,
  target: RejectedTarget,
): Promise<void> {
  const { id, by, because, progress } = request
  const after = BigInt((progress.position as string | null) ?? 0)
  await pool.transaction(async (tx) => {
    if (!(await lockRequest(tx, request))) return
    const dismissed = await tx.anyFirst(sql.type(z.object({ id: z.bigint() }))`
      INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, error)
      SELECT id, ${storable(by)}, 'dismissed', ${storable(because)} FROM notifications.rejected_message
      WHERE id > ${after} AND ${conditions({ ...toRejectedFilter(target), open: true })}
      ORDER BY id LIMIT ${DISMISSED_COUNT_MAX}
      RETURNING rejected_message_id AS id`)
    const last = dismissed.reduce((one, other) => (other > one ? other : one), after)
    const results = dismissed.map((message) => [String(message), 'dismissed'] as const)
    const end = dismissed.length < DISMISSED_COUNT_MAX ? DONE : null
    await recordProgress(tx, id, addResults(progress, String(last), results), end)
  })
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
