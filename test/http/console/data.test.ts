import t, { type Test } from 'tap'
import { BLOCK_REASONS } from '../../../src/core/batch/blocked.ts'
import { ADMIN_SCOPE, startIdentityProvider } from '../../stack/identity-provider.ts'
import { ENTRY, locator, OUTAGE, tokensOf } from '../fixture.ts'
import { aConsole, aManagement, PREFERENCES, TIME } from './fixture.ts'

const idp = await startIdentityProvider()
t.teardown(() => idp.stop())
const ADMIN = `Bearer ${await idp.token(ADMIN_SCOPE)}`
const MEMBER = `Bearer ${await idp.token()}`
const BAD = `Bearer ${await idp.forge({ exp: 1 })}`

const open = aManagement()
const closed = aManagement({ tokens: tokensOf(idp) })
t.teardown(() => Promise.all([open.app.close(), closed.app.close()]))

const get = (path: string, authorization?: string, { app } = authorization === undefined ? open : closed) =>
  app.inject({ url: path, headers: authorization === undefined ? {} : { authorization } })

const DATA = [
  '/console/data/counts',
  '/console/data/status',
  '/console/data/rules',
  '/console/data/log/list',
  `/console/data/log/${ENTRY.locator}`,
  '/console/data/preferences/PTY-1',
  '/console/data/rejected',
  '/console/data/workbench',
]

for (const path of DATA) {
  t.test(`${path} requires a token with the administrative scope, as on the public listener`, async (t) => {
    const none = await get(path, undefined, closed)
    t.equal(none.statusCode, 401)
    t.match(none.headers['www-authenticate'], /^Bearer realm=/)
    t.equal((await get(path, BAD)).statusCode, 401)
    const member = await get(path, MEMBER)
    t.equal(member.statusCode, 403)
    t.match(member.headers['www-authenticate'], `scope="${ADMIN_SCOPE}"`)
    t.equal((await get(path, ADMIN)).statusCode, 200)
    t.equal((await get(path)).statusCode, 200, 'where no key set is configured it is open')
    const { headers } = await get(path)
    t.match(headers, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    t.equal((await closed.app.inject({ method: 'HEAD', url: path })).statusCode, 401)
  })
}

t.test('these routes are all data of the console, and none stores a request', async (t) => {
  const { app } = aManagement()
  t.teardown(() => app.close())
  const routes: string[] = []
  app.addHook('onRoute', ({ method, url }) => {
    if (url.startsWith('/console/data')) routes.push(`${method} ${url}`)
  })
  await app.ready()
  t.same(routes.filter((route) => !route.startsWith('HEAD ')).sort(), [
    'GET /console/data/counts',
    'GET /console/data/log/:locator',
    'GET /console/data/log/list',
    'GET /console/data/preferences/:partyLocator',
    'GET /console/data/rejected',
    'GET /console/data/rules',
    'GET /console/data/status',
    'GET /console/data/workbench',
    'POST /console/data/workbench/backtest',
  ])
})

t.test('pages, their files, metrics and the API document need no token', async (t) => {
  for (const path of ['/console', '/console/main-ABC.js', '/metrics', '/openapi.json']) {
    t.equal((await get(path, undefined, closed)).statusCode, 200, path)
  }
  t.equal((await get('/console/data/nothing', undefined, closed)).statusCode, 404)
})

/** No inline code and no other origin: a token cannot be sent to another host. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

t.test('the page runs only its own code, and is cached until it changes', async (t) => {
  const secure = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }
  const { headers } = await get('/console')
  t.equal(headers['content-security-policy'], POLICY)
  t.match(headers, { ...secure, 'cache-control': 'no-cache', 'content-type': 'text/html; charset=utf-8' })
  const script = await get('/console/main-ABC.js')
  const kept = { 'cache-control': 'public, max-age=31536000, immutable', 'content-type': 'text/javascript' }
  t.match(script.headers, { ...secure, ...kept })
  t.equal((await get('/console/main-OLD.js')).statusCode, 404)
  t.match(await get('/console/'), { statusCode: 308, headers: { location: '../console' } })
})

t.test('entries are as on the public listener, with their filters and pages', async (t) => {
  const { decisions: _, story: __, reference: ___, ...row } = ENTRY
  const { items, nextCursor } = (await get('/console/data/log/list?status=SENT&limit=1')).json()
  t.same(items, [row])
  t.same((await get(`/console/data/log/list?limit=1&cursor=${nextCursor}`)).json().nextCursor, null)
  t.equal((await get('/console/data/log/list?nope=1')).statusCode, 400)
  t.same((await get(`/console/data/log/${ENTRY.locator}`)).json(), ENTRY)
  t.equal((await get(`/console/data/log/${locator(9)}`)).statusCode, 404)
})

t.test('problems are listed, blocked partitions with their remedy', async (t) => {
  const place = { topic: 'claims', partition: 3, offset: '41', since: '2026-01-31T12:00:00.000Z' }
  t.strictSame((await get('/console/data/status')).json(), {
    consuming: null,
    database: null,
    lookUps: null,
    blocked: [{ ...place, reason: 'locked', remedy: BLOCK_REASONS.locked }],
  })
})

t.test('counts state their window', async (t) => {
  t.match((await get('/console/data/counts?window=1h')).json(), { toS: 3_600, stepS: 60, complete: true })
  t.match((await get('/console/data/counts')).json(), { toS: 86_400 })
  for (const query of ['window=2h', 'window=', 'windows=1h', 'window=1h&window=1h']) {
    t.equal((await get(`/console/data/counts?${query}`)).statusCode, 400, query)
  }
})

t.test('rules are shown in their order', async (t) => {
  t.match((await get('/console/data/rules')).json(), {
    revision: 'b'.repeat(64),
    activation: { activatedAt: TIME, gitCommit: null },
    rules: [
      {
        ruleId: 'muted',
        eventType: 'claim.* or invoice.paid',
        outcome: 'SKIP',
        reason: 'muted',
      },
      { ruleId: 'sms', eventType: null, optedOut: false, phoneOnFile: true },
    ],
  })
})

t.test('preferences come with their history; a party without any is no error', async (t) => {
  t.same((await get('/console/data/preferences/PTY-1')).json(), {
    preferences: PREFERENCES,
    unknownEventTypes: [],
    changes: [{ changedAt: TIME, changedBy: 'a clerk', before: null, after: PREFERENCES }],
    isMore: false,
  })
  t.same((await get('/console/data/preferences/nobody')).json(), {
    preferences: null,
    unknownEventTypes: [],
    changes: [],
    isMore: false,
  })
  t.equal((await get('/console/data/preferences/%00')).statusCode, 400)
})

t.test('a long history shows its newest 100 changes', async (t) => {
  const change = { changedAt: TIME, changedBy: null, before: PREFERENCES, after: PREFERENCES }
  const changes = async (_: string, countMax: number) => Array.from({ length: countMax }, () => change)
  const { app } = aManagement({
    consoleData: aConsole({
      preferences: { get: async () => PREFERENCES, unknownEventTypes: async () => [], changes },
    }),
  })
  t.teardown(() => app.close())
  const history = (await app.inject('/console/data/preferences/PTY-1')).json()
  t.equal(history.changes.length, 100)
  t.equal(history.isMore, true)
})

t.test('rejected messages come in pages, with offsets beyond the numbers of JSON', async (t) => {
  const { items, nextCursor } = (
    await get('/console/data/rejected?topic=claims&code=not-json&open=true')
  ).json()
  t.match(items, [{ id: '7', offset: '9007199254740993', begin: 'YWJj', byteCount: 3, redriven: null }])
  t.equal((await get(`/console/data/rejected?cursor=${nextCursor}`)).json().nextCursor, null)
  for (const query of ['code=odd', 'open=1', 'limit=0', 'cursor=x', 'nope=1']) {
    t.equal((await get(`/console/data/rejected?${query}`)).statusCode, 400, query)
  }
})

t.test("reads of members' data are logged with their subject, counts are not", async (t) => {
  for (const path of DATA) await get(path, ADMIN)
  const reads = closed.logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'read')
  t.match(reads[0], { tokenSubject: 'console', rowCount: 1 })
  t.same([...new Set(reads.map(({ route }) => route))].sort(), [
    '/console/data/log/:locator',
    '/console/data/log/list',
    '/console/data/preferences/:partyLocator',
    '/console/data/rejected',
  ])
})

/** A console that counts its database queries, and rejects them during its outage. */
function aCounter(t: Test) {
  const state = { isDown: false, counts: 0 }
  const { countEntries } = aConsole()
  const { app } = aManagement({
    consoleData: aConsole({
      countEntries: async (window) => {
        state.counts++
        if (state.isDown) throw OUTAGE
        return countEntries(window)
      },
    }),
  })
  t.teardown(() => app.close())
  return { state, count: (window: string) => app.inject(`/console/data/counts?window=${window}`) }
}

t.test('an outage of the database is a 503 that is not cached', async (t) => {
  const { state, count } = aCounter(t)
  state.isDown = true
  t.equal((await count('1h')).statusCode, 503)
  state.isDown = false
  t.equal((await count('1h')).statusCode, 200)
})

t.test('simultaneous requests for counts are answered by one query', async (t) => {
  const { state, count } = aCounter(t)
  await Promise.all(Array.from({ length: 20 }, () => count('1h')))
  t.equal(state.counts, 1)
  await count('6h')
  t.equal(state.counts, 2)
})
