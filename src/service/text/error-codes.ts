/** An error with a code, by which its handler recognises it. */
export class CodedError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The code of an error, or the name of its class. */
export function readCode(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/** Codes of Node.js for an address that cannot be reached. */
export const UNREACHABLE_CODES = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH']

/** Families of the codes that Node.js and OpenSSL give to failed TLS handshakes. */
export type TlsFamily = 'UNTRUSTED_CERTIFICATE' | 'TLS_REFUSED'

/** `TLS_REFUSED`: the other side ended the handshake. Null for other codes. */
export function findTlsFamily(code: string): TlsFamily | null {
  if (code.startsWith('ERR_SSL_')) return 'TLS_REFUSED'
  return /CERT|SIGNATURE/.test(code) ? 'UNTRUSTED_CERTIFICATE' : null
}

/**
 * The codes of an error and its causes, from the outermost in, each followed by its family.
 *
 * @param readOwnCode the code of an error whose dependency gives it none
 */
export function listCodes(
  error: unknown,
  readOwnCode: (error: Error) => string | null = () => null,
): string[] {
  if (!(error instanceof Error)) return []
  const { type } = error as { readonly type?: unknown }
  const code = readCode(error)
  // kafkajs has the number of a protocol error as its code, and the name as its type.
  const known = readOwnCode(error) ?? (code === error.name && typeof type === 'string' ? type : code)
  const inner = error instanceof AggregateError ? error.errors : []
  return [
    ...[known, findTlsFamily(known)].filter((found) => found !== null),
    ...[...inner, error.cause].flatMap((cause) => listCodes(cause, readOwnCode)),
  ]
}
