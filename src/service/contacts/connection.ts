import { readFileSync } from 'node:fs'
import type { Logger } from 'pino'
import { buildConnector, Client, type Dispatcher, EnvHttpProxyAgent } from 'undici'
import type { Config } from '../config/config.ts'
import { CodedError } from '../text/error-codes.ts'
import {
  BODY_BYTES_MAX,
  judgeAnswer,
  judgeFailure,
  judgeTimeout,
  judgeUnasked,
  type LookUpResult,
  type Places,
  parsePlaces,
  TLS_FILES,
} from './answer.ts'

export interface Credential {
  /** Resolves to a cached secret, or to one other than the refused one. Rejects with a message for the operator. */
  readonly secret: (refused?: string) => Promise<string>
  readonly headers: (secret: string) => Readonly<Record<string, string>>
}

export interface PartyClientOptions extends Omit<Config['policyAdministration'], 'header' | 'tokenClient'> {
  readonly credential: Credential | null
  readonly log: Logger
}

type OnAnswer = (answer: LookUpResult) => void

interface LookUp {
  readonly locator: string
  readonly timeoutMs: number
  readonly onAnswer: OnAnswer
  readonly tryCount: number
  readonly sinceMs?: number
  readonly refused?: string
}

const TRY_COUNT_MAX = 3
const HEADERS = {
  accept: 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'notifications-service',
}

/** One connection with one request at a time. An undici `Pool` could not close the connection of a single answer. */
export class Connection {
  readonly #pathPrefix: string
  readonly #places: Places
  readonly #origin: string
  readonly #isPlain: boolean
  readonly #open: () => Dispatcher
  readonly #credential: Credential | null
  #client: Dispatcher | null = null
  #timer: NodeJS.Timeout | undefined
  #isSent = false

  constructor(options: PartyClientOptions) {
    const { baseUrl, deadlineMs, isProxied, tlsFiles, credential } = options
    const { origin, pathname } = new URL(baseUrl)
    this.#pathPrefix = `${pathname.replace(/\/+$/, '')}/internal/parties/`
    this.#places = parsePlaces(options)
    this.#origin = origin
    this.#isPlain = origin.startsWith('http:')
    // One timer for the whole request replaces undici's two.
    const connect = this.#isPlain ? { timeout: deadlineMs } : connectByTls(tlsFiles, deadlineMs)
    const timeouts = { connect, headersTimeout: 0, bodyTimeout: 0 }
    const limits = { allowH2: false, pipelining: 1, maxResponseSize: BODY_BYTES_MAX }
    // undici's agent asks its own connector for what NO_PROXY names. Behind a proxy, the files are read for each agent.
    this.#open = () =>
      isProxied
        ? withTlsFiles(tlsFiles, (pems) => {
            const requestTls = { timeout: deadlineMs, ...pems }
            return new EnvHttpProxyAgent({
              ...timeouts,
              ...limits,
              connections: 1,
              connectTimeout: deadlineMs,
              requestTls,
            })
          })
        : new Client(origin, { ...timeouts, ...limits })
    this.#credential = credential
  }

  /** True if the newest request was sent, false while its connection is being opened. */
  get isSent(): boolean {
    return this.#isSent
  }

  /** Calls `onAnswer` once, unless `close` is called first. After an odd answer the next request gets a new connection. */
  get(locator: string, timeoutMs: number, onAnswer: OnAnswer): void {
    this.#ask({ locator, timeoutMs, onAnswer, tryCount: 1 })
  }

  #ask(request: LookUp): void {
    this.#isSent = false
    const isFirst = this.#client === null
    const client = this.#openOnce(request.onAnswer)
    if (client === null) return
    const credential = this.#credential
    if (credential === null) {
      this.#send(client, request, isFirst)
      return
    }
    // A token has its own timeout: waiting for one does not make a party slow.
    credential.secret(request.refused).then(
      (secret) => client === this.#client && this.#send(client, request, isFirst, secret),
      (error) => client === this.#client && request.onAnswer(judgeUnasked(error)),
    )
  }

  #openOnce(onAnswer: OnAnswer): Dispatcher | null {
    try {
      this.#client ??= this.#open()
      return this.#client
    } catch (error) {
      queueMicrotask(() => onAnswer(judgeUnasked(error as Error)))
      return null
    }
  }

  #send(client: Dispatcher, request: LookUp, isFirst: boolean, secret?: string): void {
    const { locator, timeoutMs, onAnswer, tryCount, refused } = request
    const { sinceMs = performance.now() } = request
    const finish = (answer: LookUpResult) => {
      if (client !== this.#client) return
      clearTimeout(this.#timer)
      if (answer.isRefusal && secret !== undefined && refused === undefined) {
        this.#ask({ ...request, refused: secret })
        return
      }
      // Even a new connection can be reset, by a proxy that reloads.
      const asksAgain = answer.needsConfirmation && (!isFirst || (answer.outage && tryCount < TRY_COUNT_MAX))
      if (asksAgain || !answer.keepsConnection) void this.close()
      if (asksAgain) this.#ask({ ...request, tryCount: tryCount + 1, sinceMs })
      else onAnswer(answer)
    }
    const leftMs = Math.max(1, sinceMs + timeoutMs - performance.now())
    this.#timer = setTimeout(() => {
      const late = judgeTimeout(timeoutMs, this.#isSent)
      finish({ ...late, ...(this.#isSent ? { isTimeout: true } : { isUnsent: true }) })
    }, leftMs)
    const path = this.#pathPrefix + encodeURIComponent(locator)
    const headers = secret === undefined ? HEADERS : { ...HEADERS, ...this.#credential?.headers(secret) }
    const options = { origin: this.#origin, method: 'GET', path, headers, blocking: false } as const
    const chunks: Buffer[] = []
    let [status, encoding] = [0, '']
    // Takes a quarter less CPU than `client.request`, which wraps each body in a stream.
    client.dispatch(options, {
      onRequestStart: () => {
        this.#isSent = true
      },
      onResponseStart: (_, statusCode, { 'content-encoding': coded = '' }) => {
        status = statusCode
        encoding = String(coded)
      },
      onResponseData: (_, chunk) => void chunks.push(chunk),
      onResponseEnd: () => {
        const answer = { status, encoding, body: Buffer.concat(chunks), isPlain: this.#isPlain }
        finish(judgeAnswer(answer, locator, this.#places))
      },
      onResponseError: (_, error) => finish(judgeFailure(status, error, this.#isSent)),
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

/** Reads the files for each connection, so that renewed certificates need no restart. A read costs less than a TLS handshake. */
function connectByTls(files: PartyClientOptions['tlsFiles'], connectMs: number): buildConnector.connector {
  return (target, callback) => {
    withTlsFiles(files, (pems) => {
      const connect = buildConnector({ timeout: connectMs, allowH2: false, ...pems })
      connect(target, (...[error, socket]) => {
        // undici would report the end of the socket instead of the server's alert, which TLS 1.3 sends after the handshake.
        socket?.once('error', (alert) => socket.destroy(alert))
        callback(...([error, socket] as Parameters<typeof callback>))
      })
    })
  }
}

function withTlsFiles<T>(
  files: PartyClientOptions['tlsFiles'],
  use: (pems: Readonly<Record<string, Buffer>>) => T,
): T {
  try {
    return use(Object.fromEntries(Object.entries(files).map(([name, path]) => [name, readFileSync(path)])))
  } catch (cause) {
    const names = 'POLICY_ADMIN_CA_FILE, POLICY_ADMIN_CERT_FILE or POLICY_ADMIN_KEY_FILE'
    throw new CodedError(TLS_FILES, `${names} cannot be used: ${(cause as Error).message}`, { cause })
  }
}
