import type { Contact } from '../core/party/contact.ts'

/** Well below any session time-out, so that a long look-up keeps its consumer alive. */
const HEARTBEAT_INTERVAL_MS = 500

/** One party of one call, and the path of its contact. */
export interface PartyRequest {
  readonly locator: string
  readonly path: string
}

/** One look-up of many parties: gathers their contacts, and beats while they come in. */
export class Call {
  /** Resolves when every party is settled. Rejects with the first `fail`. */
  readonly result: Promise<Map<string, Contact>>
  /** Those who are not asked for yet; the last one is the next. */
  readonly waiting: PartyRequest[] = []
  readonly #resolve: (contacts: Map<string, Contact>) => void
  readonly #reject: (error: unknown) => void
  readonly #partyCount: number
  readonly #onAnswer: () => Promise<void>
  readonly #contacts = new Map<string, Contact>()
  #beatenAtMs = performance.now()
  #beating = false
  #late = false

  constructor(partyCount: number, onAnswer: () => Promise<void>) {
    const { promise, resolve, reject } = Promise.withResolvers<Map<string, Contact>>()
    this.result = promise
    this.#resolve = resolve
    this.#reject = reject
    this.#partyCount = partyCount
    this.#onAnswer = onAnswer
    this.#finish()
  }

  settle(locator: string, contact: Contact): void {
    this.#contacts.set(locator, contact)
    if (this.#isBeatDue()) void this.#beat()
    this.#finish()
  }

  /** The deadline has passed: results from here on are not answers, and no heartbeat is waited for. */
  expire(): void {
    this.#late = true
  }

  fail(error: unknown): void {
    this.#reject(error)
  }

  #isBeatDue(): boolean {
    if (this.#beating || this.#late || this.#contacts.size === this.#partyCount) return false
    return performance.now() - this.#beatenAtMs >= HEARTBEAT_INTERVAL_MS
  }

  async #beat(): Promise<void> {
    this.#beating = true
    try {
      await this.#onAnswer()
    } catch (error) {
      this.fail(error)
    }
    this.#beatenAtMs = performance.now()
    this.#beating = false
    this.#finish()
  }

  #finish(): void {
    if (this.#contacts.size < this.#partyCount) return
    if (this.#beating && !this.#late) return
    this.#resolve(this.#contacts)
  }
}
