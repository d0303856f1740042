import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { columnOf } from '../sql/columns.ts'

/** A revision (content hash) and the text that it stands for. */
export interface Revision {
  readonly revision: string
  readonly source: string
}

/**
 * Keeps the rule table and the templates that are about to be used, so that any decision can be re-made years later.
 * Revisions that are kept already are left as they are.
 */
export async function archive(
  pool: DatabasePool,
  ruleTable: Revision,
  templates: readonly (Revision & { readonly name: string })[],
): Promise<void> {
  await pool.query(sql.unsafe`
    INSERT INTO notifications.ruleset (revision, source) VALUES (${ruleTable.revision}, ${ruleTable.source})
    ON CONFLICT (revision) DO NOTHING`)
  const column = columnOf(templates)
  await pool.query(sql.unsafe`
    INSERT INTO notifications.template_revision (revision, name, source)
    SELECT * FROM unnest(
      ${column('text', (template) => template.revision)},
      ${column('text', (template) => template.name)},
      ${column('text', (template) => template.source)}
    )
    ON CONFLICT (revision, name) DO NOTHING`)
}

const revisionRow = z.object({ revision: z.string(), source: z.string() })

/** The sources of all templates that were ever in force, by revision. */
export async function readArchivedTemplates(pool: DatabasePool): Promise<ReadonlyMap<string, string>> {
  const rows = await pool.any(sql.type(revisionRow)`
    SELECT DISTINCT revision, source FROM notifications.template_revision`)
  return new Map(rows.map(({ revision, source }) => [revision, source]))
}

/** The source of the rule table of a revision, or null. */
export function readArchivedRuleTable(pool: DatabasePool, revision: string): Promise<string | null> {
  return pool.maybeOneFirst(sql.type(z.object({ source: z.string() }))`
    SELECT source FROM notifications.ruleset WHERE revision = ${revision}`)
}
