import { connect } from 'node:net'

/** What was said of one party; null of one that is not known. */
export type FloorContact = { partyLocator?: string; email: string | null; phone: string | null } | null

interface LookUp {
  readonly locator: string
  readonly settle: (contact: FloorContact) => void
}

interface Connection {
  ask(lookUps: readonly LookUp[]): void
  close(): void
}

const READ_BYTES = 64 * 1024
const END_OF_HEAD = '\r\n\r\n'
const LENGTH_HEADER = 'content-length: '

/**
 * The least that an HTTP client can do: keep-alive, no time-outs, no headers but the mandatory one, and of an answer its
 * status, its length, its JSON and, where several requests share a connection, the party that it names.
 */
export function createFloorContacts(baseUrl: string, connectionCountMax: number, pipelining: number) {
  const { hostname, port } = new URL(baseUrl)
  const waiting: LookUp[] = []
  const connections: Connection[] = []
  const idle: Connection[] = []

  function open(): Connection {
    let asked: readonly LookUp[] = []
    let answeredCount = 0
    let unread: Buffer | null = null
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    const onread = { buffer, callback: (count: number) => receive(buffer.subarray(0, count)) }
    const socket = connect({ host: hostname, port: Number(port), noDelay: true, onread })

    function receive(part: Buffer): true {
      let bytes = unread === null ? part : Buffer.concat([unread, part])
      for (let answer = readAnswer(bytes); answer !== null; answer = readAnswer(bytes)) {
        const { locator, settle } = asked[answeredCount++] as LookUp
        const { contact, end } = answer
        if (pipelining > 1 && contact !== null && contact.partyLocator !== locator)
          throw new Error('another party')
        bytes = bytes.subarray(end)
        settle(contact)
      }
      unread = bytes.length === 0 ? null : Buffer.from(bytes)
      if (answeredCount === asked.length) {
        idle.push(connection)
        startWaiting()
      }
      return true
    }
    const connection = {
      ask: (lookUps: readonly LookUp[]) => {
        asked = lookUps
        answeredCount = 0
        const requests = lookUps.map(
          ({ locator }) =>
            `GET /internal/parties/${encodeURIComponent(locator)} HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`,
        )
        socket.write(requests.join(''), 'latin1')
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
      const freeCount = idle.length + 1 + connectionCountMax - connections.length
      connection.ask(waiting.splice(-Math.min(pipelining, Math.ceil(waiting.length / freeCount))))
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
          waiting.push({ locator, settle })
        }
        startWaiting()
      }),
    close: () => {
      for (const connection of connections) connection.close()
    },
  }
}

/** Null while the answer is not complete. */
function readAnswer(bytes: Buffer): { contact: FloorContact; end: number } | null {
  const headEnd = bytes.indexOf(END_OF_HEAD)
  if (headEnd === -1) return null
  const head = bytes.toString('latin1', 0, headEnd)
  const lengthStart = head.indexOf(LENGTH_HEADER) + LENGTH_HEADER.length
  const bodyStart = headEnd + END_OF_HEAD.length
  const end = bodyStart + Number.parseInt(head.slice(lengthStart, lengthStart + 10), 10)
  if (bytes.length < end) return null
  if (head.startsWith('HTTP/1.1 200'))
    return { contact: JSON.parse(bytes.toString('utf8', bodyStart, end)), end }
  if (head.startsWith('HTTP/1.1 404')) return { contact: null, end }
  throw new Error(`policy administration answered ${head.slice(0, head.indexOf('\r\n'))}`)
}
