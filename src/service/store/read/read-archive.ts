import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { type Activation, activation } from '../../decide/rules/current-rules.ts'

/** The archives of rule tables and of envelope maps. */
type ArchiveTable = 'ruleset' | 'envelope_map'

/** The source of a revision that was ever in force, or null. */
export function readArchived(
  pool: CommonQueryMethods,
  table: ArchiveTable,
  revision: string,
): Promise<string | null> {
  return pool.maybeOneFirst(sql.type(z.object({ source: z.string() }))`
    SELECT source FROM ${sql.identifier(['notifications', table])} WHERE revision = ${revision}`)
}

/** All revisions that were ever in force; there are few. */
export function listArchived(pool: DatabasePool, table: ArchiveTable): Promise<readonly string[]> {
  return pool.anyFirst(sql.type(z.object({ revision: z.string() }))`
    SELECT revision FROM ${sql.identifier(['notifications', table])}`)
}

const revisionRow = z.object({ revision: z.string(), source: z.string() })

/** The sources of all templates that were ever in force, by revision. */
export async function readArchivedTemplates(pool: DatabasePool): Promise<ReadonlyMap<string, string>> {
  const rows = await pool.any(sql.type(revisionRow)`
    SELECT DISTINCT revision, source FROM notifications.template_revision`)
  return new Map(rows.map(({ revision, source }) => [revision, source]))
}

/** All activations, oldest first; there are few. */
export function listActivations(pool: DatabasePool): Promise<readonly Activation[]> {
  return pool.any(sql.type(activation)`
    SELECT revision, git_commit AS "gitCommit", git_subject AS "gitSubject", activated_at AS "activatedAt"
    FROM notifications.rule_table_activation ORDER BY id`)
}
