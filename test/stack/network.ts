import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { listen } from './listen.ts'

export type Direction = 'requests' | 'answers'
export type Network = Awaited<ReturnType<typeof startNetwork>>

/** Bytes in one direction. None is lost: like those of TCP, they arrive late and in order. */
class Way {
  delayMs = 0
  /** Chunks that were held up or delayed. */
  disturbedCount = 0
  #cut: PromiseWithResolvers<void> | null = null

  cut(): void {
    this.#cut ??= Promise.withResolvers()
  }

  mend(): void {
    this.delayMs = 0
    this.#cut?.resolve()
    this.#cut = null
  }

  /** Waits as long as what arrived at this time has to. */
  async pass(arrivedMs: number): Promise<void> {
    if (this.#cut !== null || this.delayMs > 0) this.disturbedCount++
    const waitMs = arrivedMs + this.delayMs - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    while (this.#cut !== null) await this.#cut.promise
  }
}

/** Stands between clients and a server on loopback. Either direction can be cut or slow; the end of a connection passes as bytes do. */
export async function startNetwork(serverPort: number) {
  const ways: Readonly<Record<Direction, Way>> = { requests: new Way(), answers: new Way() }
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1')
    carry(client, upstream, ways.requests)
    carry(upstream, client, ways.answers)
  })

  function carry(from: Socket, to: Socket, way: Way): void {
    sockets.add(from)
    from.setNoDelay()
    let last = Promise.resolve()
    const next = (act: () => void) => {
      const arrivedMs = performance.now()
      last = last.then(() => way.pass(arrivedMs)).then(act)
    }
    from.on('data', (data) => next(() => to.write(data)))
    from.on('error', () => {})
    from.on('close', () => {
      sockets.delete(from)
      next(() => to.destroy())
    })
  }

  const breakAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: await listen(server),
    cut: (direction: Direction) => ways[direction].cut(),
    /** Each piece takes so much longer, in each direction. */
    slow: (delayMs: number): void => {
      for (const way of Object.values(ways)) way.delayMs = delayMs
    },
    /** All is as before. Returns how many pieces were disturbed. */
    mend: (): number => {
      let count = 0
      for (const way of Object.values(ways)) {
        way.mend()
        count += way.disturbedCount
        way.disturbedCount = 0
      }
      return count
    },
    breakAll,
    close: async (): Promise<void> => {
      const closed = once(server, 'close')
      server.close()
      for (const way of Object.values(ways)) way.mend()
      breakAll()
      await closed
    },
  }
}
