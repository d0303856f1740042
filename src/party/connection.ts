import type { Socket } from 'node:net'
import { buildConnector, Client, type Dispatcher } from 'undici'
import { BODY_BYTES_MAX } from './answer.ts'

const HEADERS = ['accept', 'application/json']

export interface ConnectionOptions {
  readonly origin: string
  readonly connectTimeoutMs: number
  /** Requests that may be under way at a time. */
  readonly pipeliningMax: number
}

/** One keep-alive connection. It is made at the first request, and anew for the next one after it was lost. */
export class Connection {
  /** Called whenever it is lost, also where an answer says that it is the last. */
  onLost: (error: Error) => void = () => {}
  readonly #options: ConnectionOptions
  #client: Client | null = null
  #socket: Socket | null = null

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  /** Sends GETs in one write where that can be done; each handler receives its answer or error. */
  send(requests: readonly { readonly path: string; readonly handler: Dispatcher.DispatchHandler }[]): void {
    this.#client ??= this.#open()
    const socket = requests.length > 1 ? this.#socket : null
    socket?.cork()
    for (const { path, handler } of requests) {
      this.#client.dispatch({ method: 'GET', path, headers: HEADERS, blocking: false }, handler)
    }
    // In the next turn, because undici does not write to an idle connection before that.
    if (socket !== null) setImmediate(() => socket.uncork())
  }

  /** Breaks off what is under way; its handlers are notified later. Resolves when the connection is closed. */
  async breakOff(): Promise<void> {
    const client = this.#client
    this.#client = null
    this.#socket = null
    // undici must not be called into from its own handlers.
    await Promise.resolve()
    await client?.destroy()
  }

  #open(): Client {
    const { origin, connectTimeoutMs, pipeliningMax } = this.#options
    const connect = buildConnector({ allowH2: false, timeout: connectTimeoutMs })
    const client = new Client(origin, {
      pipelining: pipeliningMax,
      allowH2: false,
      maxResponseSize: BODY_BYTES_MAX,
      // One timer for a whole call does for both.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (options, callback) =>
        connect(options, (...result) => {
          if (client === this.#client) this.#socket = result[1] ?? null
          callback(...result)
        }),
    })
    client.on('disconnect', (_origin, _targets, error) => {
      if (client !== this.#client) return
      this.#socket = null
      this.onLost(error)
    })
    return client
  }
}
