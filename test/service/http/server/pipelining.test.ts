import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { buildApp } from '../../../../src/service/http/public.ts'
import { serve } from '../../../../src/service/http/server/server.ts'
import { aManagement } from '../../../console/routes/fixture.ts'
import { until } from '../../../stack/until.ts'
import { dependencies } from '../fixture.ts'

/** The bound of src/service/http/server/pipelining.ts. */
const UNANSWERED_COUNT_MAX = 16
const CONNECTION_COUNT = 20
const FLOOD_BYTES = 208_000
const PUT = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{}' }

function pipelined(path: string, count: number, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`.repeat(count)
}

const LISTENERS = {
  public: (observeResponse: () => void, begin = () => {}) => {
    const list = async () => {
      begin()
      return { items: [], next: null }
    }
    const needs = dependencies({ observeResponse })
    return buildApp({ ...needs.all, logEntries: { ...needs.all.logEntries, list } })
  },
  management: (observeResponse: () => void) => aManagement({ observeResponse }).app,
}
for (const [name, build] of Object.entries(LISTENERS)) {
  const probe = name === 'public' ? '/healthz' : '/startupz'

  t.test(`${name}: of a flood of pipelined requests only as many as are allowed are begun`, async (t) => {
    let [answered, begun] = [0, 0]
    const app = build(
      () => {
        answered++
      },
      () => {
        begun++
      },
    )
    const http = serve(app, { host: '127.0.0.1', port: 0 })
    t.teardown(() => http.close(0))
    const url = await http.listen()
    const path = name === 'public' ? '/log/list' : '/'
    const flood = pipelined(path, FLOOD_BYTES / pipelined(path, 1).length)
    const closed = Array.from({ length: CONNECTION_COUNT }, async () => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      // The server may reset it.
      socket.on('error', () => {})
      socket.resume().end(flood)
      await new Promise((resolve) => socket.once('close', resolve))
    })
    t.equal((await fetch(`${url}${probe}`)).status, 200)
    if (name === 'public') t.equal((await fetch(`${url}/preferences/PTY-1`, PUT)).status, 200)
    await Promise.all(closed)
    const before = answered
    t.ok(before <= CONNECTION_COUNT * UNANSWERED_COUNT_MAX + 2, `${before} requests were answered`)
    t.ok(begun <= CONNECTION_COUNT * UNANSWERED_COUNT_MAX, `${begun} were begun`)
    t.equal((await fetch(`${url}${probe}`)).status, 200)
    await until(async () => answered > before, { what: 'the count of the probe' })
    t.equal(answered, before + 1, 'nothing goes on')
  })

  t.test(`${name}: as many requests as are allowed are answered, again and again`, async (t) => {
    const http = serve(
      build(() => {}),
      { host: '127.0.0.1', port: 0 },
    )
    t.teardown(() => http.close(0))
    const url = await http.listen()
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    let received = ''
    socket.on('data', (bytes) => {
      received += bytes
    })
    const answers = () => received.split('HTTP/1.1 200').length - 1
    for (const round of [1, 2]) {
      socket.write(pipelined(probe, UNANSWERED_COUNT_MAX))
      await until(async () => answers() === round * UNANSWERED_COUNT_MAX, { what: 'all answers' })
    }
    socket.destroy()
  })

  t.test(`${name}: of too many requests in a packet those that are allowed are answered`, async (t) => {
    const http = serve(
      build(() => {}),
      { host: '127.0.0.1', port: 0 },
    )
    t.teardown(() => http.close(0))
    const { port } = new URL(await http.listen())
    for (const count of [UNANSWERED_COUNT_MAX + 1, 3_000]) {
      const socket = connect(Number(port), '127.0.0.1')
      socket.write(pipelined(probe, UNANSWERED_COUNT_MAX - 1) + pipelined('/nowhere', count))
      const statuses = statusesIn(await text(socket))
      t.strictSame(statuses, [...Array(UNANSWERED_COUNT_MAX - 1).fill(200), 404], `${count}`)
    }
  })

  t.test(
    `${name}: a request for an upgrade is answered, and those behind it are to be sent again`,
    async (t) => {
      const http = serve(
        build(() => {}),
        { host: '127.0.0.1', port: 0 },
      )
      t.teardown(() => http.close(0))
      const { port } = new URL(await http.listen())
      const upgrade = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n'
      for (const path of [probe, '/nowhere', '/%']) {
        const socket = connect(Number(port), '127.0.0.1')
        socket.write(pipelined(probe, 1) + pipelined(path, 1, upgrade) + pipelined(probe, 2))
        const received = await text(socket)
        t.equal(statusesIn(received).length, 2, path)
        t.match(received.slice(received.lastIndexOf('HTTP/1.1')), /^connection: close\r$/im)
      }
    },
  )
}

function statusesIn(received: string): number[] {
  return Array.from(received.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => Number(status))
}

t.test('requests before one that is no HTTP are answered first, in their order', async (t) => {
  const put = `PUT /preferences/PTY-1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
  const whole = `${put}Content-Length: 2\r\n\r\n{}`
  const cases: readonly (readonly [what: string, sent: string, answers: readonly number[]])[] = [
    ['garbage', 'garbage\r\n\r\n', [400]],
    ['garbage behind a request', `${whole}garbage\r\n\r\n`, [200, 400]],
    ['garbage behind two', `${whole}${whole}garbage\r\n\r\n`, [200, 200, 400]],
    [
      'garbage in the body of the second',
      `${whole}${put}Transfer-Encoding: chunked\r\n\r\nx\r\n`,
      [200, 400],
    ],
    [
      'garbage in the body of the third',
      `${whole}${whole}${put}Transfer-Encoding: chunked\r\n\r\nx\r\n`,
      [200, 200, 400],
    ],
    ['a request behind garbage', `${whole}garbage\r\n\r\n${whole}`, [200, 400]],
  ]
  const { all, stored } = dependencies()
  const { put: store } = all.preferences
  const slowly: typeof store = async (...args) => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return store(...args)
  }
  const http = serve(buildApp({ ...all, preferences: { ...all.preferences, put: slowly } }), {
    host: '127.0.0.1',
    port: 0,
  })
  t.teardown(() => http.close(0))
  const { port } = new URL(await http.listen())
  for (const [what, sent, answers] of cases)
    for (const isSplit of [false, true]) {
      stored.clear()
      const socket = connect(Number(port), '127.0.0.1')
      for (const part of isSplit ? sent.split(/(?=garbage)/) : [sent]) socket.write(part)
      const received = await text(socket)
      t.strictSame(statusesIn(received), answers, `${what}, ${isSplit}`)
      t.equal(stored.size, answers.includes(200) ? 1 : 0, what)
    }
})
