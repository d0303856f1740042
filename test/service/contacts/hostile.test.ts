import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { clientOf, json, locators, serve, serveTcp } from './server.ts'

const WRONG_PARTY = 'policy administration answered for another party'
const NOT_FOUND = 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'
const REQUEST = /^GET \/internal\/parties\/(\S+) HTTP\/1\.1\r\n/

interface Asked {
  readonly party: string
  readonly socket: Socket
  readonly write: (...parts: (Buffer | string)[]) => void
  /** Number of the request on its connection, from 0. */
  readonly index: number
}

/** A raw server: the test writes the answer to each request. */
function serveByHand(t: Test, answer: (asked: Asked) => void): Promise<string> {
  return serveTcp(t, (socket) => {
    let index = 0
    socket.setNoDelay().setEncoding('latin1')
    const write = (...parts: (Buffer | string)[]) =>
      void socket.write(Buffer.concat(parts.map((part) => Buffer.from(part))))
    socket.on('data', (part) =>
      answer({ party: REQUEST.exec(String(part))?.[1] ?? '', socket, write, index: index++ }),
    )
  })
}

function bodyOf(party: string, email = `${party}@example.org`): string {
  return JSON.stringify({ partyLocator: party, email })
}

function answerOf(party: string, body: string | Buffer = bodyOf(party), header = ''): Buffer {
  const head = `HTTP/1.1 200 OK\r\n${header}content-length: ${Buffer.byteLength(body)}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), Buffer.from(body)])
}

/** The parties that got another party's address. */
function misled(contacts: ReadonlyMap<string, object>): string[] {
  return [...contacts]
    .filter(([party, contact]) => 'email' in contact && contact.email !== `${party}@example.org`)
    .map(([party]) => party)
}

const ODDITIES: Record<string, (asked: Asked, before: string) => void> = {
  late: async ({ write, party }) => {
    await delay(30)
    write(answerOf(party))
  },
  'twice at once': ({ write, party }) => write(answerOf(party), answerOf(party)),
  'shifted by one': ({ write, party }, before) => write(answerOf(before), answerOf(party)),
  'behind a 404 of before': ({ write, party, index }) => write(index > 0 ? NOT_FOUND : '', answerOf(party)),
  'for another party': ({ write }, before) => write(answerOf(before)),
  truncated: ({ socket, party }) => socket.end(answerOf(party).subarray(0, -5)),
  'without an end': ({ write, party }) => write(answerOf(party).subarray(0, -5)),
  'cut in its head': ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-'),
  'longer than it says': ({ write, party }) => write(answerOf(party), '}{'),
  huge: ({ write, party }) => write(answerOf(party, bodyOf(party, 'x'.repeat(100_000)))),
  'with a huge head': ({ write, party }) =>
    write(answerOf(party, bodyOf(party), `x: ${'x'.repeat(100_000)}\r\n`)),
  'with two lengths': ({ write, party }) => write(answerOf(party, bodyOf(party), 'content-length: 1\r\n')),
  'in bad chunks': ({ write }) => write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n'),
  gzip: ({ write, party }) => write(answerOf(party, gzipSync(bodyOf(party)), 'content-encoding: gzip\r\n')),
  deflate: ({ write, party }) =>
    write(answerOf(party, deflateSync(bodyOf(party)), 'content-encoding: deflate\r\n')),
  brotli: ({ write, party }) =>
    write(answerOf(party, brotliCompressSync(bodyOf(party)), 'content-encoding: br\r\n')),
  latin1: ({ write, party }) => write(answerOf(party, Buffer.from(bodyOf(party, 'é@example.org'), 'latin1'))),
  'UTF-16': ({ write, party }) => write(answerOf(party, Buffer.from(`\ufeff${bodyOf(party)}`, 'utf16le'))),
  'of HTTP/2': ({ write }) => write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])),
  'as an interim one': ({ write, party }) => write('HTTP/1.1 100 Continue\r\n\r\n', answerOf(party)),
  'as an upgrade': ({ write }) =>
    write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  reset: ({ socket }) => socket.resetAndDestroy(),
}

t.jobs = 8
// With many defects a look-up would wait without end.
t.setTimeout(90_000)

for (const [oddity, answerOddly] of Object.entries(ODDITIES)) {
  t.test(`answers that arrive ${oddity} mislead nobody`, async (t) => {
    let before = 'PTY-before'
    const url = await serveByHand(t, (asked) => {
      if (asked.party.startsWith('odd')) answerOddly(asked, before)
      else asked.write(answerOf(asked.party))
      before = asked.party
    })
    const { client } = clientOf(t, url, { connectionCountMax: 2, deadlineMs: 4_000 })
    const parties = Array.from({ length: 60 }, (_, i) => (i % 6 === 3 ? `odd-${i}` : `PTY-${i}`))
    const contacts = await client.lookUp(parties)
    t.strictSame(misled(contacts), [])
    for (const [party, { state }] of contacts) t.not(state, 'not found', party)
    t.match((await client.lookUp(['PTY-last'])).get('PTY-last'), { email: 'PTY-last@example.org' })
  })
}

const unnamed = (party: string) => answerOf(party).toString().replace('partyLocator', 'partyAccount')

t.test('a second answer on an idle connection does not count as the next one', async (t) => {
  const sockets = new Set<Socket>()
  const url = await serveByHand(t, ({ party, socket }) => {
    sockets.add(socket)
    socket.write(unnamed(party))
  })
  const { client } = clientOf(t, url, { connectionCountMax: 1 })
  await client.lookUp(['a'])
  const [first] = sockets
  first?.write(unnamed('a'))
  await once(first as Socket, 'close')
  t.match((await client.lookUp(['b'])).get('b'), { email: 'b@example.org' })
  t.equal(sockets.size, 2)
})

t.test('the connection of an odd answer is not used again', async (t) => {
  const indexes: Record<string, number> = {}
  const url = await serveByHand(t, ({ party, write, index }) => {
    indexes[party] = index
    write(answerOf(party, party === 'garbled' ? '<html>' : bodyOf(party === 'wrong' ? 'a' : party)))
  })
  const { client } = clientOf(t, url, { connectionCountMax: 1 })
  const contacts = await client.lookUp(['a', 'wrong', 'b', 'garbled', 'c'])
  t.strictSame(contacts.get('wrong'), {
    state: 'unresolved',
    error: WRONG_PARTY,
    codes: ['WRONG_PARTY'],
    costsNoAttempt: false,
    wrongParty: true,
  })
  t.strictSame(indexes, { a: 0, wrong: 1, b: 0, garbled: 1, c: 0 })
})

t.test('an answer whose locator differs only in capitals says so', async (t) => {
  const url = await serveByHand(t, ({ party, write }) => write(answerOf(party, bodyOf(party.toUpperCase()))))
  const { client } = clientOf(t, url)
  t.match((await client.lookUp(['pty-1'])).get('pty-1'), {
    state: 'unresolved',
    error: `${WRONG_PARTY}, whose locator differs only in capitals`,
    wrongParty: true,
  })
})

t.test('a 404 that names nobody counts only as the first answer of its connection', async (t) => {
  const indexes: number[] = []
  const url = await serveByHand(t, ({ party, write, index }) => {
    if (party !== 'gone') return write(answerOf(party))
    indexes.push(index)
    write(NOT_FOUND)
  })
  const { client } = clientOf(t, url, { connectionCountMax: 1 })
  const contacts = await client.lookUp(['a', 'gone', 'b'])
  t.strictSame(contacts.get('gone'), { state: 'not found' })
  t.match(contacts.get('b'), { state: 'found' })
  t.strictSame(indexes, [1, 0])
})

t.test('a connection that closes before its answer is replaced, even a new one', async (t) => {
  let closedCount = 0
  let newCount = 0
  const url = await serveByHand(t, ({ party, socket, write, index }) => {
    const closes = index === 0 ? newCount++ % 2 === 1 : index % 3 === 0
    if (!closes) return write(answerOf(party))
    closedCount++
    socket.resetAndDestroy()
  })
  const { client } = clientOf(t, url, { connectionCountMax: 1 })
  const contacts = await client.lookUp(locators(60))
  for (const [party, contact] of contacts) t.match(contact, { email: `${party}@example.org` })
  t.ok(closedCount > 20)
})

t.test('the name is compared character by character, also in a 404', async (t) => {
  const names: Record<string, unknown> = {
    'PTY-0': 'pty-0',
    'PTY-1': 'PTY-1 ',
    'PTY-2': 'PTY-2',
    'PTY-3': 3,
    æ: 'æ',
  }
  const server = await serve(t, (request, response) => {
    const party = decodeURIComponent(request.url?.split('/').pop() ?? '')
    if (party.startsWith('gone')) response.statusCode = 404
    json(response, { locator: party === 'gone-1' ? 'gone-2' : (names[party] ?? party), email: null })
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 1 })
  const contacts = await client.lookUp([...Object.keys(names), 'gone-1', 'gone-3'])
  const states = Object.fromEntries([...contacts].map(([party, { state }]) => [party, state]))
  t.strictSame(states, {
    'PTY-0': 'unresolved',
    'PTY-1': 'unresolved',
    'PTY-2': 'found',
    'PTY-3': 'found',
    æ: 'found',
    'gone-1': 'unresolved',
    'gone-3': 'not found',
  })
  t.equal(server.targets.length, 7, 'a 404 that names its party needs no second one')
})

t.test('the place of the name is configurable, and the client says whether it found one', async (t) => {
  const server = await serve(t, (request, response) => {
    const party = request.url?.split('/').pop()
    json(response, { locator: 'CONTACT-1', of: { party: party === 'PTY-1' ? 'PTY-2' : party }, email: null })
  })
  const { client } = clientOf(t, server.url, { echo: ['/of/party'] })
  t.equal(client.namesParty(), null)
  const contacts = await client.lookUp(locators(2))
  t.match(contacts.get('PTY-0'), { state: 'found' })
  t.match(contacts.get('PTY-1'), { state: 'unresolved', error: WRONG_PARTY })
  t.equal(client.namesParty(), true)
  const { client: unchecked } = clientOf(t, server.url, { echo: [] })
  t.match((await unchecked.lookUp(['PTY-1'])).get('PTY-1'), { state: 'found' })
  t.equal(unchecked.namesParty(), false)
})
