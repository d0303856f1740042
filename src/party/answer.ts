import type { Contact } from '../core/party/contact.ts'

/** What one request came to. */
export interface Answer {
  readonly contact: Contact
  /** Whether it counts against policy administration as a whole, or for it; null counts neither way. */
  readonly outage: boolean | null
}

/** An answer's body, in bytes, past which it is refused; a contact takes a few hundred. */
export const BODY_BYTES_MAX = 64 * 1024

/** No request is made for such a locator: it would reach another path, or none. */
export const UNASKABLE: Contact = {
  state: 'unresolved',
  error: 'the party locator cannot stand in a URL path, so policy administration was not asked',
  unasked: false,
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

const REASON_BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ENOTFOUND: 'has a host name that does not resolve',
  EAI_AGAIN: 'has a host name that does not resolve at the moment',
  ECONNRESET: 'broke the connection before its answer was complete',
  EPIPE: 'broke the connection before its answer was complete',
  UND_ERR_SOCKET: 'closed the connection before its answer was complete',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'closed the connection before its answer was complete',
  UND_ERR_CONNECT_TIMEOUT: 'did not accept the connection in time',
  UND_ERR_HEADERS_OVERFLOW: 'answered with too many headers',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: `answered with more than ${BODY_BYTES_MAX / 1024} kB`,
}

/**
 * Judges a complete answer. 200 with a JSON object is `found`: `email` and `phone` are strings, and null,
 * blank or absent means not on file. 404 is `not found`; anything else is `unresolved`, and an outage
 * unless it is another 4xx, which is about the one request.
 */
export function judgeAnswer(status: number, chunks: readonly Buffer[]): Answer {
  if (status === 200) {
    const contact = readContact(chunks)
    return { contact: contact ?? MALFORMED, outage: contact === null }
  }
  if (status === 404) return { contact: { state: 'not found' }, outage: false }
  const hint = status >= 300 && status < 400 ? ' (redirects are not followed)' : ''
  return { contact: unresolved(`answered ${status}${hint}`), outage: status < 400 || status >= 500 }
}

/** Judges an exchange that failed. `status` is 0 where no answer had begun. */
export function judgeFailure(status: number, error: Error): Answer {
  // The body of anything but a 200 says nothing that its status does not.
  if (status >= 300) return judgeAnswer(status, [])
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return { contact: unresolved(`${reasonOf(code)} (${code})`), outage: true }
}

/**
 * Judges a request that had no answer when the deadline of its call passed, `waitedMs` after it was made. One that had
 * less than half of the time is no outage: where answers take less than the other half it was only late to be asked.
 */
export function judgeSilence(deadlineMs: number, waitedMs: number): Answer {
  if (waitedMs >= deadlineMs / 2) {
    return { contact: unresolved(`did not answer within ${deadlineMs / 1000} s`), outage: true }
  }
  return {
    contact: unresolved(`was too slow: asked late, and not answered within ${deadlineMs / 1000} s`),
    outage: null,
  }
}

/** The contact of a party whose turn had not come when the deadline passed. */
export function unaskedWithin(deadlineMs: number): Contact {
  return {
    state: 'unresolved',
    error: `policy administration was too slow: not asked within ${deadlineMs / 1000} s`,
    unasked: true,
  }
}

function unresolved(reason: string): Contact {
  return { state: 'unresolved', error: `policy administration ${reason}`, unasked: false }
}

const MALFORMED = unresolved('answered 200 with a body that is not a JSON object with email and phone')

function reasonOf(code: string): string {
  if (code.startsWith('HPE_') || code === 'HTTPParserError') return 'answered with something that is not HTTP'
  return REASON_BY_CODE[code] ?? 'could not be reached'
}

function readContact(chunks: readonly Buffer[]): Contact | null {
  const body = parse(chunks)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null
  const { email, phone } = body as { email?: unknown; phone?: unknown }
  if (!isAddress(email) || !isAddress(phone)) return null
  return { state: 'found', email: email?.trim() || null, phone: phone?.trim() || null }
}

function parse(chunks: readonly Buffer[]): unknown {
  try {
    return JSON.parse(UTF8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
  } catch {
    return null
  }
}

function isAddress(value: unknown): value is string | null | undefined {
  return typeof value === 'string' || value === null || value === undefined
}
