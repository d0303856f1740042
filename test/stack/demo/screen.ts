import { timed } from '../timed.ts'

const CLEAR_LINE = '\r\u001b[2K'
const PLAIN_INTERVAL_MS = 1_000

/** Prints a line, in place of a live one where there is one. */
export function print(line: string): void {
  process.stdout.write(`${process.stdout.isTTY ? CLEAR_LINE : ''}${line}\n`)
}

/** Does one step, then says what was done and how long it took. */
export async function step<T>(what: string | ((value: T) => string), work: () => Promise<T>): Promise<T> {
  const { value, seconds } = await timed(work)
  done(`${typeof what === 'string' ? what : what(value)} in ${seconds} s`)
  return value
}

export function done(what: string): void {
  print(`  ✓ ${what}`)
}

/** A line that changes in place on a terminal; elsewhere a new line, at most one a second. */
export function liveLine(): (text: string) => void {
  let shown = ''
  let shownAtMs = performance.now()
  return (text) => {
    if (text === shown) return
    const nowMs = performance.now()
    if (process.stdout.isTTY) process.stdout.write(`${CLEAR_LINE}    ${text}`)
    else if (nowMs - shownAtMs < PLAIN_INTERVAL_MS) return
    else print(`    ${text}`)
    shown = text
    shownAtMs = nowMs
  }
}
