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
export interface AppliedMigration {
  readonly name: string
  readonly checksum: string | null
}

/**
 * A part of the schema that migrations make, and the one that makes it. A key is a unique constraint or index; a default has the name
 * of its column.
 */
export interface MadePart {
  readonly migration: string
  readonly kind: 'column' | 'default' | 'key' | 'constraint' | 'index'
  readonly table: string
  readonly name: string
  /** Of a key, with `""` for a quoted name. Null for others, and where the statement does not say. */
  readonly columns: readonly string[] | null
}

/** The parts that there are once these migrations are applied. Leaves out columns with quoted names. */
export function listParts(migrations: readonly Migration[]): readonly MadePart[] {
  let parts: MadePart[] = []
  for (const { name: migration, source } of migrations)
    for (const statement of sqlStatements(source)) {
      parts.push(...partsMadeBy(statement).map((part) => ({ migration, ...part })))
      const [, altered, dropped] = PART_DROPPED.exec(statement) ?? []
      const [, gone] = OBJECT_DROPPED.exec(statement) ?? []
      parts = parts.filter(
        ({ table, name }) =>
          (table !== altered || name !== dropped) && table !== gone && `notifications.${name}` !== gone,
      )
    }
  return parts
}

const PART_DROPPED = /^ALTER TABLE ([\w.]+) DROP (?:COLUMN|CONSTRAINT) (\w+)/i
const OBJECT_DROPPED = /^DROP (?:TABLE|INDEX CONCURRENTLY IF EXISTS) ([\w.]+)/i

function partsMadeBy(statement: string): readonly Omit<MadePart, 'migration'>[] {
  const [, unique, index, indexed = '', keyed = ''] =
    /^CREATE (UNIQUE )?INDEX (?:CONCURRENTLY )?(\w+) ON ([\w.]+)(?: ?\(([^()]*)\))?/i.exec(statement) ?? []
  if (index !== undefined)
    return [
      {
        kind: unique ? 'key' : 'index',
        table: indexed,
        name: index,
        columns: unique ? listColumns(keyed) : null,
      },
    ]
  const [, table = '', inside = ''] =
    /^(?:CREATE TABLE ([\w.]+) ?\((.*)\)|ALTER TABLE ([\w.]+) (?:ADD (?:COLUMN )?)?(.*))$/i
      .exec(statement)
      ?.filter((part) => part !== undefined) ?? []
  return splitOutermost(inside).flatMap((element) =>
    partsOf(element).map((part) => ({ table, columns: null, ...part })),
  )
}

type ElementPart = Pick<MadePart, 'kind' | 'name'> & { readonly columns?: readonly string[] | null }

/** The parts that an element of CREATE TABLE or ALTER TABLE makes. */
function partsOf(element: string): readonly ElementPart[] {
  const [, altered] = /^ALTER COLUMN (\w+) SET DEFAULT /i.exec(element) ?? []
  if (altered !== undefined) return [{ kind: 'default', name: altered }]
  if (/^(ALTER|DROP|VALIDATE|RENAME) /i.test(element)) return []
  const [, alone, ofKey, keyed] =
    /^CONSTRAINT (\w+)( PRIMARY KEY| UNIQUE)?(?: \(([^()]*)\))?/i.exec(element) ?? []
  if (alone !== undefined) return [constraint(alone, ofKey, keyed === undefined ? null : listColumns(keyed))]
  const [column = ''] = /^(\w+|"") /.exec(element)?.slice(1) ?? []
  const inline = element.matchAll(/\bCONSTRAINT (\w+)( PRIMARY KEY| UNIQUE)?/gi)
  const named = column !== '' && column !== '""'
  return [
    ...(named ? [{ kind: 'column' as const, name: column }] : []),
    ...(named && /\bDEFAULT /i.test(element) ? [{ kind: 'default' as const, name: column }] : []),
    ...Array.from(inline, ([, name = '', key]) => constraint(name, key, [column])),
  ]
}

function constraint(
  name: string,
  key: string | undefined,
  columns: readonly string[] | null,
): Required<ElementPart> {
  return key === undefined ? { kind: 'constraint', name, columns: null } : { kind: 'key', name, columns }
}

function listColumns(text: string): readonly string[] {
  return text.split(',').map((column) => column.trim())
}

/** The elements of a list, whose commas are not within brackets. */
function splitOutermost(text: string): readonly string[] {
  const elements = ['']
  let depth = 0
  for (const character of text) {
    if (character === '(') depth++
    if (character === ')') depth--
    if (character === ',' && depth === 0) elements.push('')
    else elements.push(`${elements.pop()}${character}`)
  }
  return elements.map((element) => element.trim())
}

/** A fault of the database, and the remedy. */
export interface SchemaFault {
  readonly problem: string
  readonly remedy: string
}

export function describeFault({ problem, remedy }: SchemaFault): string {
  return `${problem}: ${remedy}`
}

/** The fault that the applied migrations are not these, or null. A missing one is another fault. */
export function textFault(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): SchemaFault | null {
  const checksums = new Map(applied.map(({ name, checksum }) => [name, checksum]))
  const changed = migrations.filter(({ name, checksum }) => (checksums.get(name) ?? checksum) !== checksum)
  return changed.length === 0
    ? null
    : {
        problem: `the text of ${changed.map(({ name }) => name).join(', ')} is not the one that was applied`,
        remedy: COMPARE,
      }
}

export const COMPARE_ALL = 'run `migrate` as the owner of the schema, which names all that differs'

/** The fault that the schema lacks parts that applied migrations make, or null. */
export function partFault(missing: readonly MadePart[]): SchemaFault | null {
  const [first, ...others] = missing
  if (first === undefined) return null
  const { kind, table, name, migration } = first
  const what =
    kind === 'column'
      ? `${table}.${name}`
      : kind === 'default'
        ? `the default of ${table}.${name}`
        : `the ${kind} ${name} of ${table}`
  const more = others.length === 0 ? '' : ` and ${others.length} more parts`
  return {
    problem: `the schema lacks ${what}${more}, which ${migration} makes`,
    remedy: COMPARE_ALL,
  }
}

const COMPARE =
  'set all checksums in notifications.migration to null and run `migrate` as the owner, which names all that differs'
