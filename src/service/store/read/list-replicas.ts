import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { replicaTroubles } from '../../model/service-status.ts'

const replicaRow = z.object({
  id: z.string(),
  groupId: z.string(),
  topics: z.array(z.string()),
  seenMsAgo: z.number(),
  /** Null also for another version's form that this one cannot read. */
  troubles: replicaTroubles.nullable().catch(null),
})

/** In a copied database, the original's rows have another number. */
export const currentDatabase = sql.fragment`(SELECT oid FROM pg_database WHERE datname = current_database())`

/** Replicas that reported within the last day. */
export function listReplicas(pool: CommonQueryMethods): Promise<readonly z.infer<typeof replicaRow>[]> {
  return pool.any(sql.type(replicaRow)`
    SELECT id, group_id AS "groupId", topics, troubles, extract(epoch FROM now() - seen_at)::float8 * 1000 AS "seenMsAgo"
    FROM notifications.replica
    WHERE seen_at > now() - interval '1 day' AND database_oid = ${currentDatabase}`)
}
