import t, { type Test } from 'tap'
import type { Workbench } from '../../../src/console/routes/workbench-routes.ts'
import { OUTAGE } from '../../service/http/fixture.ts'
import { until } from '../../stack/until.ts'
import { aConsole, aManagement, aWorkbench, REVISION, TABLE, TIME } from './fixture.ts'

const DATA = '/console/data/workbench'
const PERIOD = { from: '2026-01-01T00:00:00Z', to: '2026-01-08T00:00:00+01:00' }
const IN_UTC = { from: '2026-01-01T00:00:00.000000Z', to: '2026-01-07T23:00:00.000000Z' }
const GROUP = {
  id: 'g1',
  facts: { eventType: 'claim.paid', party: 'found', 'of another version': 7 },
  earlier: [{ facts: { eventType: 'claim.paid', party: 'unresolved' }, outcome: 'FAIL', onRequest: false }],
  onRequest: true,
  ruleId: 'email',
  outcome: 'SEND',
  channel: 'EMAIL',
  ruleTableRevision: REVISION,
  isPartyInvalid: false,
  count: 3,
  locators: [],
}

function anApp(t: Test, overrides: Partial<Workbench> = {}) {
  const management = aManagement({ consoleData: aConsole({ workbench: aWorkbench(overrides) }) })
  t.teardown(() => management.app.close())
  const get = (path: string, query: Record<string, string> = {}) =>
    management.app.inject({ url: `${DATA}/${path}`, query })
  return { ...management, get }
}

t.test('decisions come in groups, page by page; the log says who reads each', async (t) => {
  const asked: unknown[] = []
  const { get, logged } = anApp(t, {
    readDecisions: async (page) => {
      asked.push(page)
      return { events: 3, groups: [GROUP], nextCursor: page.cursor ? null : 'NTF-2' }
    },
  })
  const first = (await get('decisions', PERIOD)).json()
  t.match(first, { events: 3, groups: [GROUP], nextCursor: /^[A-Za-z0-9_-]+$/ })
  t.strictSame((await get('decisions', { ...PERIOD, cursor: first.nextCursor })).json().nextCursor, null)
  t.strictSame(asked, [IN_UTC, { ...IN_UTC, cursor: 'NTF-2' }])
  const forged = Buffer.from('decisions"NTF-1"').toString('base64url')
  t.equal((await get('decisions', { ...PERIOD, cursor: forged })).statusCode, 200)
  t.match(
    logged.map((line) => JSON.parse(line)),
    [null, 'NTF-2', 'NTF-1'].map((after) => ({
      msg: 'a back-test reads a page',
      ...IN_UTC,
      after,
      tokenSubject: null,
    })),
  )
})

t.test('members of a group are listed from its page on', async (t) => {
  const asked: unknown[] = []
  const { get } = anApp(t, {
    listMembers: async (page, group) => {
      asked.push([page, group])
      return [{ locator: 'NTF-3', partyLocator: null, createdAt: null }]
    },
  })
  const { nextCursor: cursor } = (await get('decisions', PERIOD)).json()
  const { items } = (await get('members', { ...PERIOD, cursor, group: 'g1' })).json()
  t.strictSame(items, [{ locator: 'NTF-3', partyLocator: null, createdAt: null }])
  t.strictSame(asked, [[{ ...IN_UTC, cursor: 'NTF-2' }, 'g1']])
  t.strictSame((await anApp(t).get('members', { ...PERIOD, group: 'g1' })).json().items, [
    { locator: 'NTF-1', partyLocator: 'PTY-1', createdAt: TIME },
  ])
})

t.test('a rule table that was in force can be read; one that was not is null', async (t) => {
  const { get } = anApp(t)
  t.strictSame((await get(`rule-tables/${REVISION}`)).json(), { source: TABLE })
  t.strictSame((await get('rule-tables/unknown')).json(), { source: null })
  t.equal((await get('rule-tables/%00')).statusCode, 400)
})

t.test('a period is two times, the later one last; all else is refused', async (t) => {
  const { app, get } = anApp(t)
  for (const [change, parameter] of [
    [{ to: '2025-12-31T00:00:00Z' }, 'to'],
    [{ to: PERIOD.from }, 'to'],
    [{ from: 'yesterday' }, 'from'],
    [{ from: '7d' }, 'from'],
    [{ from: '0000-12-31T00:00:00Z', to: '0001-01-02T00:00:00Z' }, 'from'],
    [{ to: '' }, 'to'],
    [{ cursor: 'x' }, 'cursor'],
    [{ cursor: Buffer.from('decisions"CLM-1"').toString('base64url') }, 'cursor'],
    [{ table: 'rule,because\n' }, 'table'],
  ] as const) {
    for (const path of ['decisions', 'members']) {
      const more: Record<string, string> = path === 'members' ? { group: 'g1' } : {}
      const { statusCode, headers, body } = await get(path, { ...PERIOD, ...more, ...change })
      t.equal(statusCode, 400, `${path} ${JSON.stringify(change)}`)
      t.match(headers['content-type'], 'application/problem+json')
      t.match(JSON.parse(body).errors, [{ parameter }])
    }
  }
  t.equal((await get('members', PERIOD)).statusCode, 400, 'without a group')
  t.equal((await get('decisions')).statusCode, 400, 'without a period')
  const posted = { method: 'POST', url: `${DATA}/decisions`, payload: { ...PERIOD, table: TABLE } } as const
  t.equal((await app.inject(posted)).statusCode, 404, 'nobody can send a table')
})

t.test('while the database is down, a page says so in words', async (t) => {
  const down = async () => {
    throw OUTAGE
  }
  const { get } = anApp(t, { readDecisions: down, listMembers: down, readRuleTable: down })
  for (const response of [
    await get('decisions', PERIOD),
    await get('members', { ...PERIOD, group: 'g1' }),
    await get('rule-tables/x'),
  ])
    t.match(response, {
      statusCode: 503,
      headers: { 'retry-after': '5' },
      body: /database cannot be used now/,
    })
})

t.test('a page ends when its client disconnects', async (t) => {
  const waiting: AbortSignal[] = []
  const wait = async (signal: AbortSignal) => {
    waiting.push(signal)
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    throw new Error('never')
  }
  const { app } = anApp(t, {
    readDecisions: (_, signal) => wait(signal),
    listMembers: (_, __, signal) => wait(signal),
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  for (const path of ['decisions?', 'members?group=g1&']) {
    const client = new AbortController()
    const query = new URLSearchParams(PERIOD)
    const response = fetch(`${url}${DATA}/${path}${query}`, { signal: client.signal })
    await until(() => waiting.length > 0, { what: `${path} to be read` })
    client.abort()
    await t.rejects(response, { name: 'AbortError' })
    await until(() => waiting[0]?.aborted, { what: `${path} to end` })
    waiting.length = 0
  }
})
