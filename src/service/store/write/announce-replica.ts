import { type CommonQueryMethods, sql } from 'slonik'
import { currentDatabase } from '../read/list-replicas.ts'

export interface AnnouncedReplica {
  readonly id: string
  readonly groupId: string
  readonly topics: readonly string[]
  readonly ruleTableRevision: string
}

/**
 * Records that a replica runs. Reuses the row of a replica gone for a day, so that restarts do not accumulate rows.
 *
 * @param troubles JSON of `ReplicaTroubles`; null if it has none
 */
export async function announceReplica(
  pool: CommonQueryMethods,
  { id, groupId, topics, ruleTableRevision }: AnnouncedReplica,
  troubles: string | null,
): Promise<void> {
  const names = sql.array([...topics], 'text')
  const troublesJson = sql.fragment`${troubles}::jsonb`
  await pool.query(sql.unsafe`
    WITH taken AS (
      UPDATE notifications.replica SET id = ${id}, group_id = ${groupId}, topics = ${names}, rule_table_revision = ${ruleTableRevision}, seen_at = now(), database_oid = ${currentDatabase}, troubles = ${troublesJson}
      WHERE id = (
        SELECT id FROM notifications.replica WHERE seen_at < now() - interval '1 day' LIMIT 1 FOR UPDATE SKIP LOCKED
      ) AND NOT EXISTS (SELECT FROM notifications.replica WHERE id = ${id})
      RETURNING id
    )
    INSERT INTO notifications.replica (id, group_id, topics, rule_table_revision, database_oid, troubles)
    SELECT ${id}, ${groupId}, ${names}, ${ruleTableRevision}, ${currentDatabase}, ${troublesJson} WHERE NOT EXISTS (SELECT FROM taken)
    ON CONFLICT (id) DO UPDATE SET seen_at = now(), troubles = excluded.troubles`)
}
