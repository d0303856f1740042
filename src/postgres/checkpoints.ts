import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik'
import { z } from 'zod'

/** The offset before the first: nothing of the partition is processed yet. */
export const NOTHING_PROCESSED = -1n

const offsetRow = z.object({ offset: z.bigint() })

/**
 * The last processed offset of a partition. A partition without a row gets one first, because a lock on an absent row
 * locks nothing.
 */
export async function loadCheckpoint(pool: DatabasePool, topic: string, partition: number): Promise<bigint> {
  await pool.query(sql.unsafe`
    INSERT INTO notifications.projection_checkpoints (topic, partition_id, "offset")
    VALUES (${topic}, ${partition}, ${NOTHING_PROCESSED})
    ON CONFLICT (topic, partition_id) DO NOTHING`)
  return pool.oneFirst(sql.type(offsetRow)`
    SELECT "offset" FROM notifications.projection_checkpoints
    WHERE topic = ${topic} AND partition_id = ${partition}`)
}

/** The checkpoints of all partitions of these topics that have one. Locks nothing. */
export function listCheckpoints(
  pool: DatabasePool,
  topics: readonly string[],
): Promise<readonly { topic: string; partition: number; offset: bigint }[]> {
  const row = offsetRow.extend({ topic: z.string(), partition: z.number() })
  return pool.any(sql.type(row)`
    SELECT topic, partition_id AS partition, "offset" FROM notifications.projection_checkpoints
    WHERE topic = ANY(${sql.array([...topics], 'text')})`)
}

/** Reads and locks the checkpoint until the transaction ends; -1 where the row is gone. */
export async function lockCheckpoint(
  tx: CommonQueryMethods,
  topic: string,
  partition: number,
): Promise<bigint> {
  const offset = await tx.maybeOneFirst(sql.type(offsetRow)`
    SELECT "offset" FROM notifications.projection_checkpoints
    WHERE topic = ${topic} AND partition_id = ${partition} FOR UPDATE`)
  return offset ?? NOTHING_PROCESSED
}

/** Moves a checkpoint whose lock is held. */
export async function moveCheckpoint(
  tx: CommonQueryMethods,
  topic: string,
  partition: number,
  offset: bigint,
): Promise<void> {
  await tx.query(sql.unsafe`
    UPDATE notifications.projection_checkpoints
    SET "offset" = ${offset}, processed_at = now()
    WHERE topic = ${topic} AND partition_id = ${partition}`)
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
    await moveCheckpoint(tx, topic, partition, offset)
    return offset
  })
}
