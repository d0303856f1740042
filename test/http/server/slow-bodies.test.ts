import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { buildApp, type PublicNeeds } from '../../../src/http/public.ts'
import { startIdentityProvider } from '../../stack/identity-provider.ts'
import { until } from '../../stack/until.ts'
import { dependencies, served, tokensOf } from '../fixture.ts'

/** The limits of src/http/server/limit-requests.ts. */
const BODY_COUNT_MAX = 256
const BODY = '{"optedOutEvents":["claim.paid"]}'

const idp = await startIdentityProvider()
t.teardown(() => idp.stop())
const token = await idp.token()

/** A server that processes two requests of parties at a time. */
async function started(t: Test, overrides: Partial<PublicNeeds> = {}) {
  const { all, stored } = dependencies({ requestCountMax: 2, tokens: tokensOf(idp), ...overrides })
  const { url, port } = await served(t, all)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return {
    stored,
    port,
    put: async (party: string) =>
      (await fetch(`${url}/preferences/${party}`, { method: 'PUT', body: BODY, headers })).status,
  }
}

interface SlowClient {
  readonly socket: Socket
  /** Everything received so far. */
  answer: string
}

/** A client that has sent the first byte of its body; resolves once the server waits for the rest. */
async function slowClient(port: number, party: string, credentials = token): Promise<SlowClient> {
  const socket = connect(port, '127.0.0.1')
  const client: SlowClient = { socket, answer: '' }
  socket.on('error', () => {})
  socket.setEncoding('utf8').on('data', (text) => {
    client.answer += text
  })
  socket.write(
    `PUT /preferences/${party} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${credentials}\r\nExpect: 100-continue\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY[0]}`,
  )
  await once(socket, 'data')
  return client
}

async function slowClients(t: Test, port: number, count: number, credentials = token): Promise<SlowClient[]> {
  const clients: SlowClient[] = []
  for (let i = 0; i < count; i++) clients.push(await slowClient(port, `slow-${i}`, credentials))
  t.teardown(() => clients.forEach(({ socket }) => void socket.destroy()))
  return clients
}

const isCutOff = ({ answer }: SlowClient) => answer.includes('HTTP/1.1 408 ')

t.test('80 slow bodies take no place from complete ones', async (t) => {
  const { port, put, stored } = await started(t)
  const clients = await slowClients(t, port, 80)
  for (let i = 0; i < 30; i++) t.equal(await put(`party-${i}`), 200)
  t.notOk(clients.some(isCutOff))
  for (const { socket } of clients) socket.write(BODY.slice(1, -1))
  clients[0]?.socket.write('}')
  await until(() => stored.has('slow-0'), { what: 'a slow body to be taken once it is there' })
})

t.test('the oldest incomplete bodies are disconnected if there are too many', async (t) => {
  const { port, put, stored } = await started(t)
  const clients = await slowClients(t, port, BODY_COUNT_MAX + 10)
  await until(() => clients.filter(isCutOff).length === 10, { what: '10 clients to be cut off' })
  t.ok(clients.slice(0, 10).every(isCutOff), 'the oldest ones')
  t.match(clients[0]?.answer, /connection: close.*request-timeout/is)

  clients[10]?.socket.write(BODY.slice(1))
  await until(() => stored.has('slow-10'), { what: 'the oldest that is left to be taken' })
  t.equal(await put('party-1'), 200)
})

t.test("many bodies of one member do not cut off another's", async (t) => {
  const { port, stored } = await started(t)
  const patient = await slowClient(port, 'patient')
  const flooding = await idp.forge({ sub: 'flooding' })
  const clients = await slowClients(t, port, BODY_COUNT_MAX + 10, flooding)
  t.notOk(isCutOff(patient))
  patient.socket.write(BODY.slice(1))
  await until(() => stored.has('patient'), { what: 'the body of the other member to be taken' })
  await until(() => clients.filter(isCutOff).length === 11, { what: 'the flood to be cut off' })
})

t.test('a slow client that disconnects frees its place', async (t) => {
  const { port, stored } = await started(t)
  const patient = await slowClient(port, 'patient')
  const gone = await slowClients(t, port, BODY_COUNT_MAX - 1)
  for (const { socket } of gone) socket.resetAndDestroy()
  await Promise.all(gone.map(({ socket }) => socket.closed || once(socket, 'close')))
  await slowClients(t, port, BODY_COUNT_MAX - 1)
  patient.socket.write(BODY.slice(1))
  await until(() => stored.has('patient'), { what: 'the first body to be taken' })
})

t.test('a request with a complete body is never cut off, however long it takes', async (t) => {
  const { preferences } = dependencies().all
  const isPut = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const { port } = await started(t, {
    preferences: {
      ...preferences,
      put: async (...args) => {
        isPut.resolve()
        await go.promise
        return preferences.put(...args)
      },
    },
  })
  const client = await slowClient(port, 'party-1')
  client.socket.write(BODY.slice(1))
  await isPut.promise
  await slowClients(t, port, BODY_COUNT_MAX)
  go.resolve()
  await until(() => client.answer.includes('HTTP/1.1 200 '), { what: 'the answer' })
})

t.test('a token is checked before the body is complete', async (t) => {
  const { port } = await started(t)
  const client = await slowClient(port, 'party-1', 'nonsense')
  await until(() => client.answer.includes('HTTP/1.1 401 '), { what: 'the refusal' })
})

t.test('a client that disconnects while its token is checked frees its place', async (t) => {
  const app = buildApp(dependencies({ requestCountMax: 1 }).all)
  const checked = Promise.withResolvers<void>()
  const seen = { waiting: 0, closed: 0 }
  app.addHook('onRequest', async (_, { raw }) => {
    seen.waiting++
    raw.once('close', () => seen.closed++)
    await checked.promise
  })
  const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  t.teardown(() => app.close())
  const socket = connect(Number(url.port), url.hostname)
  socket.write('GET /preferences/party-1 HTTP/1.1\r\nHost: x\r\n\r\n')
  await until(() => seen.waiting === 1, { what: 'the request to wait' })
  socket.destroy()
  await until(() => seen.closed === 1, { what: 'the client to be gone' })
  checked.resolve()
  t.equal((await fetch(new URL('/preferences/party-1', url))).status, 404)
})
