import t from 'tap'
import { PROBLEMS, type ProblemCode } from '../../../src/service/http/problems/problem.ts'
import { documentedApp } from './documented.ts'
import { dependencies, ENTRY, locator, OUTAGE } from './fixture.ts'

const { all } = dependencies()
const app = documentedApp(all)
t.teardown(() => app.close())

const READ = 'GET, HEAD'
const CASES: readonly (readonly [request: string, problem: ProblemCode, allow?: string])[] = [
  ['GET /', 'not-found'],
  ['GET /nowhere?x=1', 'not-found'],
  ['GET /healthz/', 'not-found'],
  ['GET /Healthz', 'not-found'],
  ['POST /nowhere', 'not-found'],
  ['GET /log/%zz', 'invalid-request'],
  ['GET /log/list?partyLocator=%zz', 'invalid-request'],
  ['GET /notifications/list?eventId=%ff', 'invalid-request'],
  ['GET /preferences/list?cursor=%', 'invalid-request'],
  ['GET /log/', 'not-found'],
  ['GET /log/__proto__', 'not-found'],
  [`GET /log/${locator(9)}`, 'not-found'],
  [`GET /log/${'x'.repeat(5_000)}`, 'not-found'],
  [`GET /notifications/${locator(9)}`, 'not-found'],
  ['GET /send', 'method-not-allowed', 'POST'],
  ['HEAD /send', 'method-not-allowed', 'POST'],
  ['POST /healthz', 'method-not-allowed', READ],
  ['OPTIONS /log/list', 'method-not-allowed', READ],
  ['TRACE /notifications/list', 'method-not-allowed', READ],
  ['QUERY /notifications/list', 'method-not-allowed', READ],
  ['PUT /log/list', 'method-not-allowed', READ],
  [`PATCH /log/${ENTRY.locator}`, 'method-not-allowed', READ],
]
for (const [request, problem, allow] of CASES) {
  t.test(`${request.slice(0, 60)} gets the problem ${problem}`, async (t) => {
    const [method, url] = request.split(' ')
    // A wrong path or method is reported before a malformed content type.
    const headers = ['POST', 'PUT'].includes(String(method)) ? { 'content-type': ';;' } : {}
    const response = await app.inject({ method: method as 'GET', url: String(url), headers })
    const { status, title } = PROBLEMS[problem]
    t.equal(response.statusCode, status)
    t.equal(response.headers['content-type'], 'application/problem+json')
    t.equal(response.headers.allow, allow)
    if (method === 'HEAD') t.equal(response.body, '')
    else
      t.match(response.json(), { type: `urn:problem-type:notifications-service:${problem}`, title, status })
  })
}

for (const url of ['/healthz', '/readyz', '/log/list', '/notifications/list', `/log/${ENTRY.locator}`]) {
  t.test(`HEAD ${url} answers like GET, without the body`, async (t) => {
    const get = await app.inject({ method: 'GET', url })
    const head = await app.inject({ method: 'HEAD', url })
    t.match(head, { statusCode: 200, body: '', headers: { 'cache-control': 'no-store' } })
    t.equal(head.headers['content-length'], get.headers['content-length'])
    t.equal(head.headers['content-type'], get.headers['content-type'])
  })
}

t.test('a route that does not declare its access is refused', async (t) => {
  const { all } = dependencies()
  t.throws(
    () => documentedApp(all).get('/forgotten', async () => 'x'),
    /GET \/forgotten does not declare its access/,
  )
})

t.test('/healthz answers ok even while the service is not ready', async (t) => {
  const { all } = dependencies({ readiness: async () => 'the database is down' })
  for (const each of [app, documentedApp(all)])
    t.match(await each.inject('/healthz'), { statusCode: 200, body: '{"status":"ok"}' })
})

t.test('/readyz reports the readiness of the service', async (t) => {
  t.equal((await app.inject('/readyz')).statusCode, 200)

  const { all, logged } = dependencies({ readiness: async () => 'run `migrate`' })
  const response = await documentedApp(all).inject('/readyz')
  t.equal(response.statusCode, 503)
  t.equal(response.headers['content-type'], 'application/problem+json')
  t.match(response.headers['retry-after'], /^\d+$/)
  t.equal(response.json().detail, 'run `migrate`')
  t.notOk(
    logged.some((line) => line.includes('"warn"')),
    'a probe that fails is no news',
  )
})

t.test('an outage is a 503 that suggests another attempt', async (t) => {
  const reject = () => Promise.reject(OUTAGE)
  const { all, logged } = dependencies({
    logEntries: { list: reject, get: reject },
    preferences: { list: reject, get: reject, put: reject },
  })
  const app = documentedApp(all)
  for (const url of [
    '/preferences/list',
    '/preferences/PTY-1',
    '/log/list',
    '/notifications/list',
    `/log/${ENTRY.locator}`,
    `/notifications/${ENTRY.locator}`,
  ]) {
    const response = await app.inject(url)
    t.equal(response.statusCode, 503, url)
    t.match(response.headers['retry-after'], /^\d+$/)
    t.equal(response.json().type, 'urn:problem-type:notifications-service:unavailable')
    t.notMatch(response.body, 'hunter2')
  }
  t.notMatch(logged.join(''), 'hunter2')
})

t.test('an unexpected error is a 500 whose cause is logged and not sent to the client', async (t) => {
  const bug = () => Promise.reject(Object.assign(new TypeError('hunter3'), { statusCode: 404 }))
  const { all, logged } = dependencies({ logEntries: { list: bug, get: bug } })
  const response = await documentedApp(all).inject('/log/list?partyLocator=PTY-secret')
  t.equal(response.statusCode, 500)
  t.strictSame(response.json(), {
    type: 'urn:problem-type:notifications-service:internal',
    title: PROBLEMS.internal.title,
    status: 500,
  })
  t.match(logged.join(''), /"level":"error".*hunter3/)
  t.notMatch(logged.join(''), 'PTY-secret')
})

t.test('a row that does not conform to the API document is a 500', async (t) => {
  const broken = { ...ENTRY, status: 'LOST' } as never
  const { all } = dependencies({ logEntries: { ...dependencies().all.logEntries, get: async () => broken } })
  const response = await documentedApp(all).inject(`/log/${ENTRY.locator}`)
  t.equal(response.statusCode, 500)
  t.notMatch(response.body, 'LOST')
})

t.test('requests are logged by route; only lines of reads contain locators and query values', async (t) => {
  const { all, logged } = dependencies()
  const app = documentedApp(all)
  await app.inject('/log/list?partyLocator=PTY-secret')
  await app.inject(`/log/${ENTRY.locator}`)
  const lines = logged.map((line) => JSON.parse(line))
  t.match(lines, [
    { level: 'info', msg: 'read', route: '/log/list' },
    { level: 'debug', method: 'GET', route: '/log/list', status: 200, elapsedMs: Number },
    { level: 'info', msg: 'read', route: '/log/:locator' },
    { level: 'debug', method: 'GET', route: '/log/:locator', status: 200 },
  ])
  t.equal(lines.length, 4)
  const others = logged.filter((line) => !line.includes('"msg":"read"')).join('')
  t.notMatch(others, 'PTY-secret')
  t.notMatch(others, ENTRY.locator)
})
