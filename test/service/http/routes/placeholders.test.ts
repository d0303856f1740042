import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { until } from '../../../stack/until.ts'
import { documentedApp } from '../documented.ts'
import { dependencies, served } from '../fixture.ts'

const reject = () => Promise.reject(new Error('the database is down'))
const { all } = dependencies({ preferences: { list: reject, get: reject, put: reject } })
const app = documentedApp(all)
t.teardown(() => app.close())
const { url, port } = await served(t, all)
const open = () => connect(port, '127.0.0.1')

const HEAD = 'POST /send HTTP/1.1\r\nHost: x\r\n'
const BODIES: readonly (readonly [string, string])[] = [
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
  ['a body of 10 MB', `Content-Length: 10000000\r\n\r\n${'x'.repeat(10_000_000)}`],
]

for (const [what, rest] of BODIES) {
  t.test(`${what} is accepted, and the connection stays usable`, async (t) => {
    const socket = open()
    socket.write(`${HEAD}${rest}`)
    let answers = ''
    socket.setEncoding('latin1').on('data', (data: string) => {
      answers += data
    })
    await once(socket, 'data')
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    await once(socket, 'close')
    const [, accepted = '', healthy = ''] = answers.split('HTTP/1.1 ')
    t.match(accepted, /^202 Accepted\r\n/)
    t.match(accepted, /\r\ncontent-type: application\/json; charset=utf-8\r\n/i)
    t.match(accepted, /\r\n\r\n\{"status":"accepted"\}$/)
    t.match(healthy, /^200 OK/)
  })
}

t.test('an upgrade is accepted, and ignored: the connection is closed after the answer', async (t) => {
  const socket = open()
  socket.write(`${HEAD}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
  let answers = ''
  socket.setEncoding('latin1').on('data', (data: string) => {
    answers += data
  })
  await once(socket, 'close')
  t.match(answers, /^HTTP\/1\.1 202 Accepted\r\n[\s\S]*connection: close\r\n[\s\S]*\{"status":"accepted"\}$/i)
})

t.test('a client that disconnects in the middle affects no other', async (t) => {
  const socket = open()
  socket.write(`${HEAD}Content-Length: 1000\r\n\r\nabc`, () => socket.resetAndDestroy())
  await once(socket, 'close')
  t.equal((await fetch(`${url}/send`, { method: 'POST' })).status, 202)
})

t.test('a body with invalid framing after the answer gets no second answer', async (t) => {
  const socket = open()
  let answers = ''
  socket.setEncoding('latin1').on('data', (data: string) => {
    answers += data
  })
  socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n20000\r\n`)
  await once(socket, 'data')
  socket.write(`${'x'.repeat(0x20000)}not a chunk`)
  await once(socket, 'close')
  t.equal(answers.match(/HTTP\/1\.1/g)?.length, 1)
})

t.test('the connection of an endless body is closed', async (t) => {
  const socket = open()
  socket.on('error', () => {})
  socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`)
  const writing = setInterval(() => socket.write('1\r\nx\r\n'), 50)
  t.teardown(() => clearInterval(writing))
  const [answer] = await once(socket, 'data')
  t.match(String(answer), /^HTTP\/1\.1 202 /)
  // A write to the closed connection causes a reset, which `once` would throw.
  await new Promise((resolve) => socket.once('close', resolve))
})

t.test('GET /preferences answers an empty object', async (t) => {
  const response = await app.inject('/preferences')
  t.equal(response.statusCode, 200)
  t.equal(response.body, '{}')
})

const ECHOED: readonly (readonly [string, string | Buffer, string?])[] = [
  ['an object', '{"a": [1, 2.50, null]}'],
  ['spaces and line breaks', ' \n{ "b":1,\t"a":2 }\r\n'],
  ['numbers beyond those of JavaScript', '[12345678901234567890, 1e400, 0.10, -0]'],
  ['a bare string', '"text"'],
  ['a bare number', '1.0'],
  ['null', 'null'],
  ['__proto__', '{"__proto__":{"x":1},"constructor":{"prototype":1}}'],
  ['names given twice', '{"a":1,"a":2}'],
  ['escapes', '"\\u00e9\\/\\ud800\\u0000"'],
  ['text beyond ASCII', '"é😀"'],
  ['JSON that calls itself text', '{}', 'text/plain'],
  ['JSON that calls itself nothing known', '{}', 'image/x-unknown'],
  ['JSON with a malformed content type', '{}', ';;'],
  ['64 kB', JSON.stringify('x'.repeat(65_534))],
  ['deep nesting', `${'['.repeat(30_000)}${']'.repeat(30_000)}`],
]
t.test('PUT /preferences returns JSON unchanged', async (t) => {
  for (const [what, payload, type = 'application/json'] of ECHOED) {
    const headers = { 'content-type': type }
    const response = await app.inject({ method: 'PUT', url: '/preferences', headers, payload })
    t.equal(response.statusCode, 200, what)
    t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
    t.strictSame(response.rawPayload, Buffer.from(payload))
  }
})

const REFUSED: readonly (readonly [string, string | Buffer | undefined, number])[] = [
  ['no body', undefined, 400],
  ['an empty body', '', 400],
  ['half an object', '{"a":', 400],
  ['two values', '{} {}', 400],
  ['a form', 'a=b', 400],
  ['what is not UTF-8', Buffer.from('"\xe9"', 'latin1'), 400],
  ['UTF-16', Buffer.from('{}', 'utf16le'), 400],
  ['64 kB and one byte', JSON.stringify('x'.repeat(65_535)), 413],
]
t.test('PUT /preferences refuses anything else', async (t) => {
  for (const [what, payload, status] of REFUSED) {
    const body = payload === undefined ? {} : { payload }
    const response = await app.inject({ method: 'PUT', url: '/preferences', ...body })
    t.equal(response.statusCode, status, what)
    t.equal(response.headers['content-type'], 'application/problem+json')
  }
})

t.test('a body that goes on after the answer is cut off, before a request would time out', async (t) => {
  const socket = open().resume()
  socket.on('error', () => {})
  socket.write(`${HEAD}Content-Length: 1000000\r\n\r\n`)
  const drip = setInterval(() => socket.write('x'), 100)
  t.teardown(() => clearInterval(drip))
  await until(() => socket.closed, { what: 'the connection to end', timeoutMs: 10_000 })
})
