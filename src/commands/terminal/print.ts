import { once } from 'node:events'

/** Writes to standard output, and waits for a reader that is slower than the database. */
export async function print(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}
