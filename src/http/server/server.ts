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

const REMEDIES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use: stop the process that uses it, or set PORT to a free one',
  EACCES: 'this user is not permitted to use the port: set PORT to one above 1023',
  EADDRNOTAVAIL: 'this machine does not have that address: set HOST to one of its own, or to 0.0.0.0 for all',
  ENOTFOUND: 'the host name is unknown: set HOST to an address of this machine, or to 0.0.0.0 for all',
}

function listenError(error: unknown, { host, port }: Address, prefix: string): Error {
  const { code = '', message = String(error) } = error as NodeJS.ErrnoException
  return new Error(
    `cannot listen on ${host} port ${port}: ${REMEDIES[code]?.replace(/(PORT|HOST)/g, `${prefix}$1`) ?? message}`,
    { cause: error },
  )
}
