// A stand-in for policy administration in its own process, which counts its requests. It uses as little CPU as possible,
// because it shares the machine with the measured processes.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { listen } from '../stack/listen.ts'
import { contactOf } from './parties.ts'

export type Contacts = Awaited<ReturnType<typeof startContacts>>

/** Starts the process, which ends with this one and does not keep it alive. */
export async function startContacts() {
  const child = fork(fileURLToPath(import.meta.url))
  const [url] = (await once(child, 'message')) as [string]
  child.unref()
  child.channel?.unref()
  return {
    url,
    pid: child.pid ?? 0,
    /** Requests so far. */
    requestCount: async (): Promise<number> => {
      const answer = once(child, 'message')
      child.send('count')
      return (await answer)[0]
    },
    stop: () => child.disconnect(),
  }
}

const END_OF_HEAD = '\r\n\r\n'
const REQUEST = /^GET \/internal\/parties\/(\S+) /

/** Calls back with the party of each request without a body on a kept connection. */
function serveParties(socket: Socket, onRequest: (partyLocator: string) => void): void {
  let unread = ''
  socket.setNoDelay().setEncoding('latin1')
  socket.on('error', () => {})
  socket.on('data', (part) => {
    unread += part
    for (let end = unread.indexOf(END_OF_HEAD); end !== -1; end = unread.indexOf(END_OF_HEAD)) {
      onRequest(decodeURIComponent(REQUEST.exec(unread)?.[1] ?? ''))
      unread = unread.slice(end + END_OF_HEAD.length)
    }
  })
}

/** The response about a party; with NAMED=0 it does not name the party. */
function answerTo(partyLocator: string): string {
  const contact = contactOf(partyLocator)
  const name = process.env.NAMED === '0' ? {} : { partyLocator }
  const body = JSON.stringify({ ...name, ...(contact ?? { error: 'not found' }) })
  const status = contact === null ? '404 Not Found' : '200 OK'
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

if (import.meta.main) {
  let requestCount = 0
  process.once('disconnect', () => process.exit())
  const server = createServer((socket) =>
    serveParties(socket, (partyLocator) => {
      requestCount++
      socket.write(answerTo(partyLocator), 'latin1')
    }),
  )
  process.on('message', () => process.send?.(requestCount))
  process.send?.(`http://127.0.0.1:${await listen(server)}`)
}
