import type { Contact } from '../decide/party/contact.ts'
import { HUNG, judgeTimeout, type LookUpResult } from './answer.ts'
import type { Circuit } from './circuit.ts'
import { Connection, type PartyClientOptions } from './connection.ts'
import type { Health } from './health.ts'
import type { HungParties } from './hung-parties.ts'

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

/** Shares the connections among the calls by turns, so that a call with hanging parties does not block the others. */
export class Turns {
  readonly #circuit: Circuit
  readonly #hung: HungParties
  readonly #health: Health
  readonly #deadlineMs: number
  readonly #tickMs: number
  readonly #connections: readonly Connection[]
  readonly #idle: Connection[]
  /** Connections that slow parties may occupy while others wait. */
  readonly #slowCountMax: number
  /** In the order of their turns. */
  readonly #calls = new Set<Call>()
  readonly #inFlight = new Set<InFlight>()
  /** Decreases by a hundredth with each answer. */
  #slowestMs = 0
  #answeredSinceMs = 0
  #ticker: NodeJS.Timeout | undefined
  #tickedMs = 0

  constructor(options: PartyClientOptions, circuit: Circuit, health: Health, hung: HungParties) {
    this.#circuit = circuit
    this.#hung = hung
    this.#health = health
    this.#deadlineMs = options.deadlineMs
    this.#tickMs = options.deadlineMs / 50
    this.#connections = Array.from({ length: options.connectionCountMax }, () => new Connection(options))
    this.#idle = [...this.#connections]
    this.#slowCountMax = Math.max(1, Math.floor(options.connectionCountMax / 4))
  }

  /** Adds the contacts of the waiting parties, the last of which is next, to the others. */
  add(contacts: Map<string, Contact>, waiting: string[], asksHung: boolean): Promise<Map<string, Contact>> {
    const resolvers = Promise.withResolvers<Map<string, Contact>>()
    const askUntilMs = performance.now() + this.#deadlineMs * (asksHung ? 2 : 0.5)
    const call = { ...resolvers, contacts, waiting, asksHung, askUntilMs, inFlightCount: 0, hasAsked: false }
    this.#calls.add(call)
    if (this.#ticker === undefined) {
      this.#tickedMs = performance.now()
      this.#ticker = setInterval(() => this.#tick(), this.#tickMs)
    }
    this.#start()
    this.#resolveIfDone(call)
    return call.promise
  }

  /** Resumes look-ups after a probe. Requests older than the probe may now time out. */
  resumeAfterProbe(): void {
    this.#answeredSinceMs = performance.now()
    queueMicrotask(() => this.#start())
  }

  async close(error: Error): Promise<void> {
    clearInterval(this.#ticker)
    for (const call of this.#calls) call.reject(error)
    this.#calls.clear()
    await Promise.all(this.#connections.map((connection) => connection.close()))
  }

  /** Gives idle connections to the calls. While policy administration is down, answers them without a request. */
  #start(): void {
    if (this.#circuit.isUndecided()) return
    const down = this.#circuit.contactWhileDown()
    if (down !== null) for (const call of this.#calls) this.#giveUpWaiting(call, () => down)
    for (let call = this.#nextCall(); call !== undefined; call = this.#nextCall()) {
      const locator = call.waiting.pop()
      const connection = this.#idle.pop()
      if (locator === undefined || connection === undefined) return
      const timedOutRecently = this.#timedOutRecently(call, locator)
      const request = { call, locator, connection, sinceMs: performance.now(), timedOutRecently }
      call.inFlightCount++
      call.hasAsked = true
      this.#inFlight.add(request)
      this.#calls.delete(call)
      this.#calls.add(call)
      const timeoutMs = timedOutRecently ? this.#deadlineMs / 5 : this.#deadlineMs
      connection.get(locator, timeoutMs, (answer) => this.#receive(request, answer))
    }
  }

  /** The call with the fewest requests in flight. */
  #nextCall(): Call | undefined {
    if (this.#idle.length === 0) return undefined
    let next: Call | undefined
    for (const call of this.#calls) {
      const locator = call.waiting.at(-1)
      if (locator === undefined || (next !== undefined && next.inFlightCount <= call.inFlightCount)) continue
      if (this.#mayAsk(call, locator)) next = call
    }
    return next
  }

  /** Parties that timed out recently use few connections. */
  #mayAsk(call: Call, locator: string): boolean {
    if (!this.#timedOutRecently(call, locator)) return true
    return [...this.#inFlight].filter((request) => request.timedOutRecently).length < this.#slowCountMax
  }

  #timedOutRecently(call: Call, locator: string): boolean {
    return call.asksHung && this.#hung.has(locator)
  }

  #receive(request: InFlight, answer: LookUpResult): void {
    const { call, locator, connection, sinceMs, timedOutRecently } = request
    const { contact, isTimeout, outage } = answer
    if (!outage) {
      this.#slowestMs = Math.max(performance.now() - sinceMs, this.#slowestMs * 0.99)
      this.#answeredSinceMs = Math.max(sinceMs, this.#answeredSinceMs)
    }
    if (!isTimeout) this.#hung.delete(locator)
    else if (!timedOutRecently) this.#hung.add(locator)
    this.#inFlight.delete(request)
    this.#idle.push(connection)
    call.inFlightCount--
    call.contacts.set(locator, contact)
    this.#health.note(answer)
    if (!timedOutRecently || !outage) this.#circuit.note(locator, answer)
    this.#resolveIfDone(call)
    // After undici's handler, which must not be called back.
    queueMicrotask(() => this.#start())
  }

  /** Stops the look-ups; parties without a contact are missing from the result. */
  #giveUpWaiting(call: Call, findContact: (locator: string) => Contact | null): void {
    for (const locator of call.waiting.splice(0)) {
      const contact = findContact(locator)
      if (contact !== null) call.contacts.set(locator, contact)
    }
    this.#resolveIfDone(call)
  }

  #resolveIfDone(call: Call): void {
    if (call.waiting.length > 0 || call.inFlightCount > 0) return
    call.resolve(call.contacts)
    this.#calls.delete(call)
    if (this.#calls.size > 0) return
    clearInterval(this.#ticker)
    this.#ticker = undefined
  }

  #tick(): void {
    // After a stall, the process has not yet read the answers that arrived meanwhile.
    const wasStalled = performance.now() - this.#tickedMs > 2 * this.#tickMs
    this.#tickedMs = performance.now()
    if (!wasStalled && [...this.#calls].some(({ waiting }) => waiting.length > 0)) this.#endSlow()
    for (const call of this.#calls) {
      if (!call.hasAsked || performance.now() < call.askUntilMs) continue
      this.#giveUpWaiting(call, (locator) => (this.#timedOutRecently(call, locator) ? HUNG : null))
    }
    this.#start()
  }

  /** Times out the slowest requests that a later one overtook. Without any answer, all keep waiting. */
  #endSlow(): void {
    const patienceMs = Math.min(Math.max(this.#deadlineMs / 20, 2 * this.#slowestMs), this.#deadlineMs)
    const slow = [...this.#inFlight].filter(
      (request) => !request.timedOutRecently && performance.now() - request.sinceMs >= patienceMs,
    )
    const judgeLate = ({ connection }: InFlight) => judgeTimeout(patienceMs, connection.isSent)
    for (const request of slow) this.#circuit.note(request.locator, judgeLate(request))
    for (const request of slow.slice(0, -this.#slowCountMax)) {
      if (request.sinceMs >= this.#answeredSinceMs) continue
      const late = judgeLate(request)
      void request.connection.close()
      this.#receive(request, late)
    }
  }
}
