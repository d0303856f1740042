import { once } from 'node:events'
import type { Output, World } from './world.ts'

const PROGRESS_PAUSE_MS = 100
const EMPTY_LINE = '\r\u001b[K'
/** Null unless the last line shows progress. */
let shownAtMs: number | null = null

/** Control and formatting characters except tabs and line breaks: a terminal obeys them, or reorders text. */
const OBEYED = /(?![\t\n]|\r?$)[\p{Cc}\p{Cf}]/gu

/** On a terminal, such characters are written as JSON escapes, so that JSON keeps its meaning. */
function shownAt({ isTTY = false }: Output, line: string): string {
  if (!isTTY) return line
  const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return line.replace(OBEYED, (found) => found.split('').map(toEscape).join(''))
}

/** Writes lines to standard output, escaped on a terminal, and waits if the reader is slower than the database. */
export async function print({ stdout, stderr }: World, ...lines: readonly string[]): Promise<void> {
  clearProgress(stderr)
  for (const line of lines) {
    if (!stdout.write(`${shownAt(stdout, line)}\n`)) await once(stdout, 'drain')
  }
}

/** Writes a line for people to standard error, escaped on a terminal. */
export function note({ stderr }: World, line: string): void {
  clearProgress(stderr)
  stderr.write(`${shownAt(stderr, line)}\n`)
}

/** Shows progress on a terminal, in a line that the next output replaces; elsewhere writes nothing. */
export function showProgress({ stderr }: World, text: string): void {
  const monotonicMs = performance.now()
  if (!stderr.isTTY || (shownAtMs !== null && monotonicMs - shownAtMs < PROGRESS_PAUSE_MS)) return
  shownAtMs = monotonicMs
  stderr.write(`${EMPTY_LINE}${text}`)
}

export function clearProgress(stderr: Output): void {
  if (shownAtMs !== null) stderr.write(EMPTY_LINE)
  shownAtMs = null
}
