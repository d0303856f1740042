import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { addResults, DONE } from '../../model/request/request.ts'
import type { RejectedRequest } from '../../model/request/schemas.ts'
import { storable } from '../../text/sanitize.ts'
import {
  findLastExamined,
  messagesAfter,
  rejectedConditions,
  toRejectedFilter,
} from '../read/list-rejected-messages.ts'
import { lockErasure } from '../sql/advisory-locks.ts'
import { lockRequest, recordProgress } from './request-row.ts'

/** Rows of one statement, which takes about 100 ms. */
const DISMISSED_COUNT_MAX = 10_000

/** Dismisses the next unsettled messages of a request, for its reason, and writes its progress. */
export async function dismissPage(pool: DatabasePool, request: RejectedRequest): Promise<void> {
  const { id, target, by, because, progress } = request
  const after = BigInt(progress.position ?? 0)
  await pool.transaction(async (tx) => {
    // Waits for redrives and other dismissals, so that the next statements see what they settled.
    await lockErasure(tx)
    if (!(await lockRequest(tx, request))) return
    const filter = { ...toRejectedFilter(target), open: true }
    const lastExamined = await findLastExamined(tx, filter, after)
    const dismissed = await tx.anyFirst(sql.type(z.object({ id: z.bigint() }))`
      INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, error)
      SELECT id, ${storable(by)}, 'dismissed', ${storable(because)}
      FROM ${messagesAfter(filter, after, lastExamined)} AS rejected_message
      WHERE ${rejectedConditions(filter)} ORDER BY id LIMIT ${DISMISSED_COUNT_MAX}
      RETURNING rejected_message_id AS id`)
    const isFull = dismissed.length === DISMISSED_COUNT_MAX
    const last = isFull
      ? dismissed.reduce((one, other) => (other > one ? other : one), after)
      : (lastExamined ?? after)
    const results = dismissed.map((message) => [String(message), 'dismissed'] as const)
    const end = isFull || lastExamined !== null ? null : DONE
    await recordProgress(tx, id, addResults(progress, String(last), results), end)
  })
}
