// A policy administration in its own process that sends one answer in 500 twice, the second one a little later. `PTY-…`
// has its own address; an unknown party gets a 404 that names nobody.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { serveParties } from '../bench/contacts.ts'
import { listen } from '../stack/listen.ts'

const DUPLICATE_ONE_IN = 500

/** Starts it. The second answer follows `delayMs` after the first, even if that is less than a millisecond. */
export async function startDuplicating(names: boolean, delayMs: number) {
  const child = fork(fileURLToPath(import.meta.url), [String(names), String(delayMs)])
  const [url] = await once(child, 'message')
  return { url: url as string, stop: () => void child.disconnect() }
}

function serve(socket: Socket, names: boolean, delayMs: number): void {
  serveParties(socket, (party) => {
    const answer = answerTo(party, names)
    socket.write(answer)
    if (Math.random() * DUPLICATE_ONE_IN < 1) later(delayMs, () => socket.write(answer))
  })
}

function answerTo(party: string, names: boolean): string {
  const isKnown = party.startsWith('PTY-')
  const contact = { ...(names && { partyLocator: party }), email: `${party}@example.org`, phone: null }
  const body = isKnown ? JSON.stringify(contact) : '{"error":"not found"}'
  const status = isKnown ? '200 OK' : '404 Not Found'
  return `HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

function later(delayMs: number, act: () => void): void {
  const dueAtMs = performance.now() + delayMs
  const look = () => void (performance.now() >= dueAtMs ? act() : setImmediate(look))
  setImmediate(look)
}

if (import.meta.main) {
  const [names, delayMs] = process.argv.slice(2)
  process.once('disconnect', () => process.exit())
  const server = createServer((socket) => serve(socket, names === 'true', Number(delayMs)))
  process.send?.(`http://127.0.0.1:${await listen(server)}`)
}
