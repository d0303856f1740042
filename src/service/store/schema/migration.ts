import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sqlStatements, withoutComments } from '../../text/sql-statements.ts'

export const MIGRATIONS_DIR = fileURLToPath(new URL('../../../../db/migrations', import.meta.url))

export interface Migration {
  readonly name: string
  readonly source: string
  /** SHA-256 of the text without comments and line breaks. */
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

/** A part of the schema, and the migration that makes it. A key is a unique constraint or index; a default has the name of its column. */
export interface MadePart {
  readonly migration: string
  readonly kind: 'column' | 'default' | 'key' | 'constraint' | 'index'
  readonly table: string
  readonly name: string
  /** The columns of a key, with `""` for a quoted name; null for other parts, and if the statement does not name them. */
  readonly columns: readonly string[] | null
}

/** The parts that exist after these migrations. Omits columns with quoted names. */
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
    parseParts(element).map((part) => ({ table, columns: null, ...part })),
  )
}

type ElementPart = Pick<MadePart, 'kind' | 'name'> & { readonly columns?: readonly string[] | null }

/** The parts that an element of CREATE TABLE or ALTER TABLE makes. */
function parseParts(element: string): readonly ElementPart[] {
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

/** The fault if applied migrations differ from these, or null. A missing migration is another fault. */
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

/** An addition to a table or to the counter of ids; `name` names the trigger, role or the like. */
export interface Addition {
  readonly kind: keyof typeof ADDITION_FAULTS
  readonly table: string
  readonly name: string
}
export type SchemaChange = MadePart | Addition

const ADDITION_FAULTS = {
  unlogged: (table: string) => ({
    problem: `${table} is UNLOGGED, so that a crash of the server empties it`,
    remedy: `run ALTER TABLE ${table} SET LOGGED as the owner of the schema`,
  }),
  rowSecurity: (table: string) => ({
    problem: `row level security may hide rows of ${table} from this user, such as opt-outs`,
    remedy: `run ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY as the owner of the schema, or give the user BYPASSRLS`,
  }),
  idOwner: (counter: string, role: string) => ({
    problem: `notifications.next_id() runs as ${role}, who may not use ${counter}`,
    remedy: 'make notifications.next_id() SECURITY DEFINER, and the owner of the schema its owner',
  }),
  trigger: (table: string, name: string) => ({
    problem: `the trigger ${name} of ${table} may change or drop what the service writes`,
    remedy: `run DROP TRIGGER ${name} ON ${table} as the owner of the schema, unless it is meant`,
  }),
  rule: (table: string, name: string) => ({
    problem: `the rule ${name} of ${table} may change or drop what the service writes`,
    remedy: `run DROP RULE ${name} ON ${table} as the owner of the schema, unless it is meant`,
  }),
  heir: (table: string, name: string) => ({
    problem: `the table ${name} inherits from ${table}, so that its rows are read as those of the service`,
    remedy: `run ALTER TABLE ${name} NO INHERIT ${table} as the owner of the schema, unless it is meant`,
  }),
  limit: (table: string, name: string) => ({
    problem: `${name} of ${table} may refuse what the service writes`,
    remedy: `drop the constraint or unique index ${name} as the owner of the schema, unless it is meant`,
  }),
}

export function isAddition<Part extends { readonly kind: string }>(
  part: Part,
): part is Part & Pick<Addition, 'kind'> {
  return Object.hasOwn(ADDITION_FAULTS, part.kind)
}

/** The fault if the schema differs from what the applied migrations make, or null. */
export function partFault(changes: readonly SchemaChange[]): SchemaFault | null {
  const [first, ...others] = changes
  if (first === undefined) return null
  const { kind, table, name } = first
  const more = others.length === 0 ? '' : ` and ${others.length} more parts`
  if (isAddition(first)) {
    const { problem, remedy } = ADDITION_FAULTS[first.kind](table, name)
    return { problem: `${problem}${others.length === 0 ? '' : `, and ${others.length} more faults`}`, remedy }
  }
  const what =
    kind === 'column'
      ? `${table}.${name}`
      : kind === 'default'
        ? `the default of ${table}.${name}`
        : `the ${kind} ${name} of ${table}`
  const isKey = kind === 'key' ? ' (valid, and not deferrable)' : ''
  return {
    problem: `the schema lacks ${what}${more}, which ${first.migration} makes${isKey}`,
    remedy: COMPARE_ALL,
  }
}

const COMPARE =
  'set all checksums in notifications.migration to null and run `migrate` as the owner, which names all that differs'
