import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const FIRST = 20_000
const SLICE_COUNT = 120
const SLICE_PORTS = 100
/**
 * Processes that run side by side mostly have ids that follow each other. Each has a slice of the ports, and takes one after the other:
 * a server may listen only seconds after its port was found to be free, and another would be given the same one.
 */
const first = FIRST + (process.pid % SLICE_COUNT) * SLICE_PORTS
let next = randomInt(SLICE_PORTS)

/**
 * A free port on loopback, below the range that systems give to outgoing connections: while a server is down
 * between two starts, a client that retries could otherwise be given the server's own port.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < SLICE_PORTS; attempt++) {
    const port = first + (next++ % SLICE_PORTS)
    if (await isFree(port)) return port
  }
  throw new Error(`found no free port on 127.0.0.1 between ${first} and ${first + SLICE_PORTS - 1}`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
