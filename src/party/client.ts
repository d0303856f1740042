import type { Logger } from 'pino'
import type { Contact } from '../core/party/contact.ts'
import { type Answer, HUNG, judgeAnswer, judgeFailure, judgeSilence, nameAt, UNASKABLE } from './answer.ts'
import { Call, type PartyRequest } from './call.ts'
import { createCircuit } from './circuit.ts'
import { createConnections, type SharedConnection } from './connections.ts'
import { Exchange, type ExchangeEnd } from './exchange.ts'
import { createHanging } from './hanging.ts'
import { createNaming, type Naming } from './naming.ts'

const CLOSED = 'the client of policy administration is closed'

export interface PartyClient {
  /**
   * The contacts of distinct parties, asked for in their order, one GET each. A party's deadline counts from when it is
   * asked for; half a deadline after the call none is asked for any more, except the first: the others are left out.
   * Whatever keeps a party from being resolved is said in its contact; one that hung lately is not asked for. Rejects only
   * where the client is closed.
   */
  lookUp(partyLocators: readonly string[]): Promise<Map<string, Contact>>
  /**
   * The same for the retry, which has two deadlines to ask for all, those who hung lately too: apart from the others and for a
   * short time.
   */
  lookUpAgain(partyLocators: readonly string[]): Promise<Map<string, Contact>>
  /** Whether policy administration is known to be down: a look-up would be answered without a request. */
  isDown(): boolean
  naming(): Naming
  /** Rejects what is under way and closes all connections. */
  close(): Promise<void>
}

export interface PartyClientOptions {
  /** POLICY_ADMIN_URL; a path in it is kept. */
  readonly baseUrl: string
  readonly connectionCountMax: number
  /** Requests that may share a connection where answers name their party, or over HTTP/2. */
  readonly pipeliningMax: number
  /** Where an answer names its party: JSON Pointers, of which the first that leads to a string counts. */
  readonly echo: readonly string[]
  /** For one party, from when it is asked for. */
  readonly deadlineMs: number
  readonly log: Logger
}

/**
 * `single`: alone on a kept connection while it is under way. `alone`: the first and last request of its connection.
 * `apart`: the same, for a party that hung lately. `streams`: over HTTP/2. `shared`: one behind the other on a connection.
 */
type Lane = 'single' | 'alone' | 'apart' | 'streams' | 'shared'

/** Requests under way, and the connection whose place they take. */
interface Trip {
  readonly call: Call
  readonly lane: Lane
  readonly connection: SharedConnection
  /** Those without an answer, in the order in which they were sent. */
  readonly open: Exchange[]
}

/** Client of policy administration (specification, "Outbound call"). Connects at the first look-up. */
export function createPartyClient(options: PartyClientOptions): PartyClient {
  const { baseUrl, connectionCountMax, pipeliningMax, deadlineMs, log } = options
  const { origin, pathname } = new URL(baseUrl)
  const pathPrefix = `${pathname.replace(/\/+$/, '')}/internal/parties/`
  const nameOf = nameAt(options.echo)
  const nowMs = () => performance.now()
  const connections = createConnections({
    origin,
    connectionCountMax,
    sharedCountMax: pipeliningMax,
    connectTimeoutMs: deadlineMs,
  })
  const sharedConnections = Array.from({ length: connectionCountMax }, connections.shared)
  const idle = [...sharedConnections]
  /** Connections that may wait for parties which take long, while others wait for their turn. */
  const overdueCountMax = Math.max(1, Math.floor(connectionCountMax / 4))
  const circuit = createCircuit({ probe, onVerdict: startSoon, nowMs, log })
  const naming = createNaming(log)
  const hanging = createHanging(nowMs)
  /** In the order of their turns. */
  const calls = new Set<Call>()
  const trips = new Set<Trip>()
  /** How long answers take: the slowest one, less a hundredth for each that came since. */
  let slowestMs = 0
  /** When the last of all parties that were answered was asked for. */
  let answeredSinceMs = 0
  /** Of the last party that was found or not found; null until there was one. */
  let goodPath: string | null = null
  /** Of any one of the `recentCount` parties whose turn came since the last probe, asked or answered by the circuit. */
  let recentPath = pathPrefix
  let recentCount = 0
  let isStarting = false
  let sweeper: NodeJS.Timeout | undefined
  let isClosed = false

  async function lookUp(
    partyLocators: readonly string[],
    asksHanging: boolean,
  ): Promise<Map<string, Contact>> {
    if (isClosed) throw new Error(CLOSED)
    const locators = new Set(partyLocators)
    const askUntilMs = nowMs() + (asksHanging ? 2 * deadlineMs : deadlineMs / 2)
    const call = new Call(locators, askUntilMs)
    addRequests(call, locators, asksHanging)
    calls.add(call)
    sweeper ??= setInterval(sweep, deadlineMs / 50)
    start()
    try {
      return await call.result
    } finally {
      calls.delete(call)
      if (calls.size === 0) sweeper = void clearInterval(sweeper)
    }
  }

  function addRequests(call: Call, locators: ReadonlySet<string>, asksHanging: boolean): void {
    for (const locator of locators) {
      const segment = pathSegment(locator)
      if (segment === null) {
        call.settle(locator, UNASKABLE)
        continue
      }
      const isHanging = hanging.has(locator)
      const request = { locator, path: pathPrefix + segment, isAlone: isHanging }
      if (!isHanging) call.waiting.push(request)
      else if (asksHanging) call.hanging.push(request)
      else call.settle(locator, HUNG)
    }
    // Taken from the end.
    call.waiting.reverse()
  }

  /** Once all answers that came together are counted. */
  function startSoon(): void {
    if (!isStarting) queueMicrotask(start)
    isStarting = true
  }

  function start(): void {
    isStarting = false
    if (isClosed || circuit.isSuspect()) return
    const down = circuit.down()
    if (down !== null) for (const call of calls) settleAll(call, down)
    for (let call = nextCall(); call !== undefined; call = nextCall()) {
      startTrip(call)
      calls.delete(call)
      calls.add(call)
    }
  }

  function settleAll(call: Call, contact: Contact): void {
    for (const requests of [call.waiting, call.hanging]) {
      for (const { locator, path } of requests.splice(0).reverse()) {
        noteRecent(path)
        call.settle(locator, contact)
      }
    }
  }

  /** The one that has the fewest requests under way, so that one whose parties hang holds up no other. */
  function nextCall(): Call | undefined {
    if (idle.length === 0) return undefined
    let next: Call | undefined
    for (const call of calls) {
      if (next !== undefined && next.tripCount <= call.tripCount) continue
      if (call.waiting.length > 0 || (call.hanging.length > 0 && isRoomApart())) next = call
    }
    return next
  }

  function isRoomApart(): boolean {
    return [...trips].filter(({ lane }) => lane === 'apart').length < overdueCountMax
  }

  function startTrip(call: Call): void {
    const { waiting, hanging } = call
    const next = waiting.at(-1)
    const lane = next === undefined ? 'apart' : next.isAlone ? 'alone' : laneNow()
    const isShared = lane === 'streams' || lane === 'shared'
    // No more than need be for all to be on their way.
    const count = isShared ? Math.min(Math.ceil(waiting.length / idle.length), pipeliningMax) : 1
    send(call, lane, (next === undefined ? hanging : waiting).splice(-count).reverse())
  }

  function laneNow(): Lane {
    if (connections.isHttp2()) return 'streams'
    return pipeliningMax > 1 && naming.isReliable() ? 'shared' : 'single'
  }

  function send(call: Call, lane: Lane, requests: readonly PartyRequest[]): void {
    const isAlone = lane === 'alone' || lane === 'apart'
    // One of another kind takes its place: always the same, so that few are made anew.
    const connection = (isAlone ? idle.shift() : idle.pop()) as SharedConnection
    const trip: Trip = { call, lane, connection, open: [] }
    for (const request of requests) {
      noteRecent(request.path)
      trip.open.push(new Exchange(request, (exchange, end) => finish(trip, exchange, end)))
    }
    trips.add(trip)
    call.tripCount++
    if (lane === 'shared') connection.send(trip.open)
    else {
      if (isAlone) void connection.close()
      const way = isAlone ? connections.sendAlone : connections.send
      for (const exchange of [...trip.open]) way(exchange)
    }
  }

  /** Each is as likely as any other, so that no order of the traffic can hide the healthy ones behind a broken one. */
  function noteRecent(path: string): void {
    recentCount++
    if (Math.random() * recentCount < 1) recentPath = path
  }

  function finish(trip: Trip, exchange: Exchange, end: ExchangeEnd): void {
    const { call, lane } = trip
    const { locator } = exchange.request
    const answer = judge(exchange, end)
    leave(trip, exchange)
    if (answer.names === 'another') closeConnection(trip)
    // A stream that was sent when the server went back to HTTP/1.1 is a request among others.
    const travelled = lane === 'streams' && !connections.isHttp2() ? 'shared' : lane
    if (counts(travelled, answer)) {
      hanging.forget(locator)
      naming.note(answer)
      circuit.note(locator, answer)
      call.settle(locator, answer.contact)
    } else {
      // If it is an answer too many, the party's own comes next on that connection, and none that names it is to be lost.
      if (lane === 'single' && !answer.isLost && naming.state() === 'named') connections.renew()
      askAlone(call, exchange.request)
    }
    startSoon()
  }

  function judge({ request, sinceMs }: Exchange, { status, chunks, error }: ExchangeEnd): Answer {
    if (error !== null) return judgeFailure(status, error)
    slowestMs = Math.max(nowMs() - sinceMs, slowestMs * 0.99)
    answeredSinceMs = Math.max(sinceMs, answeredSinceMs)
    const answer = judgeAnswer(status, chunks, request.locator, nameOf)
    if (answer.contact.state !== 'unresolved') goodPath = request.path
    return answer
  }

  /** Whatever else comes over its connection may be for another party, too. */
  function closeConnection(trip: Trip): void {
    log.warn('policy administration answered for another party; the connection is closed')
    if (trip.lane === 'shared') breakOff(trip)
    else connections.renew()
  }

  /** Next, before the others. */
  function askAlone(call: Call, request: PartyRequest): void {
    request.isAlone = true
    call.waiting.push(request)
  }

  /** Who has no answer is asked for again. */
  function breakOff(trip: Trip): void {
    const { call, lane, connection } = trip
    for (const exchange of trip.open.toReversed()) {
      askAlone(call, exchange.request)
      leave(trip, exchange)
      if (lane === 'shared') exchange.ignore()
      else exchange.abandon()
    }
    if (lane === 'shared') void connection.close()
  }

  function leave(trip: Trip, exchange: Exchange): void {
    const { call, open, lane, connection } = trip
    open.splice(open.indexOf(exchange), 1)
    if (lane === 'shared' && open[0] !== undefined) open[0].sinceMs = nowMs()
    if (open.length > 0) return
    trips.delete(trip)
    call.tripCount--
    if (lane === 'alone' || lane === 'apart') idle.unshift(connection)
    else idle.push(connection)
  }

  /** Looks after all that takes long. */
  function sweep(): void {
    const atMs = nowMs()
    const patienceMs = Math.min(Math.max(deadlineMs / 20, 2 * slowestMs), deadlineMs)
    const overdue: (readonly [Trip, Exchange])[] = []
    let isSilent = false
    for (const trip of [...trips]) {
      // On a shared connection the others wait for the first.
      for (const exchange of trip.lane === 'shared' ? trip.open.slice(0, 1) : [...trip.open]) {
        const waitedMs = atMs - exchange.sinceMs
        const waitMaxMs = trip.lane === 'apart' ? deadlineMs / 5 : deadlineMs
        if (waitedMs >= waitMaxMs) {
          isSilent ||= exchange.sinceMs >= answeredSinceMs
          giveUp(trip, exchange, waitMaxMs)
        } else if (waitedMs >= patienceMs && trip.lane !== 'apart') {
          circuit.note(exchange.request.locator, judgeSilence(waitedMs))
          if (trip.lane === 'shared') breakOff(trip)
          else overdue.push([trip, exchange])
        }
      }
    }
    // Over HTTP/2 giving up closes a stream only, and a connection that went dead would be kept.
    if (isSilent && connections.isHttp2()) connections.renew()
    if ([...calls].some(({ waiting }) => waiting.length > 0))
      giveWay(overdue.slice(0, -overdueCountMax), patienceMs)
    for (const call of calls) if (atMs >= call.askUntilMs) call.endAsking()
    start()
  }

  /** Unless it may be a pause of all: once others are answered who were asked for later, it is not. */
  function giveWay(overdue: readonly (readonly [Trip, Exchange])[], patienceMs: number): void {
    for (const [trip, exchange] of overdue) {
      if (exchange.sinceMs < answeredSinceMs) giveUp(trip, exchange, patienceMs)
    }
  }

  function giveUp(trip: Trip, exchange: Exchange, waitMaxMs: number): void {
    const { locator } = exchange.request
    const silence = judgeSilence(waitMaxMs)
    if (waitMaxMs === deadlineMs) hanging.remember(locator)
    if (trip.lane !== 'apart') circuit.note(locator, silence)
    exchange.abandon()
    leave(trip, exchange)
    trip.call.settle(locator, silence.contact)
  }

  /** Asks in turn for a party that had an answer and for one that was looked up lately: either may be broken for good. */
  function probe(earlierCount: number): Promise<Answer> {
    const path = earlierCount % 2 === 0 ? (goodPath ?? recentPath) : recentPath
    recentCount = 0
    const locator = decodeURIComponent(path.slice(pathPrefix.length))
    return new Promise((resolve) => {
      const exchange = new Exchange({ locator, path, isAlone: true }, (_, end) => {
        clearTimeout(timer)
        resolve(judge(exchange, end))
      })
      const timer = setTimeout(() => {
        exchange.abandon()
        if (connections.isHttp2()) connections.renew()
        resolve(judgeSilence(deadlineMs))
      }, deadlineMs)
      connections.sendAlone(exchange)
    })
  }

  async function close(): Promise<void> {
    isClosed = true
    circuit.stop()
    for (const trip of trips) breakOff(trip)
    for (const call of calls) call.fail(new Error(CLOSED))
    await Promise.all([connections.close(), ...sharedConnections.map((connection) => connection.close())])
  }

  return {
    lookUp: (partyLocators) => lookUp(partyLocators, false),
    lookUpAgain: (partyLocators) => lookUp(partyLocators, true),
    isDown: () => circuit.down() !== null,
    naming: () => (connections.isHttp2() ? 'HTTP/2' : naming.state()),
    close,
  }
}

/**
 * Whether an answer is this party's. One that names nobody may be that of an earlier request wherever its connection had
 * one: there a 404, which would silence a member for good, never counts, and among several requests nothing does.
 */
function counts(lane: Lane, { names, contact, isLost }: Answer): boolean {
  if (lane === 'alone' || lane === 'apart') return true
  if (isLost) return false
  if (lane === 'streams' || names !== 'nobody') return true
  return lane === 'single' && contact.state !== 'not found'
}

/** Null where the locator cannot be one segment of a path: `..` would reach another resource. */
function pathSegment(locator: string): string | null {
  if (locator === '' || locator === '.' || locator === '..' || !locator.isWellFormed()) return null
  return encodeURIComponent(locator)
}
