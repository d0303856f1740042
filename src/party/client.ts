import type { Logger } from 'pino'
import type { Contact } from '../core/party/contact.ts'
import { HUNG, nameAt, UNASKABLE } from './answer.ts'
import { createAnswers } from './answers.ts'
import { Call } from './call.ts'
import { createCircuit } from './circuit.ts'
import { createConnections } from './connections.ts'
import { createCountAnswer } from './count-answer.ts'
import type { Exchange, ExchangeEnd } from './exchange.ts'
import { createHanging, type Hanging } from './hanging.ts'
import { createNaming, type Naming } from './naming.ts'
import { createProbe } from './probe.ts'
import { createSweep } from './sweep.ts'
import { createTrips, type Trip } from './trips.ts'
import { createTurns } from './turns.ts'

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

/** Client of policy administration (specification, "Outbound call"). Connects at the first look-up. */
export function createPartyClient(options: PartyClientOptions): PartyClient {
  const { connectionCountMax, pipeliningMax: sharedCountMax, deadlineMs, log } = options
  const { origin, pathname } = new URL(options.baseUrl)
  const pathPrefix = `${pathname.replace(/\/+$/, '')}/internal/parties/`
  const nowMs = () => performance.now()
  const connectTimeoutMs = deadlineMs
  const connections = createConnections({ origin, connectionCountMax, sharedCountMax, connectTimeoutMs })
  const answers = createAnswers(nameAt(options.echo), nowMs)
  const probe = createProbe({ answers, connections, pathPrefix, deadlineMs })
  const circuit = createCircuit({ probe: probe.ask, onVerdict: () => turns.startSoon(), nowMs, log })
  const naming = createNaming(log)
  const hanging = createHanging(nowMs)
  const trips = createTrips({ connections, connectionCountMax, onEnd, nowMs })
  /** In the order of their turns. */
  const calls = new Set<Call>()
  const parts = { calls, trips, connections, answers, hanging, naming, circuit, deadlineMs, nowMs, log }
  const turns = createTurns({ ...parts, sharedCountMax, noteRecent: probe.noteRecent })
  const countAnswer = createCountAnswer(parts)
  const sweep = createSweep(parts)
  let sweeper: NodeJS.Timeout | undefined
  let isClosed = false

  function onEnd(trip: Trip, exchange: Exchange, end: ExchangeEnd): void {
    countAnswer(trip, exchange, answers.judge(exchange, end))
    turns.startSoon()
  }

  async function lookUp(
    partyLocators: readonly string[],
    asksHanging: boolean,
  ): Promise<Map<string, Contact>> {
    if (isClosed) throw new Error(CLOSED)
    const askUntilMs = nowMs() + (asksHanging ? 2 * deadlineMs : deadlineMs / 2)
    const call = createCall(new Set(partyLocators), { pathPrefix, hanging, asksHanging, askUntilMs })
    calls.add(call)
    sweeper ??= setInterval(lookAfterAll, deadlineMs / 50)
    turns.start()
    try {
      return await call.result
    } finally {
      calls.delete(call)
      if (calls.size === 0) sweeper = void clearInterval(sweeper)
    }
  }

  function lookAfterAll(): void {
    sweep()
    turns.start()
  }

  async function close(): Promise<void> {
    isClosed = true
    circuit.stop()
    const closing = trips.close()
    for (const call of calls) call.fail(new Error(CLOSED))
    // Nobody is asked for any more.
    calls.clear()
    await Promise.all([connections.close(), closing])
  }

  return {
    lookUp: (partyLocators) => lookUp(partyLocators, false),
    lookUpAgain: (partyLocators) => lookUp(partyLocators, true),
    isDown: () => circuit.down() !== null,
    naming: () => (connections.isHttp2() ? 'HTTP/2' : naming.state()),
    close,
  }
}

interface CallOptions {
  readonly pathPrefix: string
  readonly hanging: Hanging
  /** Whether those who hung lately are asked for, too. */
  readonly asksHanging: boolean
  readonly askUntilMs: number
}

/** A look-up whose parties are settled that are not to be asked for. */
function createCall(locators: ReadonlySet<string>, options: CallOptions): Call {
  const call = new Call(locators, options.askUntilMs)
  for (const locator of locators) {
    const segment = pathSegment(locator)
    if (segment === null) {
      call.settle(locator, UNASKABLE)
      continue
    }
    const isHanging = options.hanging.has(locator)
    const request = { locator, path: options.pathPrefix + segment, isAlone: isHanging }
    if (!isHanging) call.waiting.push(request)
    else if (options.asksHanging) call.hanging.push(request)
    else call.settle(locator, HUNG)
  }
  // Taken from the end.
  call.waiting.reverse()
  return call
}

/** Null where the locator cannot be one segment of a path: `..` would reach another resource. */
function pathSegment(locator: string): string | null {
  if (locator === '' || locator === '.' || locator === '..' || !locator.isWellFormed()) return null
  return encodeURIComponent(locator)
}
