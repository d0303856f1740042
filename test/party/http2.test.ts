import { readFile } from 'node:fs/promises'
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import { createServer as createOldServer } from 'node:https'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t, { type Test } from 'tap'
import { makeCertificates } from '../stack/certificates.ts'
import { clientOf, locators } from './server.ts'

const certificates = await makeCertificates()
t.teardown(certificates.remove)
setDefaultCACertificates([...getCACertificates(), await readFile(certificates.ca, 'utf8')])

async function serveTls(
  t: Test,
  handle: (party: string, response: Http2ServerResponse) => void,
): Promise<{ url: string; versions: string[]; sessionCount: () => number; server: Http2SecureServer }> {
  const versions: string[] = []
  let sessionCount = 0
  const { cert, key } = certificates
  const server = createSecureServer(
    { cert, key, allowHTTP1: true },
    (request: Http2ServerRequest, response) => {
      versions.push(request.httpVersion)
      handle(request.url.split('/').pop() ?? '', response)
    },
  )
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session) => {
    sessionCount++
    sessions.add(session)
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  t.teardown(() => {
    for (const session of sessions) session.destroy()
    server.close()
  })
  const url = `https://localhost:${(server.address() as AddressInfo).port}`
  return { url, versions, sessionCount: () => sessionCount, server }
}

const later = (act: () => void) => void setTimeout(act, Math.random() * 20)

t.test(
  'over HTTP/2 many share a connection, and each answer is its request’s in whatever order they come',
  async (t) => {
    const server = await serveTls(t, (party, response) =>
      later(() => {
        response.statusCode = party.endsWith('7') ? 404 : 200
        response.end(JSON.stringify({ email: `${party}@example.org` }))
      }),
    )
    const { client } = clientOf(t, server.url, { connectionCountMax: 4, pipeliningMax: 16 })
    const parties = locators(500)
    const contacts = await client.lookUp(parties)
    t.equal(contacts.size, 500)
    for (const party of parties) {
      t.strictSame(
        contacts.get(party),
        party.endsWith('7')
          ? { state: 'not found' }
          : { state: 'found', email: `${party}@example.org`, phone: null },
      )
    }
    t.equal(client.naming(), 'HTTP/2')
    t.strictSame([...new Set(server.versions)], ['2.0'])
    t.equal(server.versions.length, 500, 'a 404 needs no second one')
    t.ok(server.sessionCount() <= 4)
  },
)

t.test('over HTTP/2 one that hangs costs itself alone', async (t) => {
  const server = await serveTls(t, (party, response) => {
    if (party !== 'PTY-3') response.end(JSON.stringify({ email: null }))
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 1, pipeliningMax: 8, deadlineMs: 3_000 })
  const contacts = await client.lookUp(locators(8))
  t.match(contacts.get('PTY-3'), { state: 'unresolved', error: /did not answer within 3 s/ })
  t.equal([...contacts.values()].filter(({ state }) => state === 'found').length, 7)
  t.match((await client.lookUp(['PTY-1'])).get('PTY-1'), { state: 'found' })
})

t.test('a session that the server ends leaves nobody without an answer', async (t) => {
  let count = 0
  const server = await serveTls(t, (party, response) => {
    if (++count === 20) response.stream.session?.destroy()
    else response.end(JSON.stringify({ email: `${party}@example.org` }))
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 2, pipeliningMax: 8 })
  const contacts = await client.lookUp(locators(100))
  t.equal(contacts.size, 100)
  for (const [party, contact] of contacts) {
    if (contact.state === 'found') t.equal(contact.email, `${party}@example.org`)
    else t.equal(contact.state, 'unresolved')
  }
  t.match((await client.lookUp(['a'])).get('a'), { email: 'a@example.org' })
})

/** What stands between client and server: its connections can go dead, and to another server. */
async function serveFront(t: Test, url: string) {
  let target = Number(new URL(url).port)
  const pairs: { ends: Socket[]; isDead: boolean }[] = []
  const server = createServer((near) => {
    const far = connect(target)
    const pair = { ends: [near, far], isDead: false }
    pairs.push(pair)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (bytes) => !pair.isDead && to.write(bytes))
      from.on('error', () => {})
      from.on('close', () => to.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const cut = () => {
    for (const { ends } of pairs) for (const socket of ends) socket.destroy()
  }
  t.teardown(() => {
    cut()
    server.close()
  })
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    /** Its connections are lost, and the next ones are to another server. */
    moveTo: (port: number) => {
      target = port
      cut()
    },
    goDead: () => {
      for (const pair of pairs) pair.isDead = true
    },
  }
}

t.test('a connection over HTTP/2 that went dead is not used again', async (t) => {
  const server = await serveTls(t, (party, response) =>
    response.end(JSON.stringify({ email: `${party}@example.org` })),
  )
  const front = await serveFront(t, server.url)
  const { client } = clientOf(t, front.url, { connectionCountMax: 2, deadlineMs: 3_000 })
  t.match(await client.lookUp(['a']), new Map([['a', { state: 'found' }]]))
  front.goDead()
  t.match(await client.lookUp(['b']), new Map([['b', { state: 'unresolved' }]]))
  t.match(await client.lookUp(['c']), new Map([['c', { state: 'found' }]]))
})

t.test('what is sent as a stream and answered over HTTP/1.1 counts as little as there', async (t) => {
  const server = await serveTls(t, (party, response) =>
    response.end(JSON.stringify({ email: `${party}@example.org` })),
  )
  const asked = new Map<string, Set<unknown>>()
  const old = createOldServer({ cert: certificates.cert, key: certificates.key }, (request, response) => {
    const party = request.url?.split('/').pop() ?? ''
    asked.set(party, (asked.get(party) ?? new Set()).add(request.socket))
    response.statusCode = party === 'gone' ? 404 : 200
    response.end(JSON.stringify({ email: `${party}@example.org` }))
  })
  await new Promise<void>((resolve) => old.listen(0, resolve))
  t.teardown(() => {
    old.close()
    old.closeAllConnections()
  })
  const front = await serveFront(t, server.url)
  const { client } = clientOf(t, front.url, { connectionCountMax: 1, pipeliningMax: 8 })
  await client.lookUp(['a'])
  t.equal(client.naming(), 'HTTP/2')
  front.moveTo((old.address() as AddressInfo).port)
  // Until the client has noticed, so that it sends nothing on what is lost; it tells nobody.
  await delay(50)
  const contacts = await client.lookUp(['gone', 'b'])
  t.match(contacts.get('gone'), { state: 'not found' })
  t.match(contacts.get('b'), { email: 'b@example.org' })
  t.equal(client.naming(), 'unnamed')
  t.strictSame(
    [...asked].map(([party, sockets]) => [party, sockets.size]),
    [
      ['gone', 2],
      ['b', 2],
    ],
    'each is asked for again on a connection of its own',
  )
})
