const COMMENT_OR_QUOTED =
  /--.*|\/\*[\s\S]*?\*\/|\bE'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$/gi

/** The text of a migration without comments, on one line, for comparison. */
export function withoutComments(source: string): string {
  return source
    .replaceAll(COMMENT_OR_QUOTED, (text) => (/^(--|\/\*)/.test(text) ? ' ' : text))
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** The statements of a migration, one per line, without comments and with empty strings and quoted names. */
export function sqlStatements(source: string): string[] {
  return source
    .replaceAll(COMMENT_OR_QUOTED, (text) =>
      /^(--|\/\*)/.test(text) ? ' ' : text.startsWith('"') ? '""' : "''",
    )
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '')
}
