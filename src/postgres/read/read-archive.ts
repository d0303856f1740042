import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { type Activation, activation } from '../../core/rules/current-rules.ts'

const revisionRow = z.object({ revision: z.string(), source: z.string() })

/** The sources of all templates that were ever in force, by revision. */
export async function readArchivedTemplates(pool: DatabasePool): Promise<ReadonlyMap<string, string>> {
  const rows = await pool.any(sql.type(revisionRow)`
    SELECT DISTINCT revision, source FROM notifications.template_revision`)
  return new Map(rows.map(({ revision, source }) => [revision, source]))
}

export function readArchivedRuleTable(pool: DatabasePool, revision: string): Promise<string | null> {
  return pool.maybeOneFirst(sql.type(z.object({ source: z.string() }))`
    SELECT source FROM notifications.ruleset WHERE revision = ${revision}`)
}

/** The revisions of all rule tables that were ever loaded to decide events: there are few. */
export function listArchivedRuleTables(pool: DatabasePool): Promise<readonly string[]> {
  return pool.anyFirst(
    sql.type(z.object({ revision: z.string() }))`SELECT revision FROM notifications.ruleset`,
  )
}

/** The revisions of all envelope maps that were ever in force: there are few. */
export function listArchivedEnvelopeMaps(pool: DatabasePool): Promise<readonly string[]> {
  return pool.anyFirst(
    sql.type(z.object({ revision: z.string() }))`SELECT revision FROM notifications.envelope_map`,
  )
}

export function readArchivedEnvelopeMap(pool: DatabasePool, revision: string): Promise<string | null> {
  return pool.maybeOneFirst(sql.type(z.object({ source: z.string() }))`
    SELECT source FROM notifications.envelope_map WHERE revision = ${revision}`)
}

/** All activations, oldest first: there are few. */
export function listActivations(pool: DatabasePool): Promise<readonly Activation[]> {
  return pool.any(sql.type(activation)`
    SELECT revision, git_commit AS "gitCommit", activated_at AS "activatedAt"
    FROM notifications.rule_table_activation ORDER BY id`)
}
