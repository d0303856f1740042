import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { Move } from '../../core/attempt/store.ts'
import { type Checkpoint, keyOf, type TopicPartition } from '../../core/batch/position.ts'
import { columnOf } from '../sql/columns.ts'

/** Limits of a transaction for several partitions, in place of those of pool.ts. */
const SHARED_LOCK_TIMEOUT = '200ms'
const SHARED_STATEMENT_TIMEOUT = '1s'
/** The offset before the first: nothing is processed yet. */
export const NOTHING_PROCESSED = -1n

const offsetRow = z.object({ offset: z.bigint() })
const lockedRow = offsetRow.extend({ topic: z.string(), partition: z.int() })
export const checkpointRow = z.object({
  offset: z.bigint(),
  lastMessage: z.object({ offset: z.coerce.bigint(), sha256: z.string() }).nullable(),
})
/** The columns of a checkpoint and its last message, and their tables. */
export const CHECKPOINT_COLUMNS = sql.fragment`
  checkpoint."offset", CASE WHEN sha256 IS NOT NULL
    THEN json_build_object('offset', message."offset"::text, 'sha256', sha256) END AS "lastMessage"`
export const WITH_LAST_MESSAGE = sql.fragment`
  notifications.projection_checkpoints AS checkpoint
  LEFT JOIN notifications.checkpoint_message AS message
    ON (message.topic, message.partition_id, message.checkpoint) =
      (checkpoint.topic, checkpoint.partition_id, checkpoint."offset")`

/**
 * The checkpoint of a partition. A partition without a row gets one first, because a lock on an absent row locks nothing. Rejects
 * at once if another session has locked it: waiting would occupy a connection, and the checkpoint may be about to move.
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
    SELECT ${CHECKPOINT_COLUMNS} FROM ${WITH_LAST_MESSAGE}
    WHERE checkpoint.topic = ${topic} AND checkpoint.partition_id = ${partition}
    FOR UPDATE OF checkpoint NOWAIT`)
}

/** Reads and locks the checkpoint until the transaction ends; -1 if the row is gone. */
export async function lockCheckpoint(
  tx: CommonQueryMethods,
  { topic, partition }: TopicPartition,
): Promise<bigint> {
  const offset = await tx.maybeOneFirst(sql.prepared('lock-checkpoint', offsetRow)`
    SELECT "offset" FROM notifications.projection_checkpoints
    WHERE topic = ${topic} AND partition_id = ${partition} FOR UPDATE`)
  return offset ?? NOTHING_PROCESSED
}

/**
 * Locks the checkpoints of partitions until the transaction ends, and returns their offsets by `keyOf`. A single one is waited
 * for. Of several, those that another session locks are left out, and each later statement of the transaction has short
 * limits: a partition must not hold up the others.
 */
export async function lockCheckpoints(
  tx: CommonQueryMethods,
  partitions: readonly TopicPartition[],
): Promise<ReadonlyMap<string, bigint>> {
  const [only, ...others] = partitions
  if (only !== undefined && others.length === 0)
    return new Map([[keyOf(only), await lockCheckpoint(tx, only)]])
  const column = columnOf(partitions)
  const rows = await tx.any(sql.prepared('lock-checkpoints', lockedRow)`
    SELECT topic, partition_id AS partition, "offset",
      set_config('lock_timeout', ${SHARED_LOCK_TIMEOUT}, true), set_config('statement_timeout', ${SHARED_STATEMENT_TIMEOUT}, true)
    FROM unnest(
      ${column('text', ({ topic }) => topic)},
      ${column('int4', ({ partition }) => partition)}
    ) AS wanted (topic, partition_id)
    JOIN notifications.projection_checkpoints AS checkpoint USING (topic, partition_id)
    FOR UPDATE OF checkpoint SKIP LOCKED`)
  return new Map(rows.map((row) => [keyOf(row), row.offset]))
}

/** Part of a WITH clause that moves locked checkpoints and records their last messages. */
export function moveCheckpoints(moves: readonly Move[]) {
  const column = columnOf(moves)
  return sql.fragment`
    move AS MATERIALIZED (
      SELECT * FROM unnest(
        ${column('text', ({ topic }) => topic)},
        ${column('int4', ({ partition }) => partition)},
        ${column('int8', ({ offset }) => offset)},
        ${column('int8', ({ lastMessage }) => lastMessage?.offset ?? null)},
        ${column('text', ({ lastMessage }) => lastMessage?.sha256 ?? null)}
      ) AS move (topic, partition_id, processed, message_offset, message_sha256)
    ),
    moved AS (
      UPDATE notifications.projection_checkpoints AS checkpoint
      SET "offset" = processed, processed_at = now()
      FROM move
      WHERE (checkpoint.topic, checkpoint.partition_id) = (move.topic, move.partition_id)
    ),
    remembered AS (
      INSERT INTO notifications.checkpoint_message (topic, partition_id, checkpoint, "offset", sha256)
      SELECT topic, partition_id, processed, message_offset, message_sha256 FROM move WHERE message_sha256 IS NOT NULL
      ON CONFLICT (topic, partition_id) DO UPDATE
      SET checkpoint = excluded.checkpoint, "offset" = excluded."offset", sha256 = excluded.sha256
    )`
}

/** Resets the checkpoint of a recreated topic, if it is still the expected one. Returns the checkpoint then in force. */
export function resetCheckpoint(
  pool: DatabasePool,
  topic: string,
  partition: number,
  expected: bigint,
  offset: bigint,
): Promise<bigint> {
  return pool.transaction(async (tx) => {
    const found = await lockCheckpoint(tx, { topic, partition })
    if (found !== expected) return found
    await tx.query(
      sql.unsafe`WITH ${moveCheckpoints([{ topic, partition, offset, lastMessage: null }])} SELECT`,
    )
    return offset
  })
}
