import { type Pointer, parsePointer, pointerText, valueAt } from '../decide/event/json-pointer.ts'
import { ADDRESSES, type Address, mapAddresses } from '../decide/party/channel.ts'
import type { Contact } from '../decide/party/contact.ts'
import { findTlsFamily, listCodes, readCode } from '../text/error-codes.ts'

export interface LookUpResult {
  readonly contact: Contact
  /** True if it indicates an outage of policy administration. */
  readonly outage: boolean
  readonly isNamed: boolean
  /** True if its connection can be reused. */
  readonly keepsConnection: boolean
  /** True if a new connection must confirm it: an earlier request on its connection may have caused it. */
  readonly needsConfirmation: boolean
  /** True if the request was sent and timed out: the party may be the cause. */
  readonly isTimeout?: true
  /** True if the request was never sent: one party then suffices to suspect policy administration. */
  readonly isUnsent?: boolean
  readonly isRefusal?: boolean
}

/** Code of an error in the configured TLS files, which prevents a connection. */
export const TLS_FILES = 'TLS_FILES'

/** The places of the fields in an answer. */
export interface Places {
  /** Places of the party's name; the first one with a string counts. */
  readonly name: readonly Pointer[]
  /** Places of each address; the first one with a value other than null counts. None if policy administration has no such addresses. */
  readonly addresses: Readonly<Record<Address, readonly Pointer[]>>
}

/** A complete answer. */
export interface Answer {
  readonly status: number
  /** Its Content-Encoding; empty if none was named. */
  readonly encoding: string
  readonly body: Buffer
  /** True if the request was sent without TLS. */
  readonly isPlain: boolean
}

/** Larger bodies are refused; a contact takes a few hundred bytes. */
export const BODY_BYTES_MAX = 64 * 1024

/** The contact for a locator that is empty or would lead to another path. */
export const UNASKABLE = unresolved('was not asked: the party locator cannot be part of a URL path').contact

/** The contact for a party that timed out recently; only the retry asks for it. */
export const HUNG = unresolved('was not asked: a recent look-up of this party timed out', {
  costsNoAttempt: true,
}).contact

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** From JSON Pointers as texts. */
export function parsePlaces({
  echo,
  addresses,
}: {
  readonly echo: readonly string[]
  readonly addresses: Readonly<Record<Address, readonly string[]>>
}): Places {
  const parse = (pointers: readonly string[]) => pointers.map(parsePointer)
  return { name: parse(echo), addresses: mapAddresses((address) => parse(addresses[address])) }
}

/** Bodies of a 400 from a port that expects TLS: nginx, Apache, Go, Tomcat. */
const EXPECTS_TLS = /plain HTTP|HTTP request to an HTTPS server|requires TLS/

/**
 * Judges a complete answer: 404 is `not found`; 200 with a JSON object that has at least one place of an address is `found`, each a
 * string, or null, blank or absent if not on file. Anything else is `unresolved`, and an outage unless it is a 4xx other than
 * 401 and 429.
 */
export function judgeAnswer(
  { status, encoding, body, isPlain }: Answer,
  locator: string,
  places: Places,
): LookUpResult {
  if (isPlain && status === 400 && EXPECTS_TLS.test(body.toString('latin1'))) return TLS_EXPECTED
  if (status !== 200 && status !== 404) {
    const isRefusal = status === 401
    let reason = `answered ${status}`
    if (isRefusal) reason += ': a credential is missing or refused'
    else if (status === 429) reason += ': its rate limit is reached'
    else if (status >= 300 && status < 400) reason += ' (redirects are not followed)'
    else if (status >= 500) reason = `had an error (HTTP ${status})`
    // A refused credential or a rate limit does not concern the party.
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
  if (status === 200 && !['', 'identity'].includes(encoding.toLowerCase()))
    return unresolved(
      `answered in the encoding ${JSON.stringify(encoding.slice(0, 40))}, although the request says "identity"`,
      {
        codes: ['ENCODED'],
      },
    )
  const value = parse(body)
  const name = value === null ? null : findName(value, places.name)
  if (name !== null && name !== locator) {
    const isAlike = name.toLowerCase() === locator.toLowerCase()
    const reason = `answered for another party${isAlike ? ', whose locator differs only in capitals' : ''}`
    return unresolved(reason, { wrongParty: true, codes: ['WRONG_PARTY'] })
  }
  const answered = { outage: false, isNamed: name !== null, keepsConnection: true }
  // A 404 for another party would skip this member's message for good.
  if (status === 404)
    return { ...answered, contact: { state: 'not found' }, needsConfirmation: name === null }
  if (value === null)
    return unresolved('answered 200 with a body that is not a JSON object', { codes: ['NO_JSON'] })
  const contact = readContact(value, places.addresses)
  if (typeof contact === 'string') return unresolved(`answered 200 ${contact}`, { codes: ['NO_ADDRESS'] })
  return { ...answered, contact, needsConfirmation: false }
}

/** Codes of OpenSSL for an answer that is not TLS. */
const SPEAKS_PLAIN: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
])

/** The type of the record, and the first byte of its version. */
const TLS_ALERT = '\x15\x03'

const TLS_EXPECTED = unresolved('expects TLS at this port, and POLICY_ADMIN_URL is an http:// URL', {
  costsNoAttempt: true,
  codes: ['TLS_EXPECTED'],
})

/** The result of a request that could not be made, because a local file or token is missing. */
export function judgeUnasked(error: Error): LookUpResult {
  const more = { costsNoAttempt: true, codes: listCodes(error) } as const
  return { ...unresolved(`was not asked: ${error.message}`, more), keepsConnection: true, isUnsent: true }
}

/** Codes of the system and of undici for a connection that could not be opened, or was lost. */
const LOST_CONNECTION = /^(E(?!RR_)[A-Z_]+|UND_ERR_SOCKET|UND_ERR_CONNECT_TIMEOUT)$/

/** Judges a failed request. `status` is 0 if no answer began: servers and proxies close connections at any time. */
export function judgeFailure(status: number, error: Error, isSent: boolean): LookUpResult {
  const code = readCode(error)
  if (code === TLS_FILES) return judgeUnasked(error)
  const family = findTlsFamily(code)
  let reason = status === 0 ? 'did not answer' : 'broke off its answer'
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') reason = `answered with more than ${BODY_BYTES_MAX / 1024} kB`
  if (family === 'UNTRUSTED_CERTIFICATE') reason = 'has a certificate that is not trusted'
  if (family === 'TLS_REFUSED') reason = 'refused the TLS connection'
  if (SPEAKS_PLAIN.has(code)) reason = 'does not speak TLS at this port'
  if ('data' in error && String(error.data).startsWith(TLS_ALERT)) return TLS_EXPECTED
  const isLost = status === 0 && LOST_CONNECTION.test(code)
  const more = { costsNoAttempt: family !== null || isLost || !isSent, codes: listCodes(error) }
  if (/^HPE_|^HTTPParserError$/.test(code)) reason = 'answered with something that is not HTTP'
  const judged = { ...unresolved(`${reason} (${code})`, more), needsConfirmation: status === 0 }
  return isSent ? judged : { ...judged, isUnsent: true }
}

export function judgeTimeout(waitedMs: number, isSent: boolean): LookUpResult {
  const within = `within ${Number((waitedMs / 1_000).toPrecision(2))} s`
  return isSent
    ? unresolved(`did not answer ${within}`)
    : unresolved(`was not reached ${within}`, { costsNoAttempt: true })
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
  ...mapAddresses((): string | null => null),
}

/** The first text at these places, or null. */
function findName(value: object, pointers: readonly Pointer[]): string | null {
  for (const pointer of pointers) {
    const found = valueAt(value, pointer)
    if (typeof found === 'string') return found
  }
  return null
}

/** The first value other than null at these places. Null if all values are null, undefined if the answer has none of the places. */
function findValue(value: object, pointers: readonly Pointer[]): unknown {
  let absent: null | undefined
  for (const pointer of pointers) {
    const found = valueAt(value, pointer)
    if (found !== undefined && found !== null) return found
    if (found === null) absent = null
  }
  return absent
}

const FIELD_COUNT_MAX = 10
const DEPTH_MAX = 4
/** Other names may be data, such as addresses as keys. */
const FIELD_NAME = /^[A-Za-z_][\w-]{0,39}$/

/** Names the places examined and the fields found, never their values. */
function describeFields(value: object, places: Places['addresses']): string {
  const looked = ADDRESSES.flatMap((address) => places[address].map(pointerText))
  const found: string[] = []
  const visit = (inner: unknown, path: Pointer) => {
    if (found.length > FIELD_COUNT_MAX) return
    if (path.length > 0 && (typeof inner !== 'object' || inner === null || path.length === DEPTH_MAX))
      found.push(pointerText(path))
    else
      for (const [name, field] of Object.entries(inner as object).slice(0, FIELD_COUNT_MAX + 1))
        visit(field, [...path, FIELD_NAME.test(name) ? name : '…'])
  }
  visit(value, [])
  const fields = [...found.slice(0, FIELD_COUNT_MAX), ...(found.length > FIELD_COUNT_MAX ? ['…'] : [])]
  const absent =
    looked.length === 1 ? `${looked[0]} is not there` : `neither ${looked.join(' nor ')} is there`
  return `${absent}, ${fields.length === 0 ? 'nor any other field' : `but ${fields.join(', ')}`}`
}

/** The contact, or a phrase with the reason why there is none. */
function readContact(value: object, places: Places['addresses']): Contact | string {
  const contact = { ...NOTHING_ON_FILE }
  const without: Address[] = []
  let soughtCount = 0
  for (const address of ADDRESSES) {
    if (places[address].length === 0) continue
    soughtCount++
    const text = findValue(value, places[address])
    if (text === undefined) without.push(address)
    if (text === undefined || text === null) continue
    if (typeof text !== 'string') return `with an ${ADDRESSES.join(' or ')} that is neither a string nor null`
    const trimmed = text.trim()
    // A line break would end a header of the message.
    if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(trimmed))
      return `with an ${ADDRESSES.join(' or ')} with control characters`
    contact[address] = trimmed || null
  }
  if (without.length === 0) return contact
  // Otherwise a wrapper or renamed fields would look like a party without addresses, and all members would be skipped.
  if (without.length === soughtCount) return `without an address: ${describeFields(value, places)}`
  return { ...contact, without }
}

function parse(body: Buffer): object | null {
  try {
    const value = JSON.parse(UTF8.decode(body))
    return typeof value === 'object' && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}
