import { type DatabasePool, sql } from 'slonik'
import { type Activation, activation } from '../../core/rules/current-rules.ts'

/** All activations, the first one first: they are few. */
export function listActivations(pool: DatabasePool): Promise<readonly Activation[]> {
  return pool.any(sql.type(activation)`
    SELECT revision, git_commit AS "gitCommit", activated_at AS "activatedAt"
    FROM notifications.rule_table_activation ORDER BY id`)
}
