import t from 'tap'
import { documentedApp } from '../documented.ts'
import { dependencies } from '../fixture.ts'

const reject = () => Promise.reject(new Error('the database is down'))
const { all } = dependencies({ preferences: { list: reject, get: reject, put: reject } })
const app = documentedApp(all)
t.teardown(() => app.close())

t.test('GET answers an empty object', async (t) => {
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
t.test('PUT returns JSON unchanged', async (t) => {
  for (const [what, payload, type = 'application/json'] of ECHOED) {
    const headers = { 'content-type': type }
    const response = await app.inject({ method: 'PUT', url: '/preferences', headers, payload })
    t.equal(response.statusCode, 200, what)
    t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
    t.same(response.rawPayload, Buffer.from(payload))
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
t.test('PUT refuses anything else', async (t) => {
  for (const [what, payload, status] of REFUSED) {
    const body = payload === undefined ? {} : { payload }
    const response = await app.inject({ method: 'PUT', url: '/preferences', ...body })
    t.equal(response.statusCode, status, what)
    t.equal(response.headers['content-type'], 'application/problem+json')
  }
})
