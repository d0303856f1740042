import { readFile } from 'node:fs/promises'
import { withoutFinalLineBreaks } from '../core/text/sanitize.ts'

const VALID_MS = 10_000

/**
 * Returns the header value in a file. Reads it again every 10 s, and when its server refuses it.
 *
 * @param variable the configuration variable with the file's name
 */
export function createFileSecret(file: string, variable: string, nowMs: () => number) {
  let known: { readonly secret: string; readonly readAtMs: number } | null = null
  return async (refused?: string): Promise<string> => {
    if (known !== null && known.secret !== refused && nowMs() < known.readAtMs + VALID_MS) return known.secret
    const readAtMs = nowMs()
    const secret = await readSecret(file, variable)
    if (!/^[\t -~]+$/.test(secret))
      throw new Error(`${variable} contains more than one line of printable ASCII`)
    known = { secret, readAtMs }
    return secret
  }
}

/** A secret of the configuration: its text, or the file from which it is read each time. */
export type Secret = { readonly text: string } | { readonly file: string }

export async function secretOf(secret: Secret, variable: string): Promise<string> {
  return 'text' in secret ? secret.text : readSecret(secret.file, variable)
}

/** The secret in a file, without trailing line breaks. Rejects with a message for the operator. */
async function readSecret(file: string, variable: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new Error(`${variable} cannot be read: ${cause.message}`, { cause })
  })
  const secret = withoutFinalLineBreaks(text)
  if (secret === '') throw new Error(`${variable} is empty: write the secret into ${file}`)
  return secret
}
