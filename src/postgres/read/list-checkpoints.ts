import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { Checkpoint, TopicPartition } from '../../core/event/position.ts'
import { CHECKPOINT_COLUMNS, checkpointRow, WITH_LAST_MESSAGE } from '../sql/checkpoint-columns.ts'

const row = checkpointRow.extend({ topic: z.string(), partition: z.number() })

/** The checkpoints of these topics' partitions. Locks nothing. */
export function listCheckpoints(
  pool: DatabasePool,
  topics: readonly string[],
): Promise<readonly (TopicPartition & Checkpoint)[]> {
  return pool.any(sql.type(row)`
    SELECT checkpoint.topic, checkpoint.partition_id AS partition, ${CHECKPOINT_COLUMNS}
    FROM ${WITH_LAST_MESSAGE}
    WHERE checkpoint.topic = ANY(${sql.array([...topics], 'text')})`)
}

const locked = z.object({ topic: z.string(), partition: z.number(), offset: z.bigint() })

/** The checkpoints of these topics that another session has locked. Briefly locks the others. */
export function listLockedCheckpoints(
  pool: DatabasePool,
  topics: readonly string[],
): Promise<readonly z.infer<typeof locked>[]> {
  return pool.any(sql.type(locked)`
    WITH free AS (
      SELECT id FROM notifications.projection_checkpoints
      WHERE topic = ANY(${sql.array([...topics], 'text')}) FOR UPDATE SKIP LOCKED
    )
    SELECT topic, partition_id AS partition, "offset" FROM notifications.projection_checkpoints
    WHERE topic = ANY(${sql.array([...topics], 'text')}) AND id NOT IN (SELECT id FROM free)
    ORDER BY topic, partition_id`)
}

const session = z.object({
  pid: z.number(),
  userName: z.string(),
  application: z.string(),
  since: z.string(),
})

/**
 * The sessions that may have such a lock, oldest first: each is in a transaction that uses the table of checkpoints, and waits
 * for no other session. For another user's sessions PostgreSQL shows only the process id and the name, unless this user has
 * pg_read_all_stats.
 */
export function listCheckpointLockers(pool: DatabasePool): Promise<readonly z.infer<typeof session>[]> {
  return pool.any(sql.type(session)`
    SELECT DISTINCT pid, coalesce(usename, '?') AS "userName", coalesce(application_name, '?') AS application,
      coalesce(to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '?') AS since
    FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE relation = 'notifications.projection_checkpoints'::regclass AND granted AND mode <> 'AccessShareLock'
      AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND pid <> pg_backend_pid() AND pg_blocking_pids(pid) = '{}'
    ORDER BY since`)
}
