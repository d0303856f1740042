import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { Checkpoint } from '../../core/batch/checkpoint.ts'
import type { TopicPartition } from '../../core/batch/topic-partition.ts'

const lastMessage = z.object({ offset: z.coerce.bigint(), sha256: z.string() }).nullable()
const row = z.object({ topic: z.string(), partition: z.number(), offset: z.bigint(), lastMessage })

/** The checkpoints of all partitions of these topics that have one. Locks nothing. */
export function listCheckpoints(
  pool: DatabasePool,
  topics: readonly string[],
): Promise<readonly (TopicPartition & Checkpoint)[]> {
  return pool.any(sql.type(row)`
    SELECT checkpoint.topic, checkpoint.partition_id AS partition, checkpoint."offset",
      CASE WHEN sha256 IS NOT NULL
        THEN json_build_object('offset', message."offset"::text, 'sha256', sha256) END AS "lastMessage"
    FROM notifications.projection_checkpoints AS checkpoint
    LEFT JOIN notifications.checkpoint_message AS message
      ON (message.topic, message.partition_id, message.checkpoint) =
        (checkpoint.topic, checkpoint.partition_id, checkpoint."offset")
    WHERE checkpoint.topic = ANY(${sql.array([...topics], 'text')})`)
}
