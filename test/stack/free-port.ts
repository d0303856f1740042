import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const ATTEMPTS_MAX = 50

/**
 * A free port on loopback, below the range that systems give to outgoing connections: while a server is down
 * between two starts, a client that retries could otherwise be given the server's own port.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const port = randomInt(20_000, 32_000)
    if (await isFree(port)) return port
  }
  throw new Error(`found no free port on 127.0.0.1 between 20000 and 32000 in ${ATTEMPTS_MAX} attempts`)
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
