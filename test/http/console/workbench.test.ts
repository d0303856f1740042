import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { BacktestMessage } from '../../../src/core/workbench/backtest-report.ts'
import type { Workbench } from '../../../src/http/console/workbench.ts'
import { aTrial } from '../../core/build.ts'
import { ADMIN_SCOPE, startIdentityProvider } from '../../stack/identity-provider.ts'
import { until } from '../../stack/until.ts'
import { tokensOf } from '../fixture.ts'
import { aConsole, aManagement, aWorkbench } from './fixture.ts'

const DATA = '/console/data/workbench'
const TABLE = 'rule,because\n'
const TRIAL = aTrial({ preferredChannel: 'SMS', emailOnFile: false })
const GOOD = {
  grid: { csv: TABLE, of: 'table' },
  review: { table: TABLE, promises: '' },
  try: { table: TABLE, trial: TRIAL },
  backtest: { table: TABLE, from: '2026-01-01T00:00:00Z', to: '2026-01-08T00:00:00+01:00' },
} as const
const ROUTES = Object.keys(GOOD) as (keyof typeof GOOD)[]

function anApp(t: Test, overrides: Partial<Workbench> = {}, more: Parameters<typeof aManagement>[0] = {}) {
  const management = aManagement({ consoleData: aConsole({ workbench: aWorkbench(overrides) }), ...more })
  t.teardown(() => management.app.close())
  const post = (route: string, payload: object, headers: Record<string, string> = {}) =>
    management.app.inject({ method: 'POST', url: `${DATA}/${route}`, payload, headers })
  return { ...management, post }
}

t.test('each of its routes needs the administrative scope, as all data of the console', async (t) => {
  const idp = await startIdentityProvider()
  t.teardown(() => idp.stop())
  const { post, logged } = anApp(t, {}, { tokens: tokensOf(idp) })
  const as = async (scope?: string) => ({ authorization: `Bearer ${await idp.token(scope)}` })
  for (const route of ROUTES) {
    t.equal((await post(route, GOOD[route])).statusCode, 401, route)
    t.equal((await post(route, GOOD[route], await as())).statusCode, 403, route)
    t.equal((await post(route, GOOD[route], await as(ADMIN_SCOPE))).statusCode, 200, route)
  }
  t.ok(
    logged.some((line) => /"from":"2026-01-01.*"msg":"back-test"/.test(line)),
    'who back-tests is in the log',
  )
})

t.test('a body of up to 256 kB is taken, a larger or another one is refused', async (t) => {
  const { post, app } = anApp(t)
  const large = (bytes: number) => ({ table: 'x'.repeat(bytes), promises: '' })
  t.equal((await post('review', large(250 * 1024))).statusCode, 200)
  t.equal((await post('review', large(256 * 1024))).statusCode, 413)
  for (const [route, body] of [
    ['grid', { csv: TABLE, of: 'log' }],
    ['review', { table: TABLE }],
    ['review', { ...GOOD.review, more: 1 }],
    ['try', { table: TABLE, trial: { ...TRIAL, party: 'lost' } }],
    ['try', { table: TABLE, trial: { ...TRIAL, eventType: '' } }],
    ['backtest', { ...GOOD.backtest, to: '2025-12-31T00:00:00Z' }],
    ['backtest', { ...GOOD.backtest, to: '2026-02-02T00:00:00Z' }],
    ['backtest', { ...GOOD.backtest, from: 'yesterday' }],
  ] as const) {
    t.equal((await post(route, body)).statusCode, 400, `${route} ${JSON.stringify(body)}`)
  }
  const payload = JSON.stringify(GOOD.review)
  const plain = { 'content-type': 'text/plain' }
  const sent = await app.inject({ method: 'POST', url: `${DATA}/review`, payload, headers: plain })
  t.equal(sent.statusCode, 400, "a stranger's page can send no JSON without being asked for leave")
})

t.test('a table that takes too long is a 503 that says so', async (t) => {
  const gaveUp = async () => null
  const { post } = anApp(t, { read: gaveUp, review: gaveUp, try: gaveUp })
  for (const route of ['grid', 'review', 'try'] as const) {
    const { statusCode, headers, body } = await post(route, GOOD[route])
    t.match(
      { statusCode, headers, body },
      { statusCode: 503, headers: { 'retry-after': '5' }, body: /too long/ },
    )
  }
})

t.test('a back-test comes line by line', async (t) => {
  const { post } = anApp(t)
  const { headers, body } = await post('backtest', GOOD.backtest)
  t.equal(headers['content-type'], 'application/x-ndjson')
  t.same(
    body
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
    [
      { kind: 'progress', events: 1 },
      { kind: 'progress', events: 2 },
    ],
  )
})

t.test('why there is no back-test is told by the status, and later by the last line', async (t) => {
  const one = (message: BacktestMessage): Partial<Workbench> => ({
    backtest: async function* () {
      yield message
    },
  })
  const busy = await anApp(t, { backtest: () => null }).post('backtest', GOOD.backtest)
  t.match(busy, { statusCode: 503, headers: { 'retry-after': '5' }, body: /one runs at a time/ })
  const faulty = one({ kind: 'faults', faults: ['row 2, column "outcome": x'] })
  t.match(await anApp(t, faulty).post('backtest', GOOD.backtest), { statusCode: 400, body: /row 2, column/ })
  const down = one({ kind: 'problem', problem: 'The database did not respond.' })
  t.match(await anApp(t, down).post('backtest', GOOD.backtest), { statusCode: 503, body: /did not respond/ })
  const { post } = anApp(t, {
    backtest: async function* () {
      yield { kind: 'progress', events: 1 }
      throw new Error('secret')
    },
  })
  const { statusCode, body } = await post('backtest', GOOD.backtest)
  t.equal(statusCode, 200)
  t.match(body, /"kind":"problem","problem":"The back-test failed/)
  t.notMatch(body, /secret/)
})

t.test('a back-test that ends before its stream begins is let go of', async (t) => {
  let isLeft = false
  const { post } = anApp(t, {
    backtest: async function* () {
      try {
        yield { kind: 'faults', faults: ['row 2'] }
        yield { kind: 'progress', events: 1 }
      } finally {
        isLeft = true
      }
    },
  })
  t.equal((await post('backtest', GOOD.backtest)).statusCode, 400)
  await until(() => isLeft, { what: 'the back-test to be left' })
})

t.test('an answer is waited for as long as its client waits', async (t) => {
  let seen: AbortSignal | undefined
  const { app } = anApp(t, {
    review: async (candidate, signal) => {
      seen = signal
      await setImmediate()
      signal.throwIfAborted()
      return aWorkbench().review(candidate, signal)
    },
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(GOOD.review)
  t.equal((await fetch(`${url}${DATA}/review`, { method: 'POST', body, headers })).status, 200)
  await until(() => seen?.aborted, { what: 'the signal to end with the answer' })
})

t.test('a back-test that says nothing at first keeps its connection', async (t) => {
  const sockets: Socket[] = []
  let silenceMsMax: number | undefined
  const { app } = anApp(t, {
    backtest: async function* () {
      silenceMsMax = sockets[0]?.timeout
      yield { kind: 'progress', events: 1 }
    },
  })
  app.server.on('connection', (socket) => sockets.push(socket))
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const body = JSON.stringify(GOOD.backtest)
  const headers = { 'content-type': 'application/json' }
  await (await fetch(`${url}${DATA}/backtest`, { method: 'POST', body, headers })).text()
  t.equal(silenceMsMax, 180_000)
})

t.test('a back-test ends when its client goes away', async (t) => {
  let seen: AbortSignal | undefined
  let isLeft = false
  const { app } = anApp(t, {
    backtest: async function* (_table, _days, signal) {
      seen = signal
      try {
        yield { kind: 'progress', events: 1 }
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      } finally {
        isLeft = true
      }
    },
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const client = new AbortController()
  const response = await fetch(`${url}${DATA}/backtest`, {
    method: 'POST',
    body: JSON.stringify(GOOD.backtest),
    headers: { 'content-type': 'application/json' },
    signal: client.signal,
  })
  const reader = response.body?.getReader()
  t.match(new TextDecoder().decode((await reader?.read())?.value), /"events":1/)
  client.abort()
  await until(() => seen?.aborted && isLeft, { what: 'the back-test to end' })
})
