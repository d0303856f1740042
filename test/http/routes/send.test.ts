import { once } from 'node:events'
import { connect } from 'node:net'
import { finished } from 'node:stream/promises'
import t from 'tap'
import { createHttp } from '../../../src/http/server/server.ts'
import { dependencies } from '../fixture.ts'

const reject = () => Promise.reject(new Error('the database is down'))
const { all } = dependencies({ logEntries: { list: reject, get: reject } })
const http = createHttp({ ...all, host: '127.0.0.1', port: 0 })
const { url } = await http.listen()
t.teardown(() => http.close())

const ACCEPTED = '{"status":"accepted"}'

/** Opens a connection and collects all that comes back; connection errors end it like any other close. */
function open() {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const closed = finished(socket, { writable: false }).catch(() => {})
  let received = ''
  let error: Error | null = null
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
  })
  socket.on('error', (cause) => {
    error = cause
  })
  return {
    socket,
    error: () => error,
    /** Waits until a whole answer has come, and returns it. */
    answer: async () => {
      while (!received.includes(ACCEPTED) && !socket.destroyed) {
        await Promise.race([once(socket, 'data').catch(() => {}), closed])
      }
      return received
    },
    closed: async () => {
      await closed
      return received
    },
  }
}

const HEAD = 'POST /send HTTP/1.1\r\nHost: x\r\n'
const ODDITIES: readonly (readonly [string, string])[] = [
  ['no body and no content type', '\r\n'],
  ['an empty body', 'Content-Length: 0\r\nContent-Type: application/json\r\n\r\n'],
  ['a body without a content type', 'Content-Length: 3\r\n\r\nabc'],
  ['invalid JSON', 'Content-Length: 3\r\nContent-Type: application/json\r\n\r\n{"a'],
  [
    'JSON that poisons prototypes',
    'Content-Length: 16\r\nContent-Type: application/json\r\n\r\n{"__proto__":{}}',
  ],
  ['an unknown content type', 'Content-Length: 3\r\nContent-Type: image/x-unknown\r\n\r\nabc'],
  ['a malformed content type', 'Content-Length: 3\r\nContent-Type: ;;;\r\n\r\nabc'],
  ['an empty content type', 'Content-Length: 3\r\nContent-Type:\r\n\r\nabc'],
  ['a form', 'Content-Length: 3\r\nContent-Type: multipart/form-data\r\n\r\nabc'],
  [
    'a content encoding that the body does not have',
    'Content-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc',
  ],
  ['an unknown content encoding', 'Content-Length: 3\r\nContent-Encoding: nonsense\r\n\r\nabc'],
  ['a chunked body', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'],
  ['a chunked body with trailers', 'Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n'],
  ['an unknown expectation', 'Content-Length: 3\r\nExpect: the-unexpected\r\n\r\nabc'],
  ['a bad token', 'Content-Length: 0\r\nAuthorization: Bearer nonsense\r\n\r\n'],
  ['an upgrade', 'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
  ['exactly 64 kB', `Content-Length: 65536\r\n\r\n${'x'.repeat(65_536)}`],
]
for (const [what, rest] of ODDITIES) {
  t.test(`${what} is accepted, and the connection goes on`, async (t) => {
    const { socket, answer, closed } = open()
    socket.write(`${HEAD}${rest}`)
    const received = await answer()
    t.match(received, /^HTTP\/1\.1 202 Accepted\r\n/)
    t.match(received, /\r\ncontent-type: application\/json/i)
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    t.match(await closed(), /HTTP\/1\.1 200 OK/)
  })
}

t.test('Expect: 100-continue is met', async (t) => {
  const { socket, answer } = open()
  socket.write(`${HEAD}Content-Length: 3\r\nExpect: 100-continue\r\n\r\n`)
  await once(socket, 'data')
  socket.write('abc')
  t.match(await answer(), /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 202 /)
  socket.destroy()
})

t.test('a huge body is accepted early, and the connection is closed', async (t) => {
  const { socket, answer, closed } = open()
  const start = performance.now()
  socket.write(`${HEAD}Content-Length: 1000000000\r\n\r\n`)
  socket.write(Buffer.alloc(65_537))
  const received = await answer()
  t.ok(performance.now() - start < 1_900, 'without waiting for more')
  t.match(received, /^HTTP\/1\.1 202 /)
  t.match(received, /\r\nconnection: close\r\n/i)
  await closed()
  t.ok(performance.now() - start < 10_000, 'also where the client neither goes on nor closes')
})

t.test('an endless chunked body is accepted, and the connection is closed', async (t) => {
  const { socket, answer, closed } = open()
  const chunk = Buffer.concat([Buffer.from('4000\r\n'), Buffer.alloc(0x4000), Buffer.from('\r\n')])
  socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`)
  const pump = () => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.on('drain', pump)
  pump()
  t.match(await answer(), /^HTTP\/1\.1 202 /)
  await closed()
})

t.test('a client that writes all before it reads is not reset', async (t) => {
  const { socket, answer, error } = open()
  const body = Buffer.alloc(10_000_000)
  socket.pause()
  socket.write(`${HEAD}Content-Length: ${body.length}\r\n\r\n`)
  await new Promise((written) => socket.write(body, written))
  socket.resume()
  t.match(await answer(), /^HTTP\/1\.1 202 /)
  t.equal(error(), null)
})

t.test('a body that stops coming is accepted after a while', async (t) => {
  const { socket, answer, closed } = open()
  const start = performance.now()
  socket.write(`${HEAD}Content-Length: 1000\r\n\r\nabc`)
  t.match(await answer(), /^HTTP\/1\.1 202 /)
  t.ok(performance.now() - start < 10_000)
  await closed()
})

t.test('a body that breaks its framing after the answer gets no second one', async (t) => {
  const { socket, answer, closed } = open()
  socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n20000\r\n`)
  socket.write(Buffer.alloc(0x20000))
  await answer()
  socket.write('not a chunk')
  t.equal((await closed()).match(/HTTP\/1\.1/g)?.length, 1)
})

t.test('a client that goes away in the middle harms nobody', async (t) => {
  const { socket, closed } = open()
  socket.write(`${HEAD}Content-Length: 1000\r\n\r\nabc`, () => socket.resetAndDestroy())
  await closed()
  t.equal((await fetch(`${url}/send`, { method: 'POST' })).status, 202)
})
