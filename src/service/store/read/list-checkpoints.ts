import { type DatabasePool, type FragmentSqlToken, sql } from 'slonik'
import { z } from 'zod'
import { type Checkpoint, partitionKey, type TopicPartition } from '../../decide/event/position.ts'
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

/** The offsets of these topics' checkpoints, by `partitionKey`. */
export async function readCheckpointOffsets(
  pool: DatabasePool,
  topics: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  const checkpoints = await listCheckpoints(pool, topics)
  return new Map(checkpoints.map(({ offset, ...partition }) => [partitionKey(partition), offset]))
}

const locked = z.object({ topic: z.string(), partition: z.number(), offset: z.bigint() })

/**
 * Checkpoints of these topics that another transaction has locked. Briefly locks the others. Its own commit waits for no standby,
 * since a missing standby may cause the locks.
 */
export function listLockedCheckpoints(
  pool: DatabasePool,
  topics: readonly string[],
): Promise<readonly z.infer<typeof locked>[]> {
  return pool.transaction(async (tx) => {
    await tx.query(sql.unsafe`SELECT set_config('synchronous_commit', 'local', true)`)
    return tx.any(sql.type(locked)`
      WITH free AS (
        SELECT id FROM notifications.projection_checkpoints
        WHERE topic = ANY(${sql.array([...topics], 'text')}) FOR UPDATE SKIP LOCKED
      )
      SELECT topic, partition_id AS partition, "offset" FROM notifications.projection_checkpoints
      WHERE topic = ANY(${sql.array([...topics], 'text')}) AND id NOT IN (SELECT id FROM free)
      ORDER BY topic, partition_id`)
  })
}

const holder = z.object({
  /** `commit`: a session whose commit waits for a synchronous standby. `prepared`: a transaction that no session owns. */
  kind: z.enum(['session', 'commit', 'prepared']),
  /** The process id of a session, or the name of a prepared transaction. */
  id: z.string(),
  userName: z.string(),
  /** Null without a session. */
  application: z.string().nullable(),
  since: z.string(),
  /** The setting synchronous_standby_names. */
  standbys: z.string(),
})
export type CheckpointHolder = Readonly<z.infer<typeof holder>>

/**
 * Sessions that may hold such a lock, oldest first: those in a transaction that uses the table of checkpoints, and waits for no other
 * session, and prepared transactions. For another user's sessions PostgreSQL shows only the process id and the name, unless this
 * user has pg_read_all_stats.
 */
export function listCheckpointHolders(pool: DatabasePool): Promise<readonly CheckpointHolder[]> {
  const since = (time: FragmentSqlToken) =>
    sql.fragment`coalesce(to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '?')`
  return pool.any(sql.type(holder)`
    WITH held AS (
      SELECT pid, virtualtransaction FROM pg_locks
      WHERE relation = 'notifications.projection_checkpoints'::regclass AND granted AND mode <> 'AccessShareLock'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
    SELECT holder.*, current_setting('synchronous_standby_names') AS standbys FROM (
      SELECT CASE WHEN wait_event = 'SyncRep' THEN 'commit' ELSE 'session' END AS kind, pid::text AS id,
        coalesce(usename, '?') AS "userName", coalesce(application_name, '?') AS application,
        ${since(sql.fragment`xact_start`)} AS since
      FROM held JOIN pg_stat_activity USING (pid)
      WHERE pid <> pg_backend_pid() AND pg_blocking_pids(pid) = '{}'
      UNION
      SELECT 'prepared', gid, owner, NULL, ${since(sql.fragment`prepared`)}
      FROM held
      JOIN pg_locks AS own ON own.virtualtransaction = held.virtualtransaction AND own.pid IS NULL
      JOIN pg_prepared_xacts ON transaction = own.transactionid
      WHERE held.pid IS NULL
    ) AS holder
    ORDER BY since`)
}
