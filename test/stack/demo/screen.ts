import { timed } from '../timed.ts'

export function print(line: string): void {
  process.stdout.write(`${line}\n`)
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
