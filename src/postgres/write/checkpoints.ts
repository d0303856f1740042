import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { Checkpoint, Fingerprint } from '../../core/batch/checkpoint.ts'
import { noRow } from '../sql/no-row.ts'

/** The offset before the first: nothing of the partition is processed yet. */
export const NOTHING_PROCESSED = -1n

const offsetRow = z.object({ offset: z.bigint() })
const checkpointRow = z
  .object({ offset: z.bigint(), message_offset: z.bigint().nullable(), sha256: z.string().nullable() })
  .transform(
    ({ offset, message_offset, sha256 }): Checkpoint => ({
      offset,
      lastMessage: message_offset === null || sha256 === null ? null : { offset: message_offset, sha256 },
    }),
  )

/**
 * The checkpoint of a partition. A partition without a row gets one first, because a lock on an absent row
 * locks nothing. Rejects at once where another session holds its lock: whoever waited would take up a connection, and
 * the checkpoint may be about to move.
 */
export async function loadCheckpoint(
  pool: DatabasePool,
  topic: string,
  partition: number,
): Promise<Checkpoint> {
  await pool.query(sql.unsafe`
    INSERT INTO notifications.projection_checkpoints (topic, partition_id, "offset")
    VALUES (${topic}, ${partition}, ${NOTHING_PROCESSED})
    ON CONFLICT (topic, partition_id) DO NOTHING`)
  return pool.one(sql.type(checkpointRow)`
    SELECT checkpoint."offset", message."offset" AS message_offset, sha256
    FROM notifications.projection_checkpoints AS checkpoint
    LEFT JOIN notifications.checkpoint_message AS message
      ON (message.topic, message.partition_id, message.checkpoint) =
        (checkpoint.topic, checkpoint.partition_id, checkpoint."offset")
    WHERE checkpoint.topic = ${topic} AND checkpoint.partition_id = ${partition}
    FOR UPDATE OF checkpoint NOWAIT`)
}

/** Reads and locks the checkpoint until the transaction ends; -1 where the row is gone. */
export async function lockCheckpoint(
  tx: CommonQueryMethods,
  topic: string,
  partition: number,
): Promise<bigint> {
  const offset = await tx.maybeOneFirst(sql.prepared('lock-checkpoint', offsetRow)`
    SELECT "offset" FROM notifications.projection_checkpoints
    WHERE topic = ${topic} AND partition_id = ${partition} FOR UPDATE`)
  return offset ?? NOTHING_PROCESSED
}

/** Moves a checkpoint whose lock is held, and remembers its last message, in one statement. */
export async function moveCheckpoint(
  tx: CommonQueryMethods,
  topic: string,
  partition: number,
  offset: bigint,
  lastMessage: Fingerprint | null,
): Promise<void> {
  const move = sql.fragment`
    UPDATE notifications.projection_checkpoints
    SET "offset" = ${offset}, processed_at = now()
    WHERE topic = ${topic} AND partition_id = ${partition}`
  await tx.query(
    lastMessage === null
      ? sql.unsafe`${move}`
      : sql.prepared('move-checkpoint', noRow)`
          WITH moved AS (${move})
          INSERT INTO notifications.checkpoint_message (topic, partition_id, checkpoint, "offset", sha256)
          VALUES (${topic}, ${partition}, ${offset}, ${lastMessage.offset}, ${lastMessage.sha256})
          ON CONFLICT (topic, partition_id) DO UPDATE
          SET checkpoint = excluded.checkpoint, "offset" = excluded."offset", sha256 = excluded.sha256`,
  )
}

/**
 * Sets a checkpoint back because the topic was created anew and counts from the start again. Does nothing, and returns
 * what it found, unless the checkpoint is still the one that the caller holds.
 */
export function resetCheckpoint(
  pool: DatabasePool,
  topic: string,
  partition: number,
  held: bigint,
  offset: bigint,
): Promise<bigint> {
  return pool.transaction(async (tx) => {
    const found = await lockCheckpoint(tx, topic, partition)
    if (found !== held) return found
    await moveCheckpoint(tx, topic, partition, offset, null)
    return offset
  })
}
