import { readFile } from 'node:fs/promises'

/** The secret in a file, without line breaks at its end. Rejects with a message for the operator. */
export async function readSecret(file: string, variable: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new Error(`${variable} cannot be read: ${cause.message}`, { cause })
  })
  const secret = text.replace(/[\r\n]+$/, '')
  if (secret === '') throw new Error(`${variable} is empty: write the secret into ${file}`)
  return secret
}
