import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'

/** A rule table that came into force. Times are in UTC with microseconds. */
export interface Activation {
  readonly revision: string
  readonly gitCommit: string | null
  readonly activatedAt: string
}

const activationRow = z.object({
  revision: z.string(),
  gitCommit: z.string().nullable(),
  activatedAt: z.string(),
})

/** All activations, the first one first: they are few. */
export function listActivations(pool: DatabasePool): Promise<readonly Activation[]> {
  return pool.any(sql.type(activationRow)`
    SELECT revision, git_commit AS "gitCommit", activated_at AS "activatedAt"
    FROM notifications.rule_table_activation ORDER BY id`)
}
