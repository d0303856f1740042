import type { Contact } from '../core/party/contact.ts'
import { share } from '../core/time/share.ts'
import { HUNG, judgeTimeout, type LookUpResult, UNASKABLE } from './answer.ts'
import { createCircuit } from './circuit.ts'
import { Connection, type PartyClientOptions } from './connection.ts'

const CLOSED = 'the client of policy administration is closed'
/** Covers two passes of the retry, which asks for these parties separately. The third gives them the whole deadline again. */
const HUNG_MS = 170_000
const HUNG_COUNT_MAX = 10_000
/** For this long after an answer, look-ups count as working without a check. */
const ANSWER_VALID_MS = 60_000
const CHECK_VALID_MS = 10_000
const CHECK_DEADLINE_MS = 3_000
/** A locator that no party has: an answer of 404 is enough. */
const NOBODY = 'notifications-service-check'

export type PartyClient = ReturnType<typeof createPartyClient>

interface Call extends PromiseWithResolvers<Map<string, Contact>> {
  readonly contacts: Map<string, Contact>
  /** The last one is next. */
  readonly waiting: string[]
  readonly asksHung: boolean
  readonly askUntilMs: number
  inFlightCount: number
  hasAsked: boolean
}

interface InFlight {
  readonly call: Call
  readonly locator: string
  readonly connection: Connection
  readonly sinceMs: number
  /** True if its party timed out recently. */
  readonly timedOutRecently: boolean
}

export function createPartyClient(options: PartyClientOptions) {
  const { connectionCountMax, deadlineMs, log } = options
  const nowMs = () => performance.now()
  const probing = new Connection(options)
  const checking = new Connection(options)
  const circuit = createCircuit(
    (one) => new Promise((done) => probing.get(one, deadlineMs, done)),
    resumeAfterProbe,
    log,
  )
  const connections = Array.from({ length: connectionCountMax }, () => new Connection(options))
  const idle = [...connections]
  const tickMs = deadlineMs / 50
  /** Connections that slow parties may occupy while others wait. */
  const slowCountMax = Math.max(1, Math.floor(connectionCountMax / 4))
  /** In the order of their turns. */
  const calls = new Set<Call>()
  const inFlight = new Set<InFlight>()
  const hungUntilMs = new Map<string, number>()
  const isHung = (locator: string) => (hungUntilMs.get(locator) ?? 0) > nowMs()
  /** Decays by a hundredth with each answer. */
  let slowestMs = 0
  let answeredSinceMs = 0
  let namesParty: boolean | null = null
  let newest = { outage: true, atMs: 0 }
  let ticker: NodeJS.Timeout | undefined
  let tickedMs = 0
  let isClosed = false

  function lookUp(partyLocators: readonly string[], asksHung: boolean): Promise<Map<string, Contact>> {
    if (isClosed) return Promise.reject(new Error(CLOSED))
    const resolvers = Promise.withResolvers<Map<string, Contact>>()
    const contacts = new Map<string, Contact>()
    const fresh: string[] = []
    const hung: string[] = []
    for (const locator of new Set(partyLocators)) {
      if (/^\.{0,2}$/.test(locator) || !locator.isWellFormed()) contacts.set(locator, UNASKABLE)
      else if (!isHung(locator)) fresh.push(locator)
      else if (asksHung) hung.push(locator)
      else contacts.set(locator, HUNG)
    }
    circuit.noteWanted(fresh)
    const waiting = [...fresh, ...hung].reverse()
    const askUntilMs = nowMs() + (asksHung ? 2 * deadlineMs : deadlineMs / 2)
    const call = { ...resolvers, contacts, waiting, asksHung, askUntilMs, inFlightCount: 0, hasAsked: false }
    calls.add(call)
    if (ticker === undefined) {
      tickedMs = nowMs()
      ticker = setInterval(tick, tickMs)
    }
    start()
    resolveIfDone(call)
    return call.promise
  }

  /** Gives idle connections to the calls. While policy administration is down, answers them without a request. */
  function start(): void {
    if (circuit.isUndecided()) return
    const down = circuit.down()
    if (down !== null) for (const call of calls) giveUpWaiting(call, () => down)
    for (let call = nextCall(); call !== undefined; call = nextCall()) {
      const locator = call.waiting.pop()
      const connection = idle.pop()
      if (locator === undefined || connection === undefined) return
      const timedOutRecently = call.asksHung && isHung(locator)
      const request = { call, locator, connection, sinceMs: nowMs(), timedOutRecently }
      call.inFlightCount++
      call.hasAsked = true
      inFlight.add(request)
      calls.delete(call)
      calls.add(call)
      connection.get(locator, timedOutRecently ? deadlineMs / 5 : deadlineMs, (answer) =>
        receive(request, answer),
      )
    }
  }

  /** Resumes look-ups after a probe. Requests older than the probe may now time out. */
  function resumeAfterProbe(): void {
    answeredSinceMs = nowMs()
    queueMicrotask(start)
  }

  /** The call with the fewest requests in flight, so that a call with hanging parties does not block the others. */
  function nextCall(): Call | undefined {
    if (idle.length === 0) return undefined
    let next: Call | undefined
    for (const call of calls) {
      const locator = call.waiting.at(-1)
      if (locator === undefined || (next !== undefined && next.inFlightCount <= call.inFlightCount)) continue
      const timedOutRecently = call.asksHung && isHung(locator)
      if (!timedOutRecently || [...inFlight].filter((one) => one.timedOutRecently).length < slowCountMax)
        next = call
    }
    return next
  }

  function receive(request: InFlight, answer: LookUpResult): void {
    const { call, locator, connection, sinceMs, timedOutRecently } = request
    const { contact, isNamed, isTimeout, outage } = answer
    newest = { outage, atMs: nowMs() }
    if (!outage) {
      slowestMs = Math.max(nowMs() - sinceMs, slowestMs * 0.99)
      answeredSinceMs = Math.max(sinceMs, answeredSinceMs)
    }
    if (!isTimeout) hungUntilMs.delete(locator)
    else if (!timedOutRecently) {
      if (hungUntilMs.size >= HUNG_COUNT_MAX) hungUntilMs.clear()
      hungUntilMs.set(locator, nowMs() + HUNG_MS)
    }
    if (contact.state === 'found') namesParty = isNamed
    inFlight.delete(request)
    idle.push(connection)
    call.inFlightCount--
    call.contacts.set(locator, contact)
    if (!timedOutRecently || !outage) circuit.note(locator, answer)
    resolveIfDone(call)
    // After undici's handler, which must not be called back.
    queueMicrotask(start)
  }

  /** Stops asking for parties; those without a contact are missing from the result. */
  function giveUpWaiting(call: Call, findContact: (locator: string) => Contact | null): void {
    for (const locator of call.waiting.splice(0)) {
      const contact = findContact(locator)
      if (contact !== null) call.contacts.set(locator, contact)
    }
    resolveIfDone(call)
  }

  function resolveIfDone(call: Call): void {
    if (call.waiting.length > 0 || call.inFlightCount > 0) return
    call.resolve(call.contacts)
    calls.delete(call)
    if (calls.size > 0) return
    clearInterval(ticker)
    ticker = undefined
  }

  function tick(): void {
    // After a stall, the process has not yet read the answers that arrived meanwhile.
    const wasStalled = nowMs() - tickedMs > 2 * tickMs
    tickedMs = nowMs()
    if (!wasStalled && [...calls].some(({ waiting }) => waiting.length > 0)) endSlow()
    for (const call of calls) {
      if (!call.hasAsked || nowMs() < call.askUntilMs) continue
      giveUpWaiting(call, (locator) => (call.asksHung && isHung(locator) ? HUNG : null))
    }
    start()
  }

  /** Times out the slowest requests that a later one overtook. If nothing is answered, all of them keep waiting. */
  function endSlow(): void {
    const patienceMs = Math.min(Math.max(deadlineMs / 20, 2 * slowestMs), deadlineMs)
    const late = judgeTimeout(patienceMs)
    const slow = [...inFlight].filter((one) => !one.timedOutRecently && nowMs() - one.sinceMs >= patienceMs)
    for (const { locator } of slow) circuit.note(locator, late)
    for (const request of slow.slice(0, -slowCountMax)) {
      if (request.sinceMs >= answeredSinceMs) continue
      void request.connection.close()
      receive(request, late)
    }
  }

  /** Asks for one party; its own connection, so that it waits for no other. */
  const check = share(
    () =>
      new Promise<string | null>((done) =>
        checking.get(
          circuit.answered() || NOBODY,
          Math.min(deadlineMs, CHECK_DEADLINE_MS),
          ({ outage, contact }) => done(outage && contact.state === 'unresolved' ? contact.error : null),
        ),
      ),
    // Each request has a deadline of its own, and a connection takes one at a time.
    { validMs: CHECK_VALID_MS, deadlineMs: Number.POSITIVE_INFINITY },
    nowMs,
  )

  return {
    /**
     * Contacts of distinct parties, requested in their order. Those that timed out recently are answered without a request. Left out are those not asked
     * within half a deadline, except the first. Rejects only if the client is closed.
     */
    lookUp: (partyLocators: readonly string[]) => lookUp(partyLocators, false),
    /**
     * Like `lookUp`, but for the retry, with two deadlines. Also asks for parties that timed out recently, briefly and on few
     * connections.
     */
    lookUpAgain: (partyLocators: readonly string[]) => lookUp(partyLocators, true),
    /** True while policy administration is known to be down: a look-up is answered without a request. */
    isDown: (): boolean => circuit.down() !== null,
    /** Why look-ups fail now, or null. Without an answer in the last minute it asks for a party, at most once in 10 s. */
    fault: async (): Promise<string | null> => {
      if (circuit.down() !== null) return 'policy administration is down'
      return !newest.outage && nowMs() - newest.atMs < ANSWER_VALID_MS ? null : check()
    },
    /** True if the newest contact named its party, so that it could be checked; null if there was none. */
    namesParty: (): boolean | null => namesParty,
    async close(): Promise<void> {
      isClosed = true
      circuit.stop()
      clearInterval(ticker)
      for (const call of calls) call.reject(new Error(CLOSED))
      calls.clear()
      await Promise.all([probing, checking, ...connections].map((connection) => connection.close()))
    },
  }
}
