import { connect } from 'node:net'

/** The answer about one party; null if it is unknown. */
export type FloorContact = { partyLocator?: string; email: string | null; phone: string | null } | null

interface LookUp {
  readonly locator: string
  readonly settle: (contact: FloorContact) => void
}

interface Connection {
  ask(lookUp: LookUp): void
  close(): void
}

const READ_BYTES = 64 * 1024
const END_OF_HEAD = '\r\n\r\n'
const LENGTH_HEADER = 'content-length: '

/** A minimal HTTP client: keep-alive, no timeouts, only the mandatory header; reads status, length and JSON. */
export function createFloorContacts(baseUrl: string, connectionCountMax: number) {
  const { hostname, port } = new URL(baseUrl)
  const waiting: LookUp[] = []
  const connections: Connection[] = []
  const idle: Connection[] = []

  function open(): Connection {
    let asked: LookUp | null = null
    let unread: Buffer | null = null
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    const onread = { buffer, callback: (count: number) => receive(buffer.subarray(0, count)) }
    const socket = connect({ host: hostname, port: Number(port), noDelay: true, onread })

    function receive(part: Buffer): true {
      const bytes = unread === null ? part : Buffer.concat([unread, part])
      const answer = readAnswer(bytes)
      unread = answer === null ? Buffer.from(bytes) : null
      if (answer !== null) {
        asked?.settle(answer.contact)
        idle.push(connection)
        startWaiting()
      }
      return true
    }
    const connection = {
      ask: (lookUp: LookUp) => {
        asked = lookUp
        const path = `/internal/parties/${encodeURIComponent(lookUp.locator)}`
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
      if (connection === null) return
      connection.ask(waiting.pop() as LookUp)
    }
  }

  return {
    /** Sends one GET for each of these distinct parties. */
    lookUp: (partyLocators: readonly string[]): Promise<Map<string, FloorContact>> =>
      new Promise((resolve) => {
        const contacts = new Map<string, FloorContact>()
        if (partyLocators.length === 0) resolve(contacts)
        for (const locator of partyLocators) {
          const settle = (contact: FloorContact) => {
            contacts.set(locator, contact)
            if (contacts.size === partyLocators.length) resolve(contacts)
          }
          waiting.push({ locator, settle })
        }
        startWaiting()
      }),
    close: () => {
      for (const connection of connections) connection.close()
    },
  }
}

/** Null if the answer is incomplete. */
function readAnswer(bytes: Buffer): { contact: FloorContact } | null {
  const headEnd = bytes.indexOf(END_OF_HEAD)
  if (headEnd === -1) return null
  const head = bytes.toString('latin1', 0, headEnd)
  const lengthStart = head.indexOf(LENGTH_HEADER) + LENGTH_HEADER.length
  const bodyStart = headEnd + END_OF_HEAD.length
  const end = bodyStart + Number.parseInt(head.slice(lengthStart, lengthStart + 10), 10)
  if (bytes.length < end) return null
  if (head.startsWith('HTTP/1.1 200')) return { contact: JSON.parse(bytes.toString('utf8', bodyStart, end)) }
  if (head.startsWith('HTTP/1.1 404')) return { contact: null }
  throw new Error(`policy administration answered ${head.slice(0, head.indexOf('\r\n'))}`)
}
