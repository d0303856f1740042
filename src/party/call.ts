import type { Contact } from '../core/party/contact.ts'
import { HUNG } from './answer.ts'

/** One party of one call, and the path of its contact. */
export interface PartyRequest {
  readonly locator: string
  readonly path: string
  /** Whether it needs a connection of its own now: its answer did not count, or did not come. */
  isAlone: boolean
}

/** One look-up of many parties: gathers their contacts. */
export class Call {
  /** Resolves when every party is settled or left out. Rejects where `fail` was called before. */
  readonly result: Promise<Map<string, Contact>>
  /** Those who are not asked for yet; the last one is the next. */
  readonly waiting: PartyRequest[] = []
  /** Those who hung lately. */
  readonly hanging: PartyRequest[] = []
  /** From then on nobody is asked for any more who waits. */
  readonly askUntilMs: number
  /** How often it takes the place of a connection now. */
  tripCount = 0
  readonly #resolve: (contacts: Map<string, Contact>) => void
  readonly #contacts = new Map<string, Contact>()
  readonly fail: (error: unknown) => void
  readonly #first: string
  #partyCount: number

  constructor(locators: ReadonlySet<string>, askUntilMs: number) {
    const { promise, resolve, reject } = Promise.withResolvers<Map<string, Contact>>()
    this.result = promise
    this.fail = reject
    this.#resolve = resolve
    const [first = ''] = locators
    this.#first = first
    this.#partyCount = locators.size
    this.askUntilMs = askUntilMs
    this.#finish()
  }

  settle(locator: string, contact: Contact): void {
    this.#contacts.set(locator, contact)
    this.#finish()
  }

  /** Next, before the others. */
  askAlone(request: PartyRequest): void {
    request.isAlone = true
    this.waiting.push(request)
  }

  /** Leaves out those who still wait, once the first is settled. */
  endAsking(): void {
    if (!this.#contacts.has(this.#first)) return
    this.#partyCount -= this.waiting.splice(0).length
    for (const { locator } of this.hanging.splice(0)) this.settle(locator, HUNG)
    this.#finish()
  }

  #finish(): void {
    if (this.#contacts.size >= this.#partyCount) this.#resolve(this.#contacts)
  }
}
