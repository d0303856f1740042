import type { Logger } from 'pino'
import { Pool } from 'undici'
import type { Contact } from '../core/contact.ts'
import { type Answer, BODY_BYTES_MAX, judgeSilence, UNASKABLE, unaskedWithin } from './answer.ts'
import { Call } from './call.ts'
import { createCircuit } from './circuit.ts'
import { ContactRequest } from './request.ts'

const CLOSED = 'the client of policy administration is closed'
const CANCELLED = 'the look-up was given up'
const HEADERS = ['accept', 'application/json']

export interface PartyClient {
  /**
   * The contact of each distinct party, one GET each. All of them share one deadline; whatever keeps a party
   * from being resolved is said in its contact. `onAnswer` (a heartbeat) is awaited now and then while answers
   * come in, at most every 500 ms and never twice at a time. Rejects, and breaks all requests off, only where
   * `onAnswer` rejects, with its error, or the client is closed.
   */
  lookUp(partyLocators: readonly string[], onAnswer?: () => Promise<void>): Promise<Map<string, Contact>>
  /** Whether policy administration is known to be down: a look-up would be answered without a request. */
  isDown(): boolean
  /** Rejects what is under way and closes all connections. */
  close(): Promise<void>
}

export interface PartyClientOptions {
  /** POLICY_ADMIN_URL; a path in it is kept. */
  readonly baseUrl: string
  readonly connectionCountMax: number
  /** For one `lookUp`, over all of its parties. */
  readonly deadlineMs: number
  readonly log: Logger
}

/** One party of one call. */
interface Enquiry {
  readonly call: Call
  readonly locator: string
  readonly path: string
  /** Null until it is its turn. */
  request: ContactRequest | null
}

/** Client of policy administration (specification, "Outbound call"). Connects at the first look-up. */
export function createPartyClient({
  baseUrl,
  connectionCountMax,
  deadlineMs,
  log,
}: PartyClientOptions): PartyClient {
  const { origin, pathname } = new URL(baseUrl)
  const pathPrefix = `${pathname.replace(/\/+$/, '')}/internal/parties/`
  const unasked = unaskedWithin(deadlineMs)
  const pool = new Pool(origin, {
    connections: connectionCountMax,
    pipelining: 1,
    allowH2: false,
    connectTimeout: deadlineMs,
    maxResponseSize: BODY_BYTES_MAX,
    // One timer for a whole call does for both.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const circuit = createCircuit(probe, log)
  const calls = new Set<Call>()
  // Our own queue, not the pool's: whoever still waits at the deadline leaves without touching a connection.
  let waiting: Enquiry[] = []
  let busyCount = 0
  /** Of the last party that was found or not found; null until there was one. */
  let goodPath: string | null = null
  /** Of any one of the `recentCount` parties whose turn came since the last probe, asked or answered by the circuit. */
  let recentPath = pathPrefix
  let recentCount = 0
  let closed = false

  async function lookUp(
    partyLocators: readonly string[],
    onAnswer: () => Promise<void> = async () => {},
  ): Promise<Map<string, Contact>> {
    if (closed) throw new Error(CLOSED)
    const locators = new Set(partyLocators)
    const call = new Call(locators.size, onAnswer)
    const enquiries = enquire(call, locators)
    const timer = setTimeout(expire, deadlineMs, call, enquiries)
    calls.add(call)
    startWaiting()
    try {
      return await call.result
    } catch (error) {
      withdraw(call)
      for (const { request } of enquiries) request?.cancel(new Error(CANCELLED))
      throw error
    } finally {
      clearTimeout(timer)
      calls.delete(call)
    }
  }

  function enquire(call: Call, locators: ReadonlySet<string>): Enquiry[] {
    const enquiries: Enquiry[] = []
    for (const locator of locators) {
      const segment = pathSegment(locator)
      if (segment === null) call.settle(locator, UNASKABLE)
      else enquiries.push({ call, locator, path: pathPrefix + segment, request: null })
    }
    for (const enquiry of enquiries) waiting.push(enquiry)
    return enquiries
  }

  function startWaiting(): void {
    while (busyCount < connectionCountMax) {
      const enquiry = waiting.shift()
      if (enquiry === undefined) return
      noteRecent(enquiry.path)
      void settle(enquiry)
    }
  }

  /** Each is as likely as any other, so that no order of the traffic can hide the healthy ones behind a broken one. */
  function noteRecent(path: string): void {
    recentCount++
    if (Math.random() * recentCount < 1) recentPath = path
  }

  async function settle(enquiry: Enquiry): Promise<void> {
    const { call, locator, path } = enquiry
    const down = circuit.down()
    if (down !== null) return call.settle(locator, down)
    try {
      const { contact } = await circuit.run(() => {
        busyCount++
        enquiry.request = send(path, release)
        return answerOf(path, enquiry.request)
      })
      call.settle(locator, contact)
    } catch {
      // Cancelled: its call has been rejected already.
    }
  }

  function release(): void {
    busyCount--
    startWaiting()
  }

  function send(path: string, onConnectionFree: () => void): ContactRequest {
    const request = new ContactRequest(onConnectionFree)
    pool.dispatch({ method: 'GET', path, headers: HEADERS }, request)
    return request
  }

  function expire(call: Call, enquiries: readonly Enquiry[]): void {
    call.expire()
    const neverAsked = withdraw(call)
    for (const { request } of enquiries) request?.stop(silenceOf(request))
    for (const { locator } of neverAsked) call.settle(locator, unasked)
  }

  function withdraw(call: Call): Enquiry[] {
    const withdrawn = waiting.filter((enquiry) => enquiry.call === call)
    waiting = waiting.filter((enquiry) => enquiry.call !== call)
    return withdrawn
  }

  function silenceOf({ sentAtMs }: ContactRequest): Answer {
    return judgeSilence(deadlineMs, performance.now() - sentAtMs)
  }

  async function answerOf(path: string, request: ContactRequest): Promise<Answer> {
    const answer = await request.answer
    if (answer.contact.state !== 'unresolved') goodPath = path
    return answer
  }

  /** Asks in turn for a party that had an answer and for one that was looked up lately: either may be broken for good. */
  async function probe(earlierCount: number): Promise<Answer> {
    const path = earlierCount % 2 === 0 ? (goodPath ?? recentPath) : recentPath
    recentCount = 0
    const request = send(path, () => {})
    const timer = setTimeout(() => request.stop(silenceOf(request)), deadlineMs)
    try {
      return await answerOf(path, request)
    } finally {
      clearTimeout(timer)
    }
  }

  async function close(): Promise<void> {
    closed = true
    circuit.close()
    for (const call of calls) call.fail(new Error(CLOSED))
    await Promise.allSettled([...calls].map((call) => call.result))
    await pool.destroy()
  }

  return { lookUp, isDown: () => circuit.down() !== null, close }
}

/** Null where the locator cannot be one segment of a path: `..` would reach another resource. */
function pathSegment(locator: string): string | null {
  if (locator === '' || locator === '.' || locator === '..' || !locator.isWellFormed()) return null
  return encodeURIComponent(locator)
}
