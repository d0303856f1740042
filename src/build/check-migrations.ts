import { readFile } from 'node:fs/promises'
import { sqlStatements } from '../service/text/sql-statements.ts'

const TYPE = '(bigint|boolean|bytea|date|integer|jsonb|numeric|text( COLLATE "")?|timestamptz|uuid)'
const DEFAULT = "DEFAULT (''|-?\\d+|true|false)"
const COLUMN = `${TYPE}( ${DEFAULT}| NOT NULL ${DEFAULT}| ${DEFAULT} NOT NULL)?`

/** Statements that block nobody, with brackets written as … and empty strings. */
const ALLOWED = [
  'CREATE TABLE [\\w.]+ ?…',
  `ALTER TABLE [\\w.]+ ADD COLUMN \\w+ ${COLUMN}`,
  'ALTER TABLE [\\w.]+ ADD CONSTRAINT \\w+ CHECK ?… NOT VALID',
  'ALTER TABLE [\\w.]+ ADD CONSTRAINT \\w+ UNIQUE USING INDEX \\w+',
  'ALTER TABLE [\\w.]+ VALIDATE CONSTRAINT \\w+',
  'CREATE (UNIQUE )?INDEX CONCURRENTLY \\w+ ON [\\w.]+ ?…( INCLUDE ?…)?( WHERE .+)?',
  'DROP INDEX CONCURRENTLY IF EXISTS [\\w.]+',
  'CREATE SEQUENCE [\\w.]+( (MINVALUE|MAXVALUE) \\d+| CYCLE)*',
  'CREATE FUNCTION [\\w.]+ ?… RETURNS bigint LANGUAGE sql VOLATILE SECURITY DEFINER RETURN .+',
  // In one statement, because without a default the running version could insert no row.
  'ALTER TABLE [\\w.]+ ALTER COLUMN (\\w+) DROP IDENTITY, ALTER COLUMN \\1 SET DEFAULT [\\w.]+…',
].map(whole)
/** Allowed if the running version does not use the object. */
const ALLOWED_IF_UNUSED = ['ALTER TABLE [\\w.]+ DROP (COLUMN|CONSTRAINT) \\w+', 'DROP TABLE [\\w.]+'].map(
  whole,
)

const NO_FOREIGN_KEY = 'leave it out, since it would refuse deletes of the version that still runs'
const REMEDY =
  'write one of the forms in db/README.md, section Upgrades, or show that it blocks no writer and allow it in src/build/check-migrations.ts'

/**
 * Returns the faults of a migration. A statement passes if its form blocks no writer and it does not touch
 * anything that the running version uses, or if it creates an index on a table that the same file creates.
 */
export function migrationFaults(source: string): string[] {
  const statements = sqlStatements(source)
  const made = statements.flatMap((statement) => /^CREATE TABLE ([\w.]+)/i.exec(statement)?.[1] ?? [])
  const isUnused = /^-- Unused since: \S/m.test(source)
  const allowed = [...ALLOWED, ...(isUnused ? ALLOWED_IF_UNUSED : []), ...made.flatMap(statementsOnNew)]
  const faults = statements.flatMap((statement) => {
    const outline = withoutBrackets(statement)
    return allowed.some((form) => form.test(outline)) ? [] : [`${statement.slice(0, 60)}…: ${REMEDY}`]
  })
  const refersElsewhere = statements
    .filter((statement) => /^CREATE TABLE/i.test(statement))
    .flatMap((statement) => [...statement.matchAll(/\bREFERENCES ([\w."]+)/gi)])
    .some(([, table = '']) => !made.includes(table))
  if (refersElsewhere) faults.push(`a foreign key to a table of another file: ${NO_FOREIGN_KEY}`)
  if (!source.startsWith('-- Why: ')) faults.push('begin with a comment "-- Why: …"')
  if (statements.some((statement) => /\bCONCURRENTLY\b/i.test(statement)) && statements.length > 1)
    faults.push('a CONCURRENTLY statement needs a file of its own: it cannot run in a transaction')
  if (statements.some((statement) => /\bVALIDATE CONSTRAINT\b/i.test(statement)) && statements.length > 1)
    faults.push(
      'validate a constraint in a file of its own: the locks of other statements would be held meanwhile',
    )
  return faults
}

/** Statements on a table created in the same file, which nobody uses yet. */
function statementsOnNew(table: string): RegExp[] {
  const name = table.replace('.', '\\.')
  return [
    whole(`CREATE (UNIQUE )?INDEX \\w+ ON ${name} ?…( WHERE .+)?`),
    whole(`INSERT INTO ${name} DEFAULT VALUES`),
  ]
}

function withoutBrackets(statement: string): string {
  const outline = statement.replaceAll(/\([^()]*\)/g, '…')
  return outline === statement ? outline : withoutBrackets(outline)
}

function whole(form: string): RegExp {
  return new RegExp(`^${form}$`, 'i')
}

// node src/build/check-migrations.ts <file …>
// Exits 1 if a migration would block writers.
if (import.meta.main) {
  for (const file of process.argv.slice(2)) {
    for (const fault of migrationFaults(await readFile(file, 'utf8'))) {
      process.stderr.write(`${file}: ${fault}\n`)
      process.exitCode = 1
    }
  }
}
