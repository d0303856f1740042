import { ADDRESSES, type Address } from '../core/decision/channel.ts'
import { parsePointer, valueAt } from '../core/event/json-pointer.ts'
import type { Contact } from '../core/party/contact.ts'
import { findTlsFamily, listCodes, readCode } from '../core/text/error-codes.ts'

export interface LookUpResult {
  readonly contact: Contact
  /** True if it counts against policy administration as a whole. */
  readonly outage: boolean
  readonly isNamed: boolean
  /** True if its connection can carry another request. */
  readonly keepsConnection: boolean
  /** True if a new connection must confirm it: an earlier request on its connection may have caused it. */
  readonly needsConfirmation: boolean
  readonly isTimeout?: true
  readonly isRefusal?: boolean
}

/** Code of an error of the configured files, which do not allow a connection. */
export const TLS_FILES = 'TLS_FILES'

export type ReadName = (body: object) => string | null

/** Larger bodies are refused; a contact takes a few hundred bytes. */
export const BODY_BYTES_MAX = 64 * 1024

/** The contact for a locator that is empty or would reach another path. */
export const UNASKABLE = unresolved('was not asked: the party locator cannot be part of a URL path').contact

/** The contact for a party that timed out recently; only the retry asks for it. */
export const HUNG = unresolved('was not asked: a recent look-up of this party timed out', {
  costsNoAttempt: true,
}).contact

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** Returns a function that reads the party's name from a body, at the first of these JSON Pointers that leads to a string. */
export function nameAt(pointers: readonly string[]): ReadName {
  const paths = pointers.map(parsePointer)
  return (body) => paths.map((path) => valueAt(body, path)).find((name) => typeof name === 'string') ?? null
}

/**
 * Judges a complete answer: 404 is `not found`; 200 with a JSON object that has `email` or `phone` as a key is `found`, each a
 * string, or null, blank or absent if not on file. Anything else is `unresolved`, and an outage unless it is a 4xx other than
 * 401 and 429.
 */
export function judgeAnswer(status: number, body: Buffer, locator: string, readName: ReadName): LookUpResult {
  if (status !== 200 && status !== 404) {
    const isRefusal = status === 401
    let reason = `answered ${status}`
    if (isRefusal) reason += ': a credential is missing or refused'
    else if (status >= 300 && status < 400) reason += ' (redirects are not followed)'
    else if (status >= 500) reason = `had an error (HTTP ${status})`
    // A refused credential or a rate limit says nothing about the party.
    const isGeneral = isRefusal || status === 429
    const outage = status < 400 || status >= 500 || isGeneral
    const more = isGeneral ? ({ costsNoAttempt: true } as const) : {}
    return {
      ...unresolved(reason, { ...more, codes: [`HTTP_${status}`] }),
      outage,
      isRefusal,
      keepsConnection: true,
    }
  }
  const value = parse(body)
  const name = value === null ? null : readName(value)
  if (name !== null && name !== locator)
    return unresolved('answered for another party', { wrongParty: true, codes: ['WRONG_PARTY'] })
  const contact: Contact | string = status === 404 ? { state: 'not found' } : readContact(value)
  if (typeof contact === 'string') return unresolved(`answered 200 with ${contact}`)
  // A 404 for another party would skip this member's message for good.
  const needsConfirmation = status === 404 && name === null
  return { contact, outage: false, isNamed: name !== null, keepsConnection: true, needsConfirmation }
}

/** The answer for a request that could not be made, because of a missing file or token on this side. */
export function judgeUnasked(error: Error): LookUpResult {
  const more = { costsNoAttempt: true, codes: listCodes(error) } as const
  return { ...unresolved(`was not asked: ${error.message}`, more), keepsConnection: true }
}

/** Judges a failed request. `status` is 0 if no answer began: servers and proxies close connections at any time. */
export function judgeFailure(status: number, error: Error): LookUpResult {
  const code = readCode(error)
  if (code === TLS_FILES) return judgeUnasked(error)
  const family = findTlsFamily(code)
  let reason = status === 0 ? 'did not answer' : 'broke off its answer'
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') reason = `answered with more than ${BODY_BYTES_MAX / 1024} kB`
  if (family === 'UNTRUSTED_CERTIFICATE') reason = 'has a certificate that is not trusted'
  if (family === 'TLS_REFUSED') reason = 'refused the TLS connection'
  const more = { ...(family && ({ costsNoAttempt: true } as const)), codes: listCodes(error) }
  if (/^HPE_|^HTTPParserError$/.test(code)) reason = 'answered with something that is not HTTP'
  return { ...unresolved(`${reason} (${code})`, more), needsConfirmation: status === 0 }
}

export function judgeTimeout(waitedMs: number): LookUpResult {
  return unresolved(`did not answer within ${Number((waitedMs / 1_000).toPrecision(2))} s`)
}

type More = Partial<
  Pick<Extract<Contact, { state: 'unresolved' }>, 'codes' | 'costsNoAttempt' | 'wrongParty'>
>

function unresolved(reason: string, more: More = {}): LookUpResult {
  const error = `policy administration ${reason}`
  const contact: Contact = { state: 'unresolved', error, costsNoAttempt: false, ...more }
  return { contact, outage: true, isNamed: false, keepsConnection: false, needsConfirmation: false }
}

const NOTHING_ON_FILE = {
  state: 'found' as const,
  ...(Object.fromEntries(ADDRESSES.map((address) => [address, null])) as Record<Address, string | null>),
}

/** The contact, or a phrase that says why there is none. */
function readContact(value: object | null): Contact | string {
  if (value === null) return 'a body that is not a JSON object'
  if (!ADDRESSES.some((address) => Object.hasOwn(value, address)))
    return `neither ${ADDRESSES.join(' nor ')}: a contact has at least one of them as a key, if only null`
  const contact = { ...NOTHING_ON_FILE }
  for (const address of ADDRESSES) {
    const text = (value as Record<string, unknown>)[address] ?? null
    if (text !== null && typeof text !== 'string')
      return `an ${ADDRESSES.join(' or ')} that is neither a string nor null`
    contact[address] = text?.trim() || null
    // A line break would end a header of the message.
    if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(contact[address] ?? ''))
      return `an ${ADDRESSES.join(' or ')} with control characters`
  }
  return contact
}

function parse(body: Buffer): object | null {
  try {
    const value = JSON.parse(UTF8.decode(body))
    return typeof value === 'object' && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}
