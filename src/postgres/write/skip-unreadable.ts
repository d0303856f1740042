import { type DatabasePool, sql } from 'slonik'
import type { Rejection } from '../../core/event/rejection.ts'
import { lockCheckpoint, moveCheckpoint } from './checkpoints.ts'
import { insertRejectedMessages } from './insert-rejected-messages.ts'

export interface Unreadable {
  readonly topic: string
  readonly partition: number
  /** The checkpoint before them. */
  readonly checkpoint: bigint
  /** The last of them. */
  readonly to: bigint
  /** The bytes that the broker sent. */
  readonly bytes: Buffer
  /** Says why, who and what. */
  readonly rejection: Rejection
}

/**
 * Goes past what cannot be read: keeps its bytes as a rejected message and moves the checkpoint to its last offset, under
 * the checkpoint's lock. The last processed message is forgotten, since nobody can tell it from the one skipped. Returns the
 * checkpoint found, and does nothing where that is not the one given.
 */
export function skipUnreadable(pool: DatabasePool, unreadable: Unreadable): Promise<bigint> {
  const { topic, partition, checkpoint, to, bytes, rejection } = unreadable
  return pool.transaction(async (tx) => {
    const found = await lockCheckpoint(tx, unreadable)
    if (found !== checkpoint) return found
    const message = { offset: checkpoint + 1n, key: null, value: bytes, headers: {} }
    await insertRejectedMessages(tx, unreadable, [{ message, rejection }])
    await tx.query(
      sql.unsafe`WITH ${moveCheckpoint({ topic, partition, offset: to, lastMessage: null })} SELECT`,
    )
    await tx.query(sql.unsafe`
      DELETE FROM notifications.checkpoint_message WHERE topic = ${topic} AND partition_id = ${partition}`)
    return found
  })
}
