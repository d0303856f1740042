import { type DatabasePool, sql } from 'slonik'
import { sqlColumns } from '../sql/columns.ts'

export interface Revision {
  readonly revision: string
  readonly source: string
}

export async function archiveEnvelopeMap(pool: DatabasePool, { revision, source }: Revision): Promise<void> {
  await pool.query(sql.unsafe`
    INSERT INTO notifications.envelope_map (revision, source) VALUES (${revision}, ${source})
    ON CONFLICT (revision) DO NOTHING`)
}

/** Archives the rule table and the templates before they are used, so that any decision can be repeated years later. */
export async function archiveRevisions(
  pool: DatabasePool,
  ruleTable: Revision,
  templates: readonly (Revision & { readonly name: string })[],
): Promise<void> {
  await pool.query(sql.unsafe`
    INSERT INTO notifications.ruleset (revision, source) VALUES (${ruleTable.revision}, ${ruleTable.source})
    ON CONFLICT (revision) DO NOTHING`)
  const column = sqlColumns(templates)
  await pool.query(sql.unsafe`
    INSERT INTO notifications.template_revision (revision, name, source)
    SELECT * FROM unnest(
      ${column('text', (template) => template.revision)},
      ${column('text', (template) => template.name)},
      ${column('text', (template) => template.source)}
    )
    ON CONFLICT (revision, name) DO NOTHING`)
}
