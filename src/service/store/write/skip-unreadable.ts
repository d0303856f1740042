import { type DatabasePool, sql } from 'slonik'
import type { Rejection } from '../../decide/event/rejection.ts'
import { addResults, DONE } from '../../model/request/request.ts'
import type { TakenRequest } from '../../model/request/schemas.ts'
import { lockCheckpoint, moveCheckpoints } from './checkpoints.ts'
import { insertRejectedMessages } from './insert-rejected-messages.ts'
import { lockRequest, recordProgress } from './request-row.ts'

export interface Unreadable {
  readonly topic: string
  readonly partition: number
  /** The checkpoint before the unreadable offsets. */
  readonly checkpoint: bigint
  readonly to: bigint
  readonly bytes: Buffer
  /** The reason, the operator and the offsets. */
  readonly rejection: Rejection
}

/**
 * Skips unreadable offsets: stores their bytes as a rejected message and moves the locked checkpoint to the last of them. The new
 * checkpoint has no last message, since none can be read there. If the checkpoint has moved, stops the request and writes nothing
 * else.
 */
export function skipUnreadable(
  pool: DatabasePool,
  request: TakenRequest,
  unreadable: Unreadable,
): Promise<void> {
  const { topic, partition, checkpoint, to, bytes, rejection } = unreadable
  return pool.transaction(async (tx) => {
    if (!(await lockRequest(tx, request))) return
    const found = await lockCheckpoint(tx, unreadable)
    if (found !== checkpoint) {
      const note = `the checkpoint of ${topic}/${partition} has moved to ${found}: nothing was skipped`
      return recordProgress(tx, request.id, request.progress, { state: 'stopped', note })
    }
    const message = { offset: checkpoint + 1n, key: null, value: bytes, headers: {} }
    await insertRejectedMessages(tx, unreadable, [{ message, rejection }], to)
    await tx.query(
      sql.unsafe`WITH ${moveCheckpoints([{ topic, partition, offset: to, lastMessage: null }])} SELECT`,
    )
    const place = `${topic}/${partition}, offsets ${message.offset} to ${to}`
    await recordProgress(tx, request.id, addResults(request.progress, String(to), [[place, 'skipped']]), DONE)
  })
}
