import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { pino } from 'pino'
import type { Test } from 'tap'
import { createPartyClient } from '../../../src/service/contacts/client.ts'
import type { PartyClientOptions } from '../../../src/service/contacts/connection.ts'
import { close, listen } from '../../stack/listen.ts'
import { ADDRESS_PLACES } from '../build.ts'

export interface TestServer {
  readonly url: string
  /** Request targets in order of arrival. */
  readonly targets: string[]
  readonly connectionCount: () => number
  readonly openConnectionCount: () => number
  readonly inFlightCountMax: () => number
}

/** A real HTTP server for one test, closed with it. */
export async function serve(
  t: Test,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<TestServer> {
  const targets: string[] = []
  const open = new Set<Socket>()
  let connectionCount = 0
  let inFlightCount = 0
  let inFlightCountMax = 0
  const server = createServer((request, response) => {
    targets.push(request.url ?? '')
    inFlightCountMax = Math.max(inFlightCountMax, ++inFlightCount)
    // Before the last byte leaves, so that a waiting client is never counted twice.
    response.once('prefinish', () => inFlightCount--)
    handle(request, response)
  })
  server.on('connection', (socket) => {
    connectionCount++
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  t.teardown(() => close(server))
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    targets,
    connectionCount: () => connectionCount,
    openConnectionCount: () => open.size,
    inFlightCountMax: () => inFlightCountMax,
  }
}

/** A TCP server that is no HTTP server. */
export async function serveTcp(t: Test, handle: (socket: Socket) => void): Promise<string> {
  const open = new Set<Socket>()
  const server = createTcpServer((socket) => {
    open.add(socket)
    socket.on('error', () => {})
    handle(socket)
  })
  t.teardown(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return `http://127.0.0.1:${await listen(server)}`
}

export function clientOf(t: Test, url: string, options: Partial<PartyClientOptions> = {}) {
  const lines: { level: number; msg: string }[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const client = createPartyClient({
    baseUrl: url,
    connectionCountMax: 64,
    echo: ['/partyLocator', '/locator'],
    addresses: ADDRESS_PLACES,
    deadlineMs: 15_000,
    tlsFiles: {},
    isProxied: false,
    credential: null,
    log,
    ...options,
  })
  t.teardown(() => client.close())
  return { client, lines }
}

export function locators(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `PTY-${index}`)
}

export function json(response: ServerResponse, body: unknown): void {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
}
