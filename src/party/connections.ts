import type { Socket } from 'node:net'
import { buildConnector, Client, Pool } from 'undici'
import { BODY_BYTES_MAX } from './answer.ts'
import type { Exchange } from './exchange.ts'

export interface ConnectionOptions {
  readonly origin: string
  readonly connectionCountMax: number
  /** Requests that may share a connection. */
  readonly sharedCountMax: number
  readonly connectTimeoutMs: number
}

// The client has one timer for all its requests.
const BOUNDS = { maxResponseSize: BODY_BYTES_MAX, headersTimeout: 0, bodyTimeout: 0 }

export type Connections = ReturnType<typeof createConnections>

/** The ways in which a request can travel; each connection is made when it is needed. */
export function createConnections(options: ConnectionOptions) {
  const { origin, connectionCountMax, sharedCountMax, connectTimeoutMs: timeout } = options
  const connect = buildConnector({ allowH2: true, preferH2: true, timeout })
  const h2Options = { maxConcurrentStreams: sharedCountMax }
  let isHttp2: boolean | null = null
  let kept = poolOf(1)
  let fresh = poolOf(0)

  function poolOf(pipelining: 0 | 1): Pool {
    // The circuit's probe has one of its own.
    const connections = connectionCountMax + 1 - pipelining
    const observed: buildConnector.connector = (target, callback) =>
      connect(target, (...result) => {
        const [, socket] = result
        if (socket) isHttp2 = isHttp2 !== false && 'alpnProtocol' in socket && socket.alpnProtocol === 'h2'
        callback(...result)
      })
    return new Pool(origin, {
      ...BOUNDS,
      connections,
      pipelining,
      allowH2: true,
      h2Options,
      connect: observed,
    })
  }

  return {
    /** Over HTTP/1.1 on a kept connection, alone while it is under way; over HTTP/2 beside others. */
    send: (exchange: Exchange) => exchange.sendTo(kept),
    /** Over HTTP/1.1 as the first and last request of a connection, where nothing else can be answered. */
    sendAlone: (exchange: Exchange) => exchange.sendTo(fresh),
    /** A connection for several requests at a time, over HTTP/1.1. */
    shared: () => new SharedConnection(origin, sharedCountMax, buildConnector({ allowH2: false, timeout })),
    /** Closes the kept connections, each once its request is answered. */
    renew(): void {
      const old = [kept, fresh]
      kept = poolOf(1)
      fresh = poolOf(0)
      // undici must not be called into from its own handlers.
      queueMicrotask(() => void Promise.all(old.map((pool) => pool.close())))
    },
    /** Whether every connection so far is HTTP/2, which binds each answer to its request. */
    isHttp2: () => isHttp2 === true,
    /** Breaks off what is under way, on shared connections excepted. */
    close: () => Promise.all([kept.destroy(), fresh.destroy()]),
  }
}

/** Made at the first request, and anew for the next one after it was lost. */
export class SharedConnection {
  readonly #open: () => Client
  #client: Client | null = null
  #socket: Socket | null = null

  constructor(origin: string, pipelining: number, connect: buildConnector.connector) {
    this.#open = () => {
      const client: Client = new Client(origin, {
        ...BOUNDS,
        pipelining,
        allowH2: false,
        connect: (target, callback) =>
          connect(target, (...result) => {
            if (client === this.#client) this.#socket = result[1] ?? null
            callback(...result)
          }),
      })
      return client
    }
  }

  /** Sends requests in one write where that can be done; their answers come in the same order. */
  send(exchanges: readonly Exchange[]): void {
    this.#client ??= this.#open()
    const socket = this.#socket
    socket?.cork()
    for (const exchange of exchanges) exchange.sendTo(this.#client)
    // In the next turn, because undici does not write to an idle connection before that.
    if (socket !== null) setImmediate(() => socket.uncork())
  }

  /** Breaks off what is under way; its handlers are notified later. */
  async close(): Promise<void> {
    const client = this.#client
    this.#client = null
    this.#socket = null
    // undici must not be called into from its own handlers.
    await Promise.resolve()
    await client?.destroy()
  }
}
