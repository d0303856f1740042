import type { Logger } from 'pino'
import { Client } from 'undici'
import {
  type Answer,
  BODY_BYTES_MAX,
  judgeAnswer,
  judgeFailure,
  judgeTimeout,
  type NameOf,
  nameAt,
} from './answer.ts'

export interface PartyClientOptions {
  /** POLICY_ADMIN_URL; a path in it is kept. */
  readonly baseUrl: string
  readonly connectionCountMax: number
  /** Where an answer names its party: JSON Pointers, of which the first that leads to a string counts. */
  readonly echo: readonly string[]
  /** For one party, from when it is asked for. */
  readonly deadlineMs: number
  readonly log: Logger
}

type OnAnswer = (answer: Answer) => void

const TRY_COUNT_MAX = 3

/** One connection with one request at a time. An undici `Pool` could not close the connection of a single answer. */
export class Connection {
  readonly #pathPrefix: string
  readonly #nameOf: NameOf
  readonly #open: () => Client
  #client: Client | null = null
  #timer: NodeJS.Timeout | undefined

  constructor({ baseUrl, echo, deadlineMs: timeout }: PartyClientOptions) {
    const { origin, pathname } = new URL(baseUrl)
    this.#pathPrefix = `${pathname.replace(/\/+$/, '')}/internal/parties/`
    this.#nameOf = nameAt(echo)
    // One timer for the whole request replaces undici's two.
    const timeouts = { connect: { timeout }, headersTimeout: 0, bodyTimeout: 0 }
    const limits = { allowH2: false, pipelining: 1, maxResponseSize: BODY_BYTES_MAX }
    this.#open = () => new Client(origin, { ...timeouts, ...limits })
  }

  /** Calls `onAnswer` once, unless `close` is called first. After an odd answer the next request gets a new connection. */
  get(locator: string, timeoutMs: number, onAnswer: OnAnswer, tryCount = 1, sinceMs = performance.now()) {
    const isFirst = this.#client === null
    this.#client ??= this.#open()
    const client = this.#client
    const finish = (answer: Answer) => {
      if (client !== this.#client) return
      clearTimeout(this.#timer)
      // A proxy that reloads can reset even a new connection.
      const asksAgain = answer.needsConfirmation && (!isFirst || (answer.outage && tryCount < TRY_COUNT_MAX))
      if (asksAgain || !answer.keepsConnection) void this.close()
      if (asksAgain) this.get(locator, timeoutMs, onAnswer, tryCount + 1, sinceMs)
      else onAnswer(answer)
    }
    const leftMs = Math.max(1, sinceMs + timeoutMs - performance.now())
    this.#timer = setTimeout(() => finish({ ...judgeTimeout(timeoutMs), isTimeout: true }), leftMs)
    const path = this.#pathPrefix + encodeURIComponent(locator)
    const request = { method: 'GET', path, headers: { accept: 'application/json' }, blocking: false } as const
    const chunks: Buffer[] = []
    let status = 0
    // A quarter less CPU than `client.request`, which wraps each body in a stream.
    client.dispatch(request, {
      onRequestStart: () => {},
      onResponseStart: (_, statusCode) => {
        status = statusCode
      },
      onResponseData: (_, chunk) => void chunks.push(chunk),
      onResponseEnd: () => finish(judgeAnswer(status, Buffer.concat(chunks), locator, this.#nameOf)),
      onResponseError: (_, error) => finish(judgeFailure(status, error)),
    })
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = null
    clearTimeout(this.#timer)
    // undici must not be called back from its own handlers.
    await Promise.resolve()
    await client?.destroy()
  }
}
