import type { Logger } from 'pino'
import type { Contact } from '../core/party/contact.ts'
import { type Answer, judgeSilence, UNASKABLE, unaskedWithin } from './answer.ts'
import { Call, type PartyRequest } from './call.ts'
import { createCircuit } from './circuit.ts'
import { Connection } from './connection.ts'
import { Convoy, type ConvoyEnd } from './convoy.ts'

const CLOSED = 'the client of policy administration is closed'
/** How long every party is asked for on its own after a convoy broke: no deadline is longer. */
const DISTRUST_MS = 60_000

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
  /** Requests that may be under way on one connection; with 1 each waits for the answer to the one before. */
  readonly pipeliningMax: number
  /** For one `lookUp`, over all of its parties. */
  readonly deadlineMs: number
  readonly log: Logger
}

/** Requests under way, and what is needed to know what they come to. */
interface Trip {
  readonly call: Call
  readonly requests: readonly PartyRequest[]
  readonly convoy: Convoy
  readonly connection: Connection
  /** Counts an answer for or against policy administration. */
  readonly count: (answer: Answer) => void
}

/** Client of policy administration (specification, "Outbound call"). Connects at the first look-up. */
export function createPartyClient({
  baseUrl,
  connectionCountMax,
  pipeliningMax,
  deadlineMs,
  log,
}: PartyClientOptions): PartyClient {
  const { origin, pathname } = new URL(baseUrl)
  const pathPrefix = `${pathname.replace(/\/+$/, '')}/internal/parties/`
  const unasked = unaskedWithin(deadlineMs)
  // A party that hangs delays those in its convoy by so much, and they have the rest of the deadline on their own.
  const patienceMs = deadlineMs / 5
  // Parties travel in convoys only while answers take so long at most that a whole convoy keeps well within that.
  const quickMs = patienceMs / 8
  const circuit = createCircuit(probe, log)
  const connect = () => new Connection({ origin, connectTimeoutMs: deadlineMs, pipeliningMax })
  const idle = Array.from({ length: connectionCountMax }, connect)
  const probing = connect()
  const connections = [...idle, probing]
  /** In the order in which they began; each has its turn when nobody of those before it waits. */
  const calls = new Set<Call>()
  const trips = new Set<Trip>()
  let quick = false
  let distrustUntilMs = 0
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
    addRequests(call, locators)
    const timer = setTimeout(expire, deadlineMs, call)
    calls.add(call)
    startWaiting()
    try {
      return await call.result
    } catch (error) {
      call.waiting.length = 0
      for (const trip of tripsOf(call)) void giveUp(trip)
      throw error
    } finally {
      clearTimeout(timer)
      calls.delete(call)
    }
  }

  function addRequests(call: Call, locators: ReadonlySet<string>): void {
    for (const locator of locators) {
      const segment = pathSegment(locator)
      if (segment === null) call.settle(locator, UNASKABLE)
      else call.waiting.push({ locator, path: pathPrefix + segment })
    }
    // Taken from the end.
    call.waiting.reverse()
  }

  function startWaiting(): void {
    for (const call of calls) {
      const down = circuit.down()
      if (down !== null) settleAll(call, down)
      while (call.waiting.length > 0) {
        const connection = idle.at(-1)
        if (connection === undefined) return
        const requests = nextOf(call)
        idle.pop()
        start(call, requests, connection)
      }
    }
  }

  function settleAll(call: Call, contact: Contact): void {
    for (const { locator, path } of call.waiting.splice(0).reverse()) {
      noteRecent(path)
      call.settle(locator, contact)
    }
  }

  /** Those who travel next: no more than need be for all to be on their way, since each waits for those before it. */
  function nextOf({ waiting }: Call): PartyRequest[] {
    const trusted = quick && performance.now() >= distrustUntilMs
    const count = trusted ? Math.min(Math.ceil(waiting.length / idle.length), pipeliningMax) : 1
    return waiting.splice(-count).reverse()
  }

  /** Each is as likely as any other, so that no order of the traffic can hide the healthy ones behind a broken one. */
  function noteRecent(path: string): void {
    recentCount++
    if (Math.random() * recentCount < 1) recentPath = path
  }

  function start(call: Call, requests: readonly PartyRequest[], connection: Connection): void {
    const paths = requests.map(({ path }) => path)
    for (const path of paths) noteRecent(path)
    const convoy = new Convoy(connection, paths, patienceMs, (end) => finish(trip, end))
    const trip: Trip = { call, requests, convoy, connection, count: circuit.begin() }
    trips.add(trip)
  }

  function finish(trip: Trip, end: ConvoyEnd): void {
    const { call, requests, convoy, connection, count } = trip
    const nowMs = performance.now()
    if (end.kind === 'broken') {
      quick = false
      if (!end.clean) distrustUntilMs = nowMs + DISTRUST_MS
      call.waiting.push(...requests.toReversed())
      void giveUp(trip)
      return
    }
    // A server that closes after each answer would answer the first of a convoy alone.
    quick =
      end.kept && nowMs - convoy.sentAtMs <= quickMs && end.answers.every(({ outage }) => outage === false)
    requests.forEach(({ locator, path }, index) => {
      const answer = end.answers[index] as Answer
      note(path, answer)
      count(answer)
      call.settle(locator, answer.contact)
    })
    trips.delete(trip)
    idle.push(connection)
    startWaiting()
  }

  /** Its connection is free again when it is closed. */
  async function giveUp(trip: Trip): Promise<void> {
    trips.delete(trip)
    trip.convoy.abandon()
    await trip.connection.breakOff()
    idle.push(trip.connection)
    startWaiting()
  }

  function tripsOf(call: Call): Trip[] {
    return [...trips].filter((trip) => trip.call === call)
  }

  function expire(call: Call): void {
    call.expire()
    for (const trip of tripsOf(call)) {
      const silence = silenceOf(trip.convoy)
      for (const { locator } of trip.requests) {
        trip.count(silence)
        call.settle(locator, silence.contact)
      }
      void giveUp(trip)
    }
    for (const { locator } of call.waiting.splice(0)) call.settle(locator, unasked)
  }

  function silenceOf({ sentAtMs }: Convoy): Answer {
    return judgeSilence(deadlineMs, performance.now() - sentAtMs)
  }

  function note(path: string, { contact }: Answer): void {
    if (contact.state !== 'unresolved') goodPath = path
  }

  /** Asks in turn for a party that had an answer and for one that was looked up lately: either may be broken for good. */
  function probe(earlierCount: number): Promise<Answer> {
    const path = earlierCount % 2 === 0 ? (goodPath ?? recentPath) : recentPath
    recentCount = 0
    return new Promise((resolve) => {
      const convoy = new Convoy(probing, [path], deadlineMs, (end) => {
        clearTimeout(timer)
        const [answer] = end.kind === 'answered' ? end.answers : []
        if (answer === undefined) return
        note(path, answer)
        resolve(answer)
      })
      const timer = setTimeout(() => {
        convoy.abandon()
        void probing.breakOff()
        resolve(silenceOf(convoy))
      }, deadlineMs)
    })
  }

  async function close(): Promise<void> {
    closed = true
    circuit.close()
    for (const call of calls) {
      call.waiting.length = 0
      call.fail(new Error(CLOSED))
    }
    await Promise.allSettled([...calls].map((call) => call.result))
    await Promise.all(connections.map((connection) => connection.breakOff()))
  }

  return { lookUp, isDown: () => circuit.down() !== null, close }
}

/** Null where the locator cannot be one segment of a path: `..` would reach another resource. */
function pathSegment(locator: string): string | null {
  if (locator === '' || locator === '.' || locator === '..' || !locator.isWellFormed()) return null
  return encodeURIComponent(locator)
}
