import { type DatabasePool, sql } from 'slonik'
import type { Rejection } from '../../core/event/rejection.ts'
import { lockCheckpoint, moveCheckpoints } from './checkpoints.ts'
import { insertRejectedMessages } from './insert-rejected-messages.ts'

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
 * Skips unreadable offsets: stores their bytes as a rejected message and moves the checkpoint to the last of them, under its
 * lock. The new checkpoint has no last message, since none can be read there. Returns the checkpoint found, and does nothing if it
 * differs from the given one.
 */
export function skipUnreadable(pool: DatabasePool, unreadable: Unreadable): Promise<bigint> {
  const { topic, partition, checkpoint, to, bytes, rejection } = unreadable
  return pool.transaction(async (tx) => {
    const found = await lockCheckpoint(tx, unreadable)
    if (found !== checkpoint) return found
    const message = { offset: checkpoint + 1n, key: null, value: bytes, headers: {} }
    await insertRejectedMessages(tx, unreadable, [{ message, rejection }])
    await tx.query(sql.unsafe`
      UPDATE notifications.rejected_message SET skipped_to = ${to}
      WHERE topic = ${topic} AND partition_id = ${partition} AND "offset" = ${message.offset} AND code = ${rejection.code}`)
    await tx.query(
      sql.unsafe`WITH ${moveCheckpoints([{ topic, partition, offset: to, lastMessage: null }])} SELECT`,
    )
    return found
  })
}
