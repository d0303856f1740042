import { readFile } from 'node:fs/promises'
import { CodedError } from '../text/error-codes.ts'
import { withoutFinalLineBreaks } from '../text/sanitize.ts'

const VALID_MS = 10_000
/** Code of an error of a file with a secret. */
const SECRET_FILE = 'SECRET_FILE'

interface LoadedSecret {
  readonly secret: string
  readonly usedUntilMs: number
}

/** Shares one secret among all callers until it expires or a server refuses it. Never loads two at once. */
export function cached(load: () => Promise<LoadedSecret>, monotonicMs: () => number) {
  let known: LoadedSecret | null = null
  let loading: Promise<LoadedSecret> | null = null
  return async (refused?: string): Promise<string> => {
    if (known !== null && known.secret !== refused && monotonicMs() < known.usedUntilMs) return known.secret
    loading ??= load().finally(() => {
      loading = null
    })
    known = await loading
    return known.secret
  }
}

/**
 * Returns the header value in a file. Reads it again every 10 s, and when its server refuses it.
 *
 * @param variable the configuration variable with the file's name
 */
export function createFileSecret(file: string, variable: string, monotonicMs: () => number) {
  return cached(async () => {
    const usedUntilMs = monotonicMs() + VALID_MS
    const secret = await readSecret(file, variable)
    if (!/^[\t -~]+$/.test(secret))
      throw new CodedError(SECRET_FILE, `${variable} contains more than one line of printable ASCII`)
    return { secret, usedUntilMs }
  }, monotonicMs)
}

/** A configured secret: its text, or a file that is read for each use. */
export type Secret = { readonly text: string } | { readonly file: string }

export async function resolveSecret(secret: Secret, variable: string): Promise<string> {
  return 'text' in secret ? secret.text : readSecret(secret.file, variable)
}

/** The secret in a file, without trailing line breaks. Rejects with a message for the operator. */
async function readSecret(file: string, variable: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new CodedError(SECRET_FILE, `${variable} cannot be read: ${cause.message}`, { cause })
  })
  const secret = withoutFinalLineBreaks(text)
  if (secret === '') throw new CodedError(SECRET_FILE, `${variable} is empty: write the secret into ${file}`)
  return secret
}
