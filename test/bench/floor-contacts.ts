import { connect } from 'node:net'

/** What was said of one party; null of one that is not known. */
export type FloorContact = { email: string | null; phone: string | null } | null

type Settle = (contact: FloorContact) => void

interface Connection {
  ask(path: string, settle: Settle): void
  close(): void
}

const READ_BYTES = 64 * 1024
const END_OF_HEAD = '\r\n\r\n'
const LENGTH_HEADER = 'content-length: '

/**
 * The least that an HTTP client can do: keep-alive, no time-outs, no headers but the mandatory one, and of an answer its
 * status, its length and its JSON. One request at a time on a connection, for pipelined ones would wait for a slow one.
 */
export function createFloorContacts(baseUrl: string, connectionCountMax: number) {
  const { hostname, port } = new URL(baseUrl)
  const waiting: { path: string; settle: Settle }[] = []
  const connections: Connection[] = []
  const idle: Connection[] = []

  function open(): Connection {
    let settle: Settle | null = null
    let unread: Buffer | null = null
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    const onread = { buffer, callback: (count: number) => receive(buffer.subarray(0, count)) }
    const socket = connect({ host: hostname, port: Number(port), noDelay: true, onread })

    function receive(part: Buffer): true {
      const bytes = unread === null ? part : Buffer.concat([unread, part])
      const answer = readAnswer(bytes)
      unread = answer === undefined ? Buffer.from(bytes) : null
      if (answer !== undefined) {
        settle?.(answer)
        idle.push(connection)
        startWaiting()
      }
      return true
    }
    const connection = {
      ask: (path: string, onAnswer: Settle) => {
        settle = onAnswer
        socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`, 'latin1')
      },
      close: () => socket.destroy(),
    }
    connections.push(connection)
    return connection
  }

  function startWaiting(): void {
    while (waiting.length > 0) {
      const connection = idle.pop() ?? (connections.length < connectionCountMax ? open() : null)
      const request = connection === null ? undefined : waiting.pop()
      if (request === undefined) return
      connection?.ask(request.path, request.settle)
    }
  }

  return {
    /** One GET for each of the parties, which are distinct. */
    lookUp: (partyLocators: readonly string[]): Promise<Map<string, FloorContact>> =>
      new Promise((resolve) => {
        const contacts = new Map<string, FloorContact>()
        if (partyLocators.length === 0) resolve(contacts)
        for (const locator of partyLocators) {
          const settle = (contact: FloorContact) => {
            contacts.set(locator, contact)
            if (contacts.size === partyLocators.length) resolve(contacts)
          }
          waiting.push({ path: `/internal/parties/${encodeURIComponent(locator)}`, settle })
        }
        startWaiting()
      }),
    close: () => {
      for (const connection of connections) connection.close()
    },
  }
}

/** Undefined while the answer is not complete. */
function readAnswer(bytes: Buffer): FloorContact | undefined {
  const headEnd = bytes.indexOf(END_OF_HEAD)
  if (headEnd === -1) return undefined
  const head = bytes.toString('latin1', 0, headEnd)
  const lengthStart = head.indexOf(LENGTH_HEADER) + LENGTH_HEADER.length
  const bodyStart = headEnd + END_OF_HEAD.length
  const bodyEnd = bodyStart + Number.parseInt(head.slice(lengthStart, lengthStart + 10), 10)
  if (bytes.length < bodyEnd) return undefined
  if (head.startsWith('HTTP/1.1 200')) return JSON.parse(bytes.toString('utf8', bodyStart, bodyEnd))
  if (head.startsWith('HTTP/1.1 404')) return null
  throw new Error(`policy administration answered ${head.slice(0, head.indexOf('\r\n'))}`)
}
