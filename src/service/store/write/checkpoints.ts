import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { LockedCheckpoints, Move } from '../../decide/attempt/store.ts'
import { type Checkpoint, partitionKey, type TopicPartition } from '../../decide/event/position.ts'
import { SETTINGS } from '../connection/pool.ts'
import { preferencesByParty, readPreferences, selectPreferences } from '../read/read-preferences.ts'
import { shareAttempts } from '../sql/advisory-locks.ts'
import { CHECKPOINT_COLUMNS, checkpointRow, WITH_LAST_MESSAGE } from '../sql/checkpoint-columns.ts'
import { sqlColumns } from '../sql/columns.ts'

/** Limits of a transaction for several partitions. */
const SHARED_LIMITS = { lock_timeout: '200ms', statement_timeout: '1s' }
/** The offset before the first message: nothing is processed yet. */
const NOTHING_PROCESSED = -1n

const offsetRow = z.object({ offset: z.bigint() })
const lockedRow = preferencesByParty.extend({
  locked: z.array(z.object({ topic: z.string(), partition: z.int(), offset: z.coerce.bigint() })),
})

/**
 * Returns a partition's checkpoint, and adds a missing one (`isNew`), because a lock on an absent row locks nothing. Rejects at
 * once if another session has locked it: waiting would occupy a connection, and the checkpoint may be about to move.
 */
export async function ensureCheckpoint(
  pool: DatabasePool,
  topic: string,
  partition: number,
): Promise<Checkpoint & { readonly isNew: boolean }> {
  const { rowCount } = await pool.query(sql.unsafe`
    INSERT INTO notifications.projection_checkpoints (topic, partition_id, "offset")
    VALUES (${topic}, ${partition}, ${NOTHING_PROCESSED})
    ON CONFLICT (topic, partition_id) DO NOTHING`)
  const checkpoint = await pool.one(sql.type(checkpointRow)`
    SELECT ${CHECKPOINT_COLUMNS} FROM ${WITH_LAST_MESSAGE}
    WHERE checkpoint.topic = ${topic} AND checkpoint.partition_id = ${partition}
    FOR UPDATE OF checkpoint NOWAIT`)
  return { ...checkpoint, isNew: rowCount === 1 }
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
 * Locks the checkpoints of partitions until the transaction ends, and reads preferences, in one statement that waits for no lock.
 * If another session has locked a single checkpoint, a second statement waits for it, and a third reads the preferences again. With
 * several, each later statement of the transaction has short limits, so that no partition delays the others.
 */
export async function lockCheckpoints(
  tx: CommonQueryMethods,
  partitions: readonly TopicPartition[],
  partyLocators: readonly string[],
): Promise<LockedCheckpoints> {
  const column = sqlColumns(partitions)
  const limits = partitions.length === 1 ? SETTINGS : SHARED_LIMITS
  const { locked, preferences } = await tx.one(sql.prepared('lock-checkpoints', lockedRow)`
    WITH locked AS MATERIALIZED (
      SELECT topic, partition_id, "offset"
      FROM unnest(
        ${column('text', ({ topic }) => topic)},
        ${column('int4', ({ partition }) => partition)}
      ) AS wanted (topic, partition_id)
      JOIN notifications.projection_checkpoints AS checkpoint USING (topic, partition_id)
      FOR UPDATE OF checkpoint SKIP LOCKED
    )
    SELECT (
      SELECT coalesce(json_agg(json_build_object(
        'topic', topic, 'partition', partition_id, 'offset', "offset"::text)), '[]')
      FROM locked
    ) AS locked, ${selectPreferences(partyLocators)}, ${shareAttempts()},
      set_config('lock_timeout', ${limits.lock_timeout}, true), set_config('statement_timeout', ${limits.statement_timeout}, true)`)
  const [only, ...others] = partitions
  if (only === undefined || others.length > 0 || locked.length > 0)
    return { offsets: new Map(locked.map((row) => [partitionKey(row), row.offset])), preferences }
  const offset = await lockCheckpoint(tx, only)
  return {
    offsets: new Map([[partitionKey(only), offset]]),
    preferences: await readPreferences(tx, partyLocators),
  }
}

/** Part of a WITH clause that moves locked checkpoints and records their last messages. */
export function moveCheckpoints(moves: readonly Move[]) {
  const column = sqlColumns(moves)
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
