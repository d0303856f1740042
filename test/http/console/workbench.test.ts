import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { BacktestMessage } from '../../../src/core/workbench/backtest-report.ts'
import type { Workbench } from '../../../src/http/console/workbench.ts'
import { until } from '../../stack/until.ts'
import { aConsole, aManagement, aWorkbench } from './fixture.ts'

const DATA = '/console/data/workbench'
const JOB = {
  table: 'rule,because\n',
  eventTypes: ['claim.paid'],
  from: '2026-01-01T00:00:00Z',
  to: '2026-01-08T00:00:00+01:00',
}

function anApp(t: Test, overrides: Partial<Workbench> = {}) {
  const management = aManagement({ consoleData: aConsole({ workbench: aWorkbench(overrides) }) })
  t.teardown(() => management.app.close())
  const post = (payload: object) =>
    management.app.inject({ method: 'POST', url: `${DATA}/backtest`, payload })
  return { ...management, post }
}

t.test('a body of up to 256 kB is accepted; a larger or malformed one is refused', async (t) => {
  const { post, app } = anApp(t)
  const large = (bytes: number) => ({ ...JOB, table: 'x'.repeat(bytes) })
  t.equal((await post(large(250 * 1024))).statusCode, 200)
  t.equal((await post(large(256 * 1024))).statusCode, 413)
  for (const change of [
    { to: '2025-12-31T00:00:00Z' },
    { to: '2026-02-02T00:00:00Z' },
    { from: 'yesterday' },
    { from: '0000-12-31T00:00:00Z', to: '0001-01-02T00:00:00Z' },
    { table: undefined },
    { more: 1 },
  ]) {
    t.equal((await post({ ...JOB, ...change })).statusCode, 400, JSON.stringify(change))
  }
  // October in Berlin has an hour more.
  const october = { from: '2026-10-01T00:00:00+02:00', to: '2026-11-01T00:00:00+01:00' }
  t.equal((await post({ ...JOB, ...october })).statusCode, 200)
  const payload = JSON.stringify(JOB)
  const plain = { 'content-type': 'text/plain' }
  const sent = await app.inject({ method: 'POST', url: `${DATA}/backtest`, payload, headers: plain })
  t.equal(sent.statusCode, 400, "a stranger's page can send no JSON without being asked for leave")
})

t.test('a back-test is streamed line by line', async (t) => {
  const { post, logged } = anApp(t)
  const { headers, body } = await post(JOB)
  t.equal(headers['content-type'], 'application/x-ndjson')
  t.equal(body, '{"kind":"progress","events":1}\n{"kind":"progress","events":2}\n')
  t.match(logged.join(''), /"from":"2026-01-01.*"msg":"back-test"/)
})

t.test('a back-test that cannot start has an error status, one that fails an error line', async (t) => {
  const one = (message: BacktestMessage): Partial<Workbench> => ({
    backtest: async function* () {
      yield message
    },
  })
  const busy = await anApp(t, { backtest: () => null }).post(JOB)
  t.match(busy, { statusCode: 503, headers: { 'retry-after': '5' }, body: /only one can run at a time/ })
  const faulty = one({ kind: 'faults', faults: [{ row: 2, column: 'outcome', text: 'x' }] })
  t.match(await anApp(t, faulty).post(JOB), { statusCode: 400, body: /row 2, column/ })
  const down = one({ kind: 'problem', problem: 'The database did not respond.' })
  t.match(await anApp(t, down).post(JOB), { statusCode: 503, body: /did not respond/ })
  const { post } = anApp(t, {
    backtest: async function* () {
      yield { kind: 'progress', events: 1 }
      throw new Error('secret')
    },
  })
  const { statusCode, body } = await post(JOB)
  t.equal(statusCode, 200)
  t.match(body, /"kind":"problem","problem":"The back-test failed/)
  t.notMatch(body, /secret/)
})

t.test('a back-test that ends before its stream begins is released', async (t) => {
  let isLeft = false
  const { post } = anApp(t, {
    backtest: async function* () {
      try {
        yield { kind: 'faults', faults: [{ row: 2, column: null, text: 'x' }] }
        yield { kind: 'progress', events: 1 }
      } finally {
        isLeft = true
      }
    },
  })
  t.equal((await post(JOB)).statusCode, 400)
  await until(() => isLeft, { what: 'the back-test to be left' })
})

t.test('a back-test without lines yet keeps its connection open', async (t) => {
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
  const body = JSON.stringify(JOB)
  const headers = { 'content-type': 'application/json' }
  await (await fetch(`${url}${DATA}/backtest`, { method: 'POST', body, headers })).text()
  t.equal(silenceMsMax, 180_000)
})

t.test('a back-test ends when its client disconnects', async (t) => {
  let seen: AbortSignal | undefined
  let isLeft = false
  const { app } = anApp(t, {
    backtest: async function* (_, signal) {
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
    body: JSON.stringify(JOB),
    headers: { 'content-type': 'application/json' },
    signal: client.signal,
  })
  const reader = response.body?.getReader()
  t.match(new TextDecoder().decode((await reader?.read())?.value), /"events":1/)
  client.abort()
  await until(() => seen?.aborted && isLeft, { what: 'the back-test to end' })
})
