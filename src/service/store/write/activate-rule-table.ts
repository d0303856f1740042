import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { REPLICA_GONE_MS } from '../../model/service-status.ts'
import { currentDatabase } from '../read/list-replicas.ts'
import { ACTIVATION_LOCK } from '../sql/advisory-locks.ts'
import type { Revision } from './archive-revisions.ts'

const lastRow = z.object({ revision: z.string(), source: z.string(), isRunning: z.boolean() })

export interface CommitOfRules {
  readonly gitCommit: string | null
  readonly gitSubject: string | null
}

/**
 * Records that an archived rule table is in force from now on. Returns null if it already was, otherwise the previous one, if any,
 * so that only one of several replicas reports a new table. Also returns null if another replica runs the table in force, and this
 * is not the first decision here: during a rollout the two must not take turns.
 */
export function activateRuleTable(
  pool: DatabasePool,
  revision: string,
  { gitCommit, gitSubject }: CommitOfRules,
  isFirst = true,
): Promise<{ readonly before: Revision | null } | null> {
  return pool.transaction(async (tx) => {
    await tx.query(sql.unsafe`SELECT pg_advisory_xact_lock(${ACTIVATION_LOCK})`)
    const before = await tx.maybeOne(sql.type(lastRow)`
      SELECT revision, source, EXISTS (
        SELECT FROM notifications.replica
        WHERE rule_table_revision = revision AND database_oid = ${currentDatabase}
          AND seen_at > now() - ${REPLICA_GONE_MS} * interval '1 millisecond'
      ) AS "isRunning"
      FROM notifications.rule_table_activation JOIN notifications.ruleset USING (revision)
      ORDER BY id DESC LIMIT 1`)
    if (before?.revision === revision || (!isFirst && before?.isRunning)) return null
    // Not now(), the start of the transaction, before it waited for the lock.
    await tx.query(sql.unsafe`
      INSERT INTO notifications.rule_table_activation (revision, git_commit, git_subject, activated_at)
      VALUES (${revision}, ${gitCommit}, ${gitSubject}, clock_timestamp())`)
    return { before }
  })
}
