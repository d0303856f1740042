import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { buildApp } from '../../../../src/service/http/public.ts'
import { serve } from '../../../../src/service/http/server/server.ts'
import { listen } from '../../../stack/listen.ts'
import { dependencies, ENTRY, served } from '../fixture.ts'

// The slowest tests wait for a timeout of 15 s.
t.jobs = 4

const onAddress = (host: string, port = 0) => serve(buildApp(dependencies().all), { host, port })

/** Sends bytes and returns everything received until the server closes the connection. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytes)
  return text(socket)
}

t.test('listens on a free port and returns its address', async (t) => {
  const { http, url } = await served(t)
  t.equal((await fetch(`${url}/healthz`)).status, 200)
  await http.close()
  await t.rejects(fetch(`${url}/healthz`))
})

for (const [host, expected] of [
  ['0.0.0.0', /^http:\/\/127\.0\.0\.1:\d+$/],
  ['localhost', /^http:\/\/(127\.0\.0\.1|\[::1\]):\d+$/],
] as const) {
  t.test(`on ${host} it returns an address that clients can open`, async (t) => {
    const http = onAddress(host)
    t.teardown(() => http.close())
    const url = await http.listen()
    t.match(url, expected)
    t.equal((await fetch(`${url}/healthz`)).status, 200)
  })
}

t.test('a port in use is an error that names it and the remedy', async (t) => {
  const other = createServer()
  t.teardown(() => other.close())
  const port = await listen(other)
  const http = onAddress('127.0.0.1', port)
  await t.rejects(http.listen(), {
    message: `cannot listen on 127.0.0.1 port ${port}: the port is in use: stop the process that uses it, or set PORT to a free one`,
  })
  await http.close()
})

t.test('closing lets a running request finish and closes idle connections at once', async (t) => {
  const underWay = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const { all } = dependencies()
  const { http, url, port } = await served(t, {
    ...all,
    logEntries: {
      ...all.logEntries,
      get: async () => {
        underWay.resolve()
        await goOn.promise
        return ENTRY
      },
    },
  })
  const idle = connect(port, '127.0.0.1')
  idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(idle, 'data')
  const unused = connect(port, '127.0.0.1')
  await once(unused, 'connect')
  // After a round trip the server has accepted that connection as well.
  await fetch(`${url}/healthz`)

  const answer = fetch(`${url}/log/${ENTRY.locator}`)
  await underWay.promise
  const closed = http.close()
  await Promise.all([once(idle, 'close'), once(unused.resume(), 'close')])
  await t.rejects(fetch(`${url}/healthz`), 'no new connection is accepted')
  goOn.resolve()
  t.equal((await answer).status, 200)
  await closed
})

t.test('closing ends requests that do not finish in time', async (t) => {
  const underWay = Promise.withResolvers<void>()
  const { all } = dependencies()
  const { http, url } = await served(t, {
    ...all,
    logEntries: {
      ...all.logEntries,
      get: () => {
        underWay.resolve()
        return new Promise(() => {})
      },
    },
  })
  const answer = t.rejects(fetch(`${url}/log/${ENTRY.locator}`))
  await underWay.promise
  await http.close(100)
  await answer
})

const MALFORMED: readonly (readonly [string, string, number])[] = [
  ['no HTTP at all', 'hello\r\n\r\n', 400],
  [
    'two different lengths',
    'POST /send HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    400,
  ],
  ['a request without a host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  [
    'a request with two hosts',
    'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n',
    400,
  ],
  ['headers of 20 kB', `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Big: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ['headers of 140 kB', `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Big: ${'x'.repeat(140_000)}\r\n\r\n`, 431],
  ['a URL of 20 kB', `GET /log/list?partyLocator=${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
]
for (const [what, bytes, status] of MALFORMED) {
  t.test(`${what} gets a problem, and the connection is closed`, async (t) => {
    const { port } = await served(t)
    const [head, body] = (await exchange(port, bytes)).split('\r\n\r\n')
    t.match(head, new RegExp(`^HTTP/1\\.1 ${status} `))
    t.match(head, /\r\nContent-Type: application\/problem\+json/i)
    t.equal(JSON.parse(body ?? '').status, status)
  })
}

/** Node cuts off after 60 s by default. */
const CUT_OFF_MS_MAX = 50_000

/** Sends this text, then one byte ten times a second; returns everything received until the server closed. */
async function dribble(t: Test, start: string): Promise<{ answer: string; elapsedMs: number }> {
  const { port } = await served(t)
  const begun = performance.now()
  const socket = connect(port, '127.0.0.1')
  socket.write(start)
  const timer = setInterval(() => socket.write('x'), 100)
  socket.once('close', () => clearInterval(timer))
  socket.once('end', () => clearInterval(timer))
  const answer = await text(socket)
  return { answer, elapsedMs: performance.now() - begun }
}

t.test('headers that never end get a 408', async (t) => {
  const { answer, elapsedMs } = await dribble(t, 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ')
  t.match(answer, /^HTTP\/1\.1 408 /)
  t.match(answer, 'application/problem+json')
  t.ok(elapsedMs < CUT_OFF_MS_MAX, `${Math.round(elapsedMs)} ms`)
})

t.test('a body that never ends gets a 408', async (t) => {
  const head =
    'PUT /preferences/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n'
  const { answer, elapsedMs } = await dribble(t, head)
  t.match(answer, /^HTTP\/1\.1 408 /)
  t.match(answer, 'application/problem+json')
  t.equal(answer.match(/HTTP\/1\.1/g)?.length, 1, 'and nothing after it')
  t.ok(elapsedMs < CUT_OFF_MS_MAX, `${Math.round(elapsedMs)} ms`)
})
