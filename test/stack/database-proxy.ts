import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { listen } from './listen.ts'

export type Statement = 'START TRANSACTION' | 'COMMIT'

/** A statement that has come from the client and has not been passed on. */
export interface Blocked {
  /** Passes it on, if the server still listens, and all that came after it. */
  forward(): void
}

/** How a server or a pooler refuses a connection. */
export interface Refusal {
  /** The SQLSTATE. */
  readonly code: string
  readonly message: string
}

export type DatabaseProxy = Awaited<ReturnType<typeof startDatabaseProxy>>

/** One client's connection, and the one to the server. */
interface Link {
  readonly sockets: readonly [client: Socket, server: Socket]
  /** Gets what the client sends, instead of the server. */
  held: Buffer[] | null
  /** Gets what the server sends, instead of the client. */
  onReply: ((data: Buffer) => void) | null
}

/**
 * Stands between clients and a PostgreSQL server on loopback, without TLS. A client sends a simple query in a piece of its own, as
 * `pg` does, since it waits for the answer to the one before.
 */
export async function startDatabaseProxy(serverUrl: string) {
  let target = new URL(serverUrl)
  const links = new Set<Link>()
  let isFrozen = false
  let sizeMax = Number.POSITIVE_INFINITY
  let findRefusal: (startUp: string) => Refusal | null = () => null
  /** Takes the next such statement. */
  let caught: { readonly statement: Statement; take(link: Link, sent: Buffer): void } | null = null

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const link: Link = { sockets: [client, upstream], held: null, onReply: null }
    links.add(link)
    for (const socket of link.sockets) {
      socket.setNoDelay()
      // Whichever side ends, and however, the other side is to notice.
      socket.on('error', () => {})
      socket.on('close', () => {
        breakOff(link)
        links.delete(link)
      })
    }
    client.once('data', (startUp) => {
      const refusal = findRefusal(startUp.toString('latin1'))
      if (refusal !== null) {
        upstream.destroy()
        client.end(errorResponse(refusal))
      }
    })
    client.on('data', (data) => {
      const mine = caught
      if (upstream.destroyed || data.length > sizeMax) return
      if (link.held !== null) link.held.push(data)
      else if (mine !== null && isStatement(data, mine.statement)) {
        caught = null
        mine.take(link, data)
      } else upstream.write(data)
    })
    upstream.on('data', (data) => {
      if (link.onReply === null) client.write(data)
      else link.onReply(data)
    })
    if (isFrozen) for (const socket of link.sockets) socket.pause()
  })

  /** Resolves to the next such statement, which is not passed on. Once the signal is aborted, none is caught any more. */
  function catchNext(statement: Statement, signal: AbortSignal): Promise<{ link: Link; sent: Buffer }> {
    if (caught !== null) throw new Error('another statement is waited for already')
    return new Promise((resolve, reject) => {
      const mine = {
        statement,
        take: (link: Link, sent: Buffer) => {
          link.held = []
          resolve({ link, sent })
        },
      }
      caught = mine
      const giveUp = () => {
        if (caught === mine) caught = null
        reject(signal.reason)
      }
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  const url = new URL(serverUrl)
  url.port = String(await listen(server))
  /** Breaks all connections; returns how many there were. */
  const cut = () => {
    const count = links.size
    for (const link of links) breakOff(link)
    return count
  }
  const sockets = () => [...links].flatMap((link) => link.sockets)
  /** Open connections forward no more bytes, without being closed. New ones work. */
  const goDead = () => {
    for (const socket of sockets()) socket.pause()
  }
  return {
    /** The server's connection string, by way of this proxy. */
    url: url.href,
    /** From now on goes to another server; breaks all connections. */
    pointTo: (newUrl: string): void => {
      target = new URL(newUrl)
      cut()
    },
    cut,
    /** Drops what a client sends in a larger piece, as a path does that loses large packets. */
    swallowAbove: (byteCount: number): void => {
      sizeMax = byteCount
    },
    /** @param judge gets the first packet of each new connection, with the names and values of its options */
    refuseStartUps: (judge: typeof findRefusal): void => {
      findRefusal = judge
    },
    /** Forwards no bytes until `thaw`, without closing a connection. */
    freeze: (): void => {
      isFrozen = true
      goDead()
    },
    goDead,
    thaw: (): void => {
      isFrozen = false
      for (const socket of sockets()) socket.resume()
    },
    /** Holds the next such statement; resolves when it has come. */
    hold: async (statement: Statement, signal: AbortSignal): Promise<Blocked> => {
      const { link, sent } = await catchNext(statement, signal)
      return { forward: () => release(link, sent) }
    },
    /** Passes the next COMMIT on, keeps the answer that it was made, and breaks the connection; resolves then. */
    loseReply: async (signal: AbortSignal): Promise<void> => {
      const { link, sent } = await catchNext('COMMIT', signal)
      await new Promise<void>((resolve) => {
        // A transaction that had failed says ROLLBACK.
        link.onReply = (data) => {
          if (!data.includes('COMMIT\0')) return
          breakOff(link)
          resolve()
        }
        release(link, sent)
      })
    },
    close: async (): Promise<void> => {
      const closed = once(server, 'close')
      server.close()
      cut()
      await closed
    },
  }
}

/** A FATAL error of the protocol, before the connection is ready. */
function errorResponse({ code, message }: Refusal): Buffer {
  const fields = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`)
  const head = Buffer.from('E\0\0\0\0', 'latin1')
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}

function release(link: Link, first: Buffer): void {
  const [, upstream] = link.sockets
  for (const data of [first, ...(link.held ?? [])]) upstream.write(data)
  link.held = null
}

function breakOff({ sockets }: Link): void {
  for (const socket of sockets) socket.destroy()
}

/** A simple query: type Q, length, text. */
function isStatement(data: Buffer, statement: Statement): boolean {
  return data[0] === 0x51 && data.toString('latin1', 5, 5 + statement.length) === statement
}
