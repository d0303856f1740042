/** The two mustache templates that one file holds. */
export interface SourceParts {
  readonly subject: string
  readonly body: string
  /** The line, counted from 1, on which the body starts. 3, unless there is no subject (1) or no blank line after it (2). */
  readonly bodyLine: 1 | 2 | 3
}

/**
 * Splits a file's text: `Subject: …`, a blank line, the body. A BOM is passed over and every kind of line break
 * becomes `\n`. Never throws: `bodyLine` says what is missing. Archived sources are split by this rule too, so
 * a change to it changes what they render to.
 */
export function splitSource(source: string): SourceParts {
  const lines = source.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
  const [first = '', second = ''] = lines
  if (!first.startsWith(PREFIX)) return { subject: '', body: lines.join('\n'), bodyLine: 1 }
  const bodyLine = second.trim() === '' ? 3 : 2
  return { subject: first.slice(PREFIX.length).trim(), body: lines.slice(bodyLine - 1).join('\n'), bodyLine }
}

const PREFIX = 'Subject:'
