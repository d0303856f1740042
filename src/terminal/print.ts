import { once } from 'node:events'

const PROGRESS_PAUSE_MS = 100
const EMPTY_LINE = '\r\u001b[K'
/** Null while no progress is on the last line. */
let shownAtMs: number | null = null

/** Control and formatting characters but tabs and line breaks: a terminal obeys them, or shows text in another order. */
const OBEYED = /(?![\t\n]|\r?$)[\p{Cc}\p{Cf}]/gu

/** A line for a terminal: what it would obey is written as JSON escapes it, so that JSON stays what it was. */
function escaped(line: string): string {
  const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return line.replace(OBEYED, (found) => found.split('').map(toEscape).join(''))
}

/** Writes lines to standard output, escaped on a terminal, and waits if the reader is slower than the database. */
export async function print(...lines: readonly string[]): Promise<void> {
  clearProgress()
  for (const line of lines) {
    const shown = process.stdout.isTTY ? escaped(line) : line
    if (!process.stdout.write(`${shown}\n`)) await once(process.stdout, 'drain')
  }
}

/** Writes a line for people to standard error. */
export function note(line: string): void {
  clearProgress()
  process.stderr.write(`${line}\n`)
}

/** Shows the progress of a long command on a terminal, in a line that the next output replaces; elsewhere writes nothing. */
export function showProgress(text: string): void {
  const nowMs = performance.now()
  if (!process.stderr.isTTY || (shownAtMs !== null && nowMs - shownAtMs < PROGRESS_PAUSE_MS)) return
  shownAtMs = nowMs
  process.stderr.write(`${EMPTY_LINE}${text}`)
}

export function clearProgress(): void {
  if (shownAtMs !== null) process.stderr.write(EMPTY_LINE)
  shownAtMs = null
}
