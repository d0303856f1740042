const COMMENT_OR_QUOTED =
  /--.*|\/\*[\s\S]*?\*\/|\bE'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$/gi

/** The statements of a migration, each on one line, without comments, its strings and quoted names emptied. */
export function sqlStatements(source: string): string[] {
  return source
    .replaceAll(COMMENT_OR_QUOTED, (text) =>
      /^(--|\/\*)/.test(text) ? ' ' : text.startsWith('"') ? '""' : "''",
    )
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '')
}
