import { sql } from 'slonik'
import { z } from 'zod'
import { partitionKey, type TopicPartition } from '../../service/decide/event/position.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { lockCheckpoint } from '../../service/store/write/checkpoints.ts'

/** A checkpoint to set. Offsets are those of the last processed message; -1 before the first. */
export interface CheckpointChange extends TopicPartition {
  /** Null: the partition has no checkpoint. */
  readonly from: bigint | null
  readonly to: bigint
}

/**
 * Sets and records checkpoints in one transaction, with `tellKafka` as its last step.
 *
 * @returns the first partition whose checkpoint is not the expected one; then nothing is written. Null if all are set
 */
export function setCheckpoints(
  pool: DatabasePool,
  changes: readonly CheckpointChange[],
  { by, because }: { readonly by: string; readonly because: string },
  tellKafka: () => Promise<void>,
): Promise<TopicPartition | null> {
  return pool.transaction(async (tx) => {
    for (const change of changes)
      if ((await lockCheckpoint(tx, change)) !== (change.from ?? -1n)) return change
    for (const { topic, partition, from, to } of changes) {
      await tx.query(sql.unsafe`
        INSERT INTO notifications.projection_checkpoints (topic, partition_id, "offset")
        VALUES (${topic}, ${partition}, ${to})
        ON CONFLICT (topic, partition_id) DO UPDATE SET "offset" = excluded."offset", processed_at = now()`)
      await tx.query(sql.unsafe`
        INSERT INTO notifications.checkpoint_change (topic, partition_id, from_offset, to_offset, changed_by, because)
        VALUES (${topic}, ${partition}, ${from}, ${to}, ${by}, ${because})`)
    }
    // Kafka refuses while the group has members, so it comes before the commit; it may take longer than a session may idle.
    await tx.query(sql.unsafe`SET LOCAL idle_in_transaction_session_timeout = '1min'`)
    await tellKafka()
    return null
  })
}

/** The partitions of these topics, by `topic/partition`, whose checkpoint was set by a person. */
export async function listDecided(
  pool: DatabasePool,
  topics: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await pool.any(sql.type(z.object({ topic: z.string(), partition: z.number() }))`
    SELECT DISTINCT topic, partition_id AS partition FROM notifications.checkpoint_change
    WHERE topic = ANY(${sql.array([...topics], 'text')})`)
  return new Set(rows.map(partitionKey))
}
