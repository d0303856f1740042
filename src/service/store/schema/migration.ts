import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sqlStatements, withoutComments } from '../../text/sql-statements.ts'

export const MIGRATIONS_DIR = fileURLToPath(new URL('../../../../db/migrations', import.meta.url))

export interface Migration {
  readonly name: string
  readonly source: string
  /** SHA-256 of the text without comments and line breaks, which change nothing. */
  readonly checksum: string
}

/** All migrations, in order; by default those that this version of the service needs. */
export async function readMigrations(dir = MIGRATIONS_DIR): Promise<readonly Migration[]> {
  const files = (await readdir(dir)).filter((file) => file.endsWith('.sql')).sort()
  return Promise.all(
    files.map(async (file) => {
      const source = await readFile(join(dir, file), 'utf8')
      const checksum = createHash('sha256').update(withoutComments(source)).digest('hex')
      return { name: file.slice(0, -'.sql'.length), source, checksum }
    }),
  )
}

/** A row of the table of migrations. `checksum` is null if a version applied it that recorded none. */
export interface Applied {
  readonly name: string
  readonly checksum: string | null
}

/** A column that migrations make, and the one that makes it. */
export interface MadeColumn {
  readonly migration: string
  readonly table: string
  readonly column: string
}

/** The columns that there are once these migrations are applied. Leaves out those with quoted names. */
export function listColumns(migrations: readonly Migration[]): readonly MadeColumn[] {
  let columns: MadeColumn[] = []
  for (const { name: migration, source } of migrations)
    for (const statement of sqlStatements(source)) {
      const [, created, inside] = /^CREATE TABLE ([\w.]+) ?\((.*)\)$/i.exec(statement) ?? []
      for (const [, column = ''] of outermost(inside ?? '').matchAll(/(?:^|,) ?(?!CONSTRAINT )(\w+) /gi))
        columns.push({ migration, table: created ?? '', column })
      const [, table = '', act, column = ''] = COLUMN_CHANGE.exec(statement) ?? []
      if (act?.toUpperCase() === 'ADD') columns.push({ migration, table, column })
      else if (act !== undefined)
        columns = columns.filter((one) => one.table !== table || one.column !== column)
      const [, dropped] = /^DROP TABLE ([\w.]+)/i.exec(statement) ?? []
      columns = columns.filter((one) => one.table !== dropped)
    }
  return columns
}

const COLUMN_CHANGE = /^ALTER TABLE ([\w.]+) (ADD|DROP) COLUMN (\w+)/i

/** Without what is in brackets. */
function outermost(text: string): string {
  const without = text.replaceAll(/\([^()]*\)/g, '')
  return without === text ? text : outermost(without)
}

/** The reason why the applied migrations are not these, with the remedy, or null. A missing one is another fault. */
export function textFault(applied: readonly Applied[], migrations: readonly Migration[]): string | null {
  const checksums = new Map(applied.map(({ name, checksum }) => [name, checksum]))
  const changed = migrations.filter(({ name, checksum }) => (checksums.get(name) ?? checksum) !== checksum)
  return changed.length === 0
    ? null
    : `the text of ${changed.map(({ name }) => name).join(', ')} is not the one that was applied: ${REMEDY}`
}

/** The reason why the schema lacks columns that applied migrations make, with the remedy, or null. */
export function columnFault(missing: readonly MadeColumn[]): string | null {
  const [first, ...others] = missing
  if (first === undefined) return null
  const more = others.length === 0 ? '' : ` and ${others.length} more columns`
  return `the schema lacks ${first.table}.${first.column}${more}, which ${first.migration} makes: another text of it was applied: ${REMEDY}`
}

const REMEDY =
  'compare the schema with a new one (`migrate` in an empty database, `pg_dump --schema-only` of both) and correct it, then set the checksum of these rows in notifications.migration to null and run `migrate`'
