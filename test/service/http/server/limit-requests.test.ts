import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { buildApp, type PublicOptions } from '../../../../src/service/http/public.ts'
import { startIdentityProvider } from '../../../stack/identity-provider.ts'
import { until } from '../../../stack/until.ts'
import { dependencies, LISTED, served, tokensOf } from '../fixture.ts'

/** A server for two requests at a time, whose lists wait until they are released. */
async function started(t: Test) {
  const under = { way: 0, gone: 0 }
  const go = Promise.withResolvers<void>()
  const { all } = dependencies()
  const { url, port } = await served(t, {
    ...all,
    requestCountMax: 2,
    logEntries: {
      ...all.logEntries,
      list: async (filter, page, signal) => {
        under.way++
        signal.addEventListener('abort', () => under.gone++)
        await go.promise
        return all.logEntries.list(filter, page, signal)
      },
    },
  })
  return { url, port, under, go: go.resolve }
}

t.test('a list beyond the limit is refused at once; probes and opt-outs never are', async (t) => {
  const { url, under, go } = await started(t)
  const lists = [fetch(`${url}/log/list`), fetch(`${url}/log/list`)]
  await until(() => under.way === 2, { what: 'two lists to be under way' })

  const refused = await fetch(`${url}/log/list`)
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '1')
  t.match(await refused.json(), {
    detail: 'More than 2 requests of this kind are in progress. Try again later.',
  })
  for (const path of ['/healthz', '/readyz']) t.equal((await fetch(`${url}${path}`)).status, 200, path)
  const optOut = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{}' }
  t.equal((await fetch(`${url}/preferences/party-1`, optOut)).status, 200)

  go()
  for (const list of lists) t.equal((await list).status, 200)
  t.equal((await fetch(`${url}/log/list`)).status, 200, 'those before it are done')
})

t.test('a list ends when its client disconnects, and frees its place', async (t) => {
  const { url, port, under, go } = await started(t)
  const clients = [1, 2].map(() => {
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /log/list HTTP/1.1\r\nHost: x\r\n\r\n')
    return socket
  })
  await until(() => under.way === 2, { what: 'two lists to be under way' })
  for (const client of clients) {
    client.destroy()
    await once(client, 'close')
  }
  await until(() => under.gone === 2, { what: 'the lists to be told' })
  go()
  t.equal((await fetch(`${url}/log/list`)).status, 200)
})

t.test('a list that its client has not read keeps its place until the client is gone', async (t) => {
  const { all } = dependencies({ requestCountMax: 1 })
  const list = async () => ({ items: Array(50_000).fill(LISTED), next: null })
  const { url, port } = await served(t, { ...all, logEntries: { ...all.logEntries, list } })
  const lazy = connect(port, '127.0.0.1')
  lazy.write('GET /log/list HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(lazy, 'readable')
  t.equal((await fetch(`${url}/log/list`)).status, 503)
  lazy.destroy()
  await until(async () => (await fetch(`${url}/log/list`)).status === 200, { what: 'the place to be free' })
})

// A connection sends answers in the order of its requests: a waiting or unread answer delays those behind it.
t.test('answers that cannot be sent yet take no place from other parties', async (t) => {
  const ready = Promise.withResolvers<null>()
  const { all, stored } = dependencies({ requestCountMax: 2, readiness: () => ready.promise })
  const { url, port } = await served(t, all)
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  const head = 'HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n'
  const puts = ['slow-1', 'slow-2'].map((party) => `PUT /preferences/${party} ${head}{}`)
  socket.write(`GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n${puts.join('')}`)
  await until(() => stored.size === 2, { what: 'both to be stored' })

  const optOut = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{}' }
  t.equal((await fetch(`${url}/preferences/party-1`, optOut)).status, 200)
  ready.resolve(null)
})

/** A server for two requests of parties at a time, whose PUTs wait until they are released. */
async function startedWithSlowPuts(t: Test) {
  const { all, stored } = dependencies()
  const go = Promise.withResolvers<void>()
  const begun: string[] = []
  const { url, port } = await served(t, {
    ...all,
    requestCountMax: 2,
    preferences: {
      ...all.preferences,
      put: async (party, preferences, ...rest) => {
        begun.push(`${party} ${preferences.phone}`)
        if (party === 'eager') await go.promise
        return all.preferences.put(party, preferences, ...rest)
      },
    },
  })
  const put = async (party: string, phone: string, signal?: AbortSignal) => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ phone })
    return (
      await fetch(`${url}/preferences/${party}`, { method: 'PUT', headers, body, signal: signal ?? null })
    ).status
  }
  return { url, port, put, begun, stored, go: go.resolve }
}

t.test('a burst of one party is answered in turn, and holds up no other party', async (t) => {
  const { put, begun, stored, go } = await startedWithSlowPuts(t)
  const first = put('eager', '0')
  await until(() => begun.length === 1, { what: 'the first to be under way' })
  const burst = Array.from({ length: 59 }, (_, i) => put('eager', String(i + 1)))
  for (let i = 0; i < 20; i++) t.equal(await put(`party-${i}`, '1'), 200)
  t.equal(begun.filter((one) => one.startsWith('eager')).length, 1, 'one at a time')
  go()
  t.strictSame(await Promise.all([first, ...burst]), Array(60).fill(200))
  t.equal(begun.length, 80)
  t.equal(stored.size, 21)
  t.equal(await put('eager', '60'), 200)
})

t.test('a party with too many waiting requests is refused, alone', async (t) => {
  const { put, begun, go } = await startedWithSlowPuts(t)
  const first = put('eager', '0')
  await until(() => begun.length === 1, { what: 'the first to be under way' })
  const burst = Array.from({ length: 70 }, (_, i) => put('eager', String(i + 1)))
  t.equal(await Promise.race(burst), 503)
  t.equal(await put('party-1', '1'), 200)
  go()
  const answers = await Promise.all([first, ...burst])
  t.equal(answers.filter((status) => status === 503).length, 6)
  t.equal(answers.filter((status) => status === 200).length, 65)
})

t.test('a client that leaves while it waits for its turn is passed over', async (t) => {
  const { put, begun, go } = await startedWithSlowPuts(t)
  const leaving = new AbortController()
  const first = put('eager', '0', leaving.signal)
  await until(() => begun.length === 1, { what: 'the first to be under way' })
  const second = put('eager', '1', leaving.signal)
  const third = put('eager', '2')
  t.equal(await put('party-1', '1'), 200)
  leaving.abort()
  await t.rejects(first)
  await t.rejects(second)
  t.equal(await put('party-2', '1'), 200)
  t.notOk(begun.includes('eager 2'), 'the first is still being written')
  go()
  t.equal(await third, 200)
  t.notOk(begun.includes('eager 1'))
})

t.test('clients that leave while they wait take no places from those who stay', async (t) => {
  const { put, begun, go } = await startedWithSlowPuts(t)
  const first = put('eager', 'first')
  await until(() => begun.length === 1, { what: 'the first to be under way' })
  const leaving = new AbortController()
  const gone = Array.from({ length: 60 }, (_, i) => put('eager', String(i), leaving.signal))
  t.equal(await put('party-1', '1'), 200)
  leaving.abort()
  await Promise.allSettled(gone)
  t.equal(await put('party-2', '1'), 200)
  let arrivedCount = 0
  const count = () => void arrivedCount++
  subscribe('http.server.request.start', count)
  t.teardown(() => unsubscribe('http.server.request.start', count))
  const staying = Array.from({ length: 60 }, (_, i) => put('eager', `stays ${i}`))
  await until(() => arrivedCount === 60, { what: 'all that stay to arrive' })
  t.equal(await put('party-3', '1'), 200)
  go()
  t.strictSame(await Promise.all([first, ...staying]), Array(61).fill(200))
})

t.test('of pipelined requests whose connection is gone, none is begun, and none overtakes', async (t) => {
  const { port, put, begun, stored, go } = await startedWithSlowPuts(t)
  const socket = connect(port, '127.0.0.1')
  const bodies = Array.from({ length: 16 }, (_, i) => JSON.stringify({ phone: `pipelined ${i}` }))
  const head =
    'PUT /preferences/eager HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length:'
  socket.write(bodies.map((body) => `${head} ${body.length}\r\n\r\n${body}`).join(''))
  await until(() => begun.length === 1, { what: 'the first to be under way' })
  socket.resetAndDestroy()
  await once(socket, 'close')
  const last = put('eager', 'last')
  t.equal(await put('party-1', '1'), 200)
  go()
  t.equal(await last, 200)
  t.strictSame(begun, ['eager pipelined 0', 'party-1 1', 'eager last'])
  t.equal(stored.get('eager')?.phone, 'last')
})

t.test('pipelined lists whose connection is gone leave no place taken', async (t) => {
  const { url, port, under, go } = await started(t)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /log/list HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2))
  await until(() => under.way === 2, { what: 'two lists to be under way' })
  socket.resetAndDestroy()
  await until(() => under.gone === 2, { what: 'both to be told' })
  go()
  await until(async () => (await fetch(`${url}/log/list`)).status === 200, { what: 'a place' })
})

/** A limit of src/service/http/server/limit-requests.ts. */
const BODY_COUNT_MAX = 256
const BODY = '{"optedOutEvents":["claim.paid"]}'

const idp = await startIdentityProvider()
t.teardown(() => idp.stop())
const token = await idp.token()

/** A server that processes two requests of parties at a time. */
async function startedWithTokens(t: Test, overrides: Partial<PublicOptions> = {}) {
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
  const { port, put, stored } = await startedWithTokens(t)
  const clients = await slowClients(t, port, 80)
  for (let i = 0; i < 30; i++) t.equal(await put(`party-${i}`), 200)
  t.notOk(clients.some(isCutOff))
  for (const { socket } of clients) socket.write(BODY.slice(1, -1))
  clients[0]?.socket.write('}')
  await until(() => stored.has('slow-0'), { what: 'a slow body to be taken once it is there' })
})

t.test('the oldest incomplete bodies are disconnected if there are too many', async (t) => {
  const { port, put, stored } = await startedWithTokens(t)
  const clients = await slowClients(t, port, BODY_COUNT_MAX + 10)
  await until(() => clients.filter(isCutOff).length === 10, { what: '10 clients to be cut off' })
  t.ok(clients.slice(0, 10).every(isCutOff), 'the oldest ones')
  t.match(clients[0]?.answer, /connection: close.*request-timeout/is)

  clients[10]?.socket.write(BODY.slice(1))
  await until(() => stored.has('slow-10'), { what: 'the oldest that is left to be taken' })
  t.equal(await put('party-1'), 200)
})

t.test("many bodies of one member do not cut off another's", async (t) => {
  const { port, stored } = await startedWithTokens(t)
  const patient = await slowClient(port, 'patient')
  const flooding = await idp.forge({ sub: 'flooding' })
  const clients = await slowClients(t, port, BODY_COUNT_MAX + 10, flooding)
  t.notOk(isCutOff(patient))
  patient.socket.write(BODY.slice(1))
  await until(() => stored.has('patient'), { what: 'the body of the other member to be taken' })
  await until(() => clients.filter(isCutOff).length === 11, { what: 'the flood to be cut off' })
})

t.test('a slow client that disconnects frees its place', async (t) => {
  const { port, stored } = await startedWithTokens(t)
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
  const { port } = await startedWithTokens(t, {
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
  const { port } = await startedWithTokens(t)
  const client = await slowClient(port, 'party-1', 'nonsense')
  await until(() => client.answer.includes('HTTP/1.1 401 '), { what: 'the refusal' })
})

t.test('a client that leaves while its token is checked frees its place, and nothing is read', async (t) => {
  const { all } = dependencies({ requestCountMax: 1 })
  const read: string[] = []
  const get: typeof all.preferences.get = (party) => {
    read.push(party)
    return all.preferences.get(party)
  }
  const app = buildApp({ ...all, preferences: { ...all.preferences, get } })
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
  t.equal((await fetch(new URL('/preferences/party-2', url))).status, 404)
  t.strictSame(read, ['party-2'])
})
