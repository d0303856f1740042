/** What keeps writers of a big table waiting, or breaks the version that still runs, and what to do instead. */
const BANNED: readonly (readonly [RegExp, string])[] = [
  [/^CREATE (UNIQUE )?INDEX (?!CONCURRENTLY)/, 'build the index CONCURRENTLY'],
  [/^DROP INDEX (?!CONCURRENTLY)/, 'drop the index CONCURRENTLY'],
  [/^REINDEX (?!.*CONCURRENTLY)/, 'rebuild the index CONCURRENTLY'],
  [
    /\bADD (CONSTRAINT \w+ )?(CHECK|FOREIGN KEY)\b(?!.*\bNOT VALID$)/,
    'add the constraint NOT VALID, and validate it in the next file',
  ],
  [
    /\bADD (CONSTRAINT \w+ )?(UNIQUE|PRIMARY KEY)\b(?! USING INDEX)/,
    'build a unique index CONCURRENTLY, and add the constraint USING INDEX',
  ],
  [
    /\bADD COLUMN\b.*\b(STORED|IDENTITY|UNIQUE|PRIMARY KEY|REFERENCES|CHECK)\b/,
    'add a plain column: this one rewrites or reads the table',
  ],
  [
    /\bADD COLUMN\b.*\bDEFAULT \w+\(/,
    'add the column with a constant default, or with none: this one rewrites the table',
  ],
  [
    /\bADD COLUMN\b(?!.*\bDEFAULT\b).*\bNOT NULL\b/,
    'add the column with a default, or without NOT NULL: older rows have no value',
  ],
  [/\bALTER (COLUMN )?\w+ (SET DATA )?TYPE\b/, 'add another column: this rewrites the table'],
  [/\bSET NOT NULL\b/, 'add CHECK (… IS NOT NULL) NOT VALID, and validate it in the next file'],
  [/\bRENAME\b/, 'add under the new name: the version that still runs knows the old one'],
  [
    /^(UPDATE|DELETE|TRUNCATE|CLUSTER|VACUUM|LOCK)\b|\bSET (UN)?LOGGED\b/,
    'change rows in small transactions, by a command',
  ],
]

/**
 * What is wrong with a migration: one fault and its remedy an element. Tables that the file itself makes may be treated
 * in any way: nobody uses them yet. It reads statements by their words; strings with semicolons are beyond it.
 */
export function migrationFaults(source: string): string[] {
  const statements = statementsOf(source)
  const made = statements.flatMap((statement) => /^CREATE TABLE ([\w.]+)/.exec(statement)?.[1] ?? [])
  const isMade = (statement: string) =>
    made.some((table) => new RegExp(`(ON|TABLE) ${table}\\b`).test(statement))
  const faults = statements
    .filter((statement) => !isMade(statement))
    .flatMap((statement) =>
      BANNED.filter(([pattern]) => pattern.test(statement)).map(
        ([, remedy]) => `${statement.slice(0, 60)}…: ${remedy}`,
      ),
    )
  if (!source.startsWith('-- Why: ')) faults.push('begin with a comment "-- Why: …"')
  if (statements.some((statement) => /CONCURRENTLY/.test(statement)) && statements.length > 1)
    faults.push('a CONCURRENTLY statement needs a file of its own: it cannot run in a transaction')
  if (/NOT VALID/.test(source) && /VALIDATE CONSTRAINT/.test(source))
    faults.push('validate a constraint in the next file: in this one the lock of ADD would be held')
  return faults
}

/** Each on one line, without comments. */
function statementsOf(source: string): string[] {
  return source
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '')
}
