import { parsePointer, valueAt } from '../core/event/json-pointer.ts'
import type { Contact } from '../core/party/contact.ts'

/** What one request came to. */
export interface Answer {
  readonly contact: Contact
  /** Whether it counts against policy administration as a whole. */
  readonly outage: boolean
  /** Whose answer it says that it is. */
  readonly names: 'ours' | 'another' | 'nobody'
  /** The connection broke before an answer began, as where a server closes one that it kept for long enough. */
  readonly isLost?: true
}

/** The party that the body of an answer names; null where it names nobody. */
export type NameOf = (body: object) => string | null

/** An answer's body, in bytes, past which it is refused; a contact takes a few hundred. */
export const BODY_BYTES_MAX = 64 * 1024

/** No request is made for such a locator: it would reach another path, or none. */
export const UNASKABLE = unresolved('was not asked: the party locator cannot stand in a URL path').contact

/** The contact of a party that hung lately and is left to the retry. */
export const HUNG: Contact = {
  state: 'unresolved',
  error: 'policy administration was not asked: lately it did not answer for this party within the deadline',
  unasked: true,
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

const MALFORMED = unresolved('answered 200 with a body that is not a JSON object')
const NO_CONTACT = unresolved(
  'answered 200 with neither email nor phone: a contact has at least one of them as a key, if only null',
)
const NO_TEXT = unresolved('answered 200 with an email or phone that is neither a string nor null')
const ANOTHER: Answer = {
  contact: {
    state: 'unresolved',
    error: 'policy administration answered for another party',
    unasked: false,
    wrongParty: true,
  },
  outage: true,
  names: 'another',
}

const LOST = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])
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

/** Reads the name at the first of these JSON Pointers (RFC 6901) that leads to a string. */
export function nameAt(pointers: readonly string[]): NameOf {
  const paths = pointers.map(parsePointer)
  return (body) => {
    for (const path of paths) {
      const name = valueAt(body, path)
      if (typeof name === 'string') return name
    }
    return null
  }
}

/**
 * Judges a complete answer. 200 with a JSON object that has `email` or `phone` as a key is `found`: each is a string, and
 * null, blank or absent means not on file. 404 is `not found`; anything else is `unresolved`, and an outage unless it is
 * another 4xx, which is about the one request. An answer that names another party is nobody's.
 */
export function judgeAnswer(
  status: number,
  chunks: readonly Buffer[],
  locator: string,
  nameOf: NameOf,
): Answer {
  const body = status === 200 || status === 404 ? parse(chunks) : null
  const name = body === null ? null : nameOf(body)
  if (name !== null && name !== locator) return ANOTHER
  const names = name === null ? 'nobody' : 'ours'
  if (status === 200) return { ...(body === null ? MALFORMED : readContact(body)), names }
  if (status === 404) return { contact: { state: 'not found' }, outage: false, names }
  const hint = status >= 300 && status < 400 ? ' (redirects are not followed)' : ''
  return { ...unresolved(`answered ${status}${hint}`), outage: status < 400 || status >= 500 }
}

/** Judges an exchange that failed. `status` is 0 where no answer had begun. */
export function judgeFailure(status: number, error: Error): Answer {
  // The body of anything but a 200 says nothing that its status does not.
  if (status >= 300) return judgeAnswer(status, [], '', () => null)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  const answer = unresolved(`${reasonOf(code)} (${code})`)
  return status === 0 && LOST.has(code) ? { ...answer, isLost: true } : answer
}

/** Judges a request that had no answer for so long. */
export function judgeSilence(waitedMs: number): Answer {
  return unresolved(`did not answer within ${Number((waitedMs / 1_000).toPrecision(2))} s`)
}

function unresolved(reason: string): Answer {
  const contact: Contact = { state: 'unresolved', error: `policy administration ${reason}`, unasked: false }
  return { contact, outage: true, names: 'nobody' }
}

function reasonOf(code: string): string {
  if (code.startsWith('HPE_') || code === 'HTTPParserError') return 'answered with something that is not HTTP'
  return REASON_BY_CODE[code] ?? 'could not be reached'
}

function readContact(body: object): Answer {
  const { email, phone } = body as { email?: unknown; phone?: unknown }
  if (!Object.hasOwn(body, 'email') && !Object.hasOwn(body, 'phone')) return NO_CONTACT
  if (!isAddress(email) || !isAddress(phone)) return NO_TEXT
  const contact: Contact = { state: 'found', email: email?.trim() || null, phone: phone?.trim() || null }
  return { contact, outage: false, names: 'nobody' }
}

/** Null where it is no JSON object. */
function parse(chunks: readonly Buffer[]): object | null {
  try {
    const body = JSON.parse(UTF8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
    return typeof body === 'object' && !Array.isArray(body) ? body : null
  } catch {
    return null
  }
}

function isAddress(value: unknown): value is string | null | undefined {
  return typeof value === 'string' || value === null || value === undefined
}
