import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type Statement = 'START TRANSACTION' | 'COMMIT'

/** A statement that has come from the client and has not been passed on. */
export interface Blocked {
  /** Passes it on, if the server still listens, and all that came after it. */
  forward(): void
}

export type DatabaseProxy = Awaited<ReturnType<typeof startDatabaseProxy>>

interface Catch {
  readonly statement: Statement
  take(link: Link, frame: Buffer): void
}

/**
 * Stands between one client and a PostgreSQL server on loopback, and knows enough of the protocol (version 3, without
 * TLS) to tell messages apart and to know a few statements.
 */
export async function startDatabaseProxy(serverUrl: string) {
  let target = new URL(serverUrl)
  const links = new Set<Link>()
  let frozen = false
  let caught: Catch | null = null

  const server = createServer((client) => {
    const link = new Link(client, connect(Number(target.port), target.hostname), {
      onFrame: (frame) => {
        const mine = caught
        if (mine === null || !isStatement(frame, mine.statement)) return link.toServer(frame)
        caught = null
        mine.take(link, frame)
      },
      onEnd: () => links.delete(link),
    })
    links.add(link)
    if (frozen) link.pause()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  function catchNext<T>(
    statement: Statement,
    signal: AbortSignal,
    then: (resolve: (value: T) => void) => Catch['take'],
  ): Promise<T> {
    if (caught !== null) throw new Error('another statement is waited for already')
    return new Promise((resolve, reject) => {
      const mine = { statement, take: then(resolve) }
      caught = mine
      const giveUp = () => {
        if (caught === mine) caught = null
        reject(signal.reason)
      }
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  const url = new URL(serverUrl)
  url.port = String((server.address() as AddressInfo).port)
  /** Breaks all connections; returns how many there were. */
  const cut = () => {
    const count = links.size
    for (const link of links) link.break()
    return count
  }
  /** The connections that are open now go dead: not a byte goes through, and nobody is told. New ones work. */
  const goDead = () => {
    for (const link of links) link.pause()
  }
  return {
    /** The server's connection string, by way of this proxy. */
    url: url.href,
    /** From now on goes to another server; breaks all connections. */
    pointTo: (serverUrl: string): void => {
      target = new URL(serverUrl)
      cut()
    },
    cut,
    /** From now on, until `thaw`, not a byte goes through, and nobody is told. */
    freeze: (): void => {
      frozen = true
      goDead()
    },
    goDead,
    thaw: (): void => {
      frozen = false
      for (const link of links) link.resume()
    },
    /** Holds the next such statement; resolves when it has come. Once the signal is aborted, none is held any more. */
    hold: (statement: Statement, signal: AbortSignal) =>
      catchNext<Blocked>(statement, signal, (resolve) => (link, frame) => {
        link.hold()
        resolve({ forward: () => link.release(frame) })
      }),
    /** Passes the next COMMIT on, keeps the answer that it was made, and breaks the connection; resolves then. */
    loseReply: (signal: AbortSignal) =>
      catchNext<void>('COMMIT', signal, (resolve) => (link, commit) => {
        link.loseReply(resolve)
        link.toServer(commit)
      }),
    close: async (): Promise<void> => {
      const closed = once(server, 'close')
      server.close()
      for (const link of links) link.break()
      await closed
    },
  }
}

/** One client's connection and its counterpart to the server. */
class Link {
  readonly #client: Socket
  readonly #server: Socket
  readonly #fromClient = new Frames({ untyped: 1 })
  readonly #fromServer = new Frames({ untyped: 0 })
  #held: Buffer[] | null = null
  #onReplyLost: (() => void) | null = null

  constructor(
    client: Socket,
    server: Socket,
    { onFrame, onEnd }: { onFrame: (frame: Buffer) => void; onEnd: () => void },
  ) {
    this.#client = client
    this.#server = server
    for (const socket of [client, server]) {
      socket.setNoDelay()
      // Whichever side ends, and however, the other side is to notice.
      socket.on('error', () => {})
      socket.on('close', () => {
        this.break()
        onEnd()
      })
    }
    client.on('data', (data) => {
      for (const frame of this.#fromClient.push(data)) {
        if (this.#held !== null) this.#held.push(frame)
        else onFrame(frame)
      }
    })
    server.on('data', (data) => {
      if (this.#onReplyLost === null) client.write(data)
      for (const frame of this.#fromServer.push(data)) {
        if (this.#onReplyLost === null || !isCommitted(frame)) continue
        this.break()
        this.#onReplyLost()
      }
    })
  }

  toServer(frame: Buffer): void {
    this.#server.write(frame)
  }

  hold(): void {
    this.#held = []
  }

  release(first: Buffer): void {
    const held = this.#held ?? []
    this.#held = null
    for (const frame of [first, ...held]) this.toServer(frame)
  }

  loseReply(onReplyLost: () => void): void {
    this.#onReplyLost = onReplyLost
  }

  pause(): void {
    this.#client.pause()
    this.#server.pause()
  }

  resume(): void {
    this.#client.resume()
    this.#server.resume()
  }

  break(): void {
    this.#client.destroy()
    this.#server.destroy()
  }
}

/** Cuts a stream into messages: a byte that names the type, then their length; the very first one has no type. */
class Frames {
  #rest: Buffer = Buffer.alloc(0)
  #untyped: number

  constructor({ untyped }: { untyped: number }) {
    this.#untyped = untyped
  }

  push(data: Buffer): Buffer[] {
    this.#rest = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data])
    const frames: Buffer[] = []
    for (;;) {
      const start = this.#untyped > 0 ? 0 : 1
      if (this.#rest.length < start + 4) return frames
      const end = start + this.#rest.readInt32BE(start)
      if (this.#rest.length < end) return frames
      frames.push(this.#rest.subarray(0, end))
      this.#rest = this.#rest.subarray(end)
      this.#untyped = 0
    }
  }
}

/** A simple query: type Q, length, text. */
function isStatement(frame: Buffer, statement: Statement): boolean {
  return frame[0] === 0x51 && frame.toString('latin1', 5, 5 + statement.length) === statement
}

/** The end of a command: type C, length, tag. A transaction that had failed says ROLLBACK. */
function isCommitted(frame: Buffer): boolean {
  return frame[0] === 0x43 && frame.toString('latin1', 5) === 'COMMIT\0'
}
