import type { Socket } from 'node:net'
import type { Config } from '../../config/config.ts'
import type { HttpApp } from './base.ts'

/** Port 0 picks a free one. */
type Address = Pick<Config['http'], 'host' | 'port'>

export interface Http {
  /** Resolves to the URL. Rejects with an error that names the address and the remedy. */
  listen: () => Promise<string>
  /**
   * Stops accepting, closes idle connections at once, lets requests in progress finish, and cuts off the rest after `graceMs`.
   */
  close: (graceMs?: number) => Promise<void>
}

/** Serves an app on an address, which variables with this prefix set. */
export function serve(app: HttpApp, { host, port }: Address, prefix = ''): Http {
  const unused = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  app.server.on('request', ({ socket }) => unused.delete(socket))

  return {
    listen: () =>
      app.listen({ host, port }).catch((error: unknown) => {
        throw listenError(error, { host, port }, prefix)
      }),
    close: async (graceMs = 5_000) => {
      const cutOff = setTimeout(() => app.server.closeAllConnections(), graceMs)
      try {
        const closed = app.close()
        // Node does not count a connection as idle before its first request.
        for (const socket of unused) socket.destroy()
        await closed
      } finally {
        clearTimeout(cutOff)
      }
    },
  }
}

const REMEDIES: Readonly<Record<string, (prefix: string) => string>> = {
  EADDRINUSE: (prefix) =>
    `the port is in use: stop the process that uses it, or set ${prefix}PORT to a free one`,
  EACCES: (prefix) => `this user is not permitted to use the port: set ${prefix}PORT to one above 1023`,
  EADDRNOTAVAIL: (prefix) =>
    `this machine does not have that address: set ${prefix}HOST to one of its own, or to 0.0.0.0 for all`,
  ENOTFOUND: (prefix) =>
    `the host name is unknown: set ${prefix}HOST to an address of this machine, or to 0.0.0.0 for all`,
}

function listenError(error: unknown, { host, port }: Address, prefix: string): Error {
  const { code = '', message = String(error) } = error as NodeJS.ErrnoException
  return new Error(`cannot listen on ${host} port ${port}: ${REMEDIES[code]?.(prefix) ?? message}`, {
    cause: error,
  })
}
