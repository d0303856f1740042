import { once } from 'node:events'

/** Writes lines to standard output, and waits if the reader is slower than the database. */
export async function print(...lines: readonly string[]): Promise<void> {
  for (const line of lines) if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain')
}
