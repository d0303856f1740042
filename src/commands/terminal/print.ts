import { once } from 'node:events'

const PROGRESS_PAUSE_MS = 100
const EMPTY_LINE = '\r\u001b[K'
/** Null while no progress is on the last line. */
let shownAtMs: number | null = null

/** Writes lines to standard output, and waits if the reader is slower than the database. */
export async function print(...lines: readonly string[]): Promise<void> {
  clearProgress()
  for (const line of lines) if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain')
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
