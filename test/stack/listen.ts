import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import type { Server } from 'node:net'

/** Listens on a free port of loopback. Returns the port. */
export async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  server.listen(0, host)
  await once(server, 'listening')
  return (server.address() as { port: number }).port
}

/** Closes a server, and the connections that are still open. */
export async function close(server: HttpServer): Promise<void> {
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}
