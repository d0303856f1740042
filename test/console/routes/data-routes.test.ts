import { pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { readConsolePage } from '../../../src/console/routes/page.ts'
import { ENTRY, LISTED, locator, OUTAGE } from '../../service/http/fixture.ts'
import { aConsole, aManagement, PREFERENCES, TIME } from './fixture.ts'

const open = aManagement()
t.teardown(() => open.app.close())
const get = (path: string) => open.app.inject(path)

t.test('the page runs only its own code, and is cached until it changes', async (t) => {
  const secure = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }
  const { headers } = await get('/console')
  const policy = String(headers['content-security-policy'])
  t.match(
    policy,
    /^default-src 'none'; script-src 'self'; .* require-trusted-types-for 'script'; trusted-types 'none'$/,
  )
  t.notMatch(policy, /unsafe|https?:|\*/, 'a token cannot be sent to another host')
  t.match(headers, { ...secure, 'cache-control': 'no-cache', 'content-type': 'text/html; charset=utf-8' })
  const script = await get('/console/main-ABC.js')
  const kept = { 'cache-control': 'public, max-age=31536000, immutable', 'content-type': 'text/javascript' }
  t.match(script.headers, { ...secure, ...kept })
  t.equal((await get('/console/main-OLD.js')).statusCode, 404)
  t.match(await get('/console/'), { statusCode: 308, headers: { location: './' } })
})

t.test('the page may connect to its identity provider, and to nothing else', async (t) => {
  const signIn = { issuer: 'https://id.example/realms/us', clientId: 'console', scope: 'openid' }
  const { app } = aManagement({ signIn })
  t.teardown(() => app.close())
  const policy = String((await app.inject('/console')).headers['content-security-policy'])
  t.match(policy, /; connect-src 'self' https:\/\/id\.example; base-uri/)
  t.strictSame((await app.inject('/console/sign-in')).json(), { signIn })
})

t.test('a response of more than 1 kB is compressed for a client that takes gzip', async (t) => {
  const text = 'metric 1\n'.repeat(200)
  const { app } = aManagement({ exposeMetrics: async () => ({ contentType: 'text/plain', text }) })
  t.teardown(() => app.close())
  const headers = { 'accept-encoding': 'br, gzip' }
  const zipped = await app.inject({ url: '/metrics', headers })
  t.match(zipped.headers, { 'content-encoding': 'gzip', vary: 'accept-encoding' })
  t.equal(gunzipSync(zipped.rawPayload).toString(), text)
  for (const response of [
    await open.app.inject({ url: '/console/data/counts', headers }),
    await app.inject('/metrics'),
  ])
    t.equal(response.headers['content-encoding'], undefined)
})

t.test('entries are as on the public listener, with their filters and pages', async (t) => {
  const { items, nextCursor } = (await get('/console/data/log/list?status=SENT&limit=1')).json()
  t.strictSame(items, [LISTED])
  t.strictSame((await get(`/console/data/log/list?limit=1&cursor=${nextCursor}`)).json().nextCursor, null)
  t.equal((await get('/console/data/log/list?nope=1')).statusCode, 400)
  t.strictSame((await get(`/console/data/log/${ENTRY.locator}`)).json(), ENTRY)
  t.equal((await get(`/console/data/log/${locator(9)}`)).statusCode, 404)
})

t.test('counts state their window', async (t) => {
  t.match((await get('/console/data/counts?window=1h')).json(), { toS: 3_600, stepS: 60, complete: true })
  t.match((await get('/console/data/counts')).json(), { toS: 86_400 })
  t.match((await get('/console/data/counts?by=status')).json(), { toS: 86_400 }, 'for the page of 1.1.0')
  for (const query of ['window=2h', 'window=', 'windows=1h', 'window=1h&window=1h', 'by=channel']) {
    t.equal((await get(`/console/data/counts?${query}`)).statusCode, 400, query)
  }
})

t.test(
  'a search names what is found and what is similar; event types come with their newest time',
  async (t) => {
    const similar = [{ kind: 'member', value: 'pty-1', locator: null }]
    t.strictSame((await get('/console/data/search?q=PTY-1')).json(), { hits: [], similar, endings: [] })
    for (const query of ['', 'q=', 'q=a&q=b', 'q=%00', `q=${'x'.repeat(256)}`])
      t.equal((await get(`/console/data/search?${query}`)).statusCode, 400, query)
    const { items } = (await get('/console/data/event-types')).json()
    t.strictSame(items[1], { eventType: 'claim.void', lastAt: null })
  },
)

t.test('preferences come with their newest 100 changes; a party without any is no error', async (t) => {
  const change = { changedAt: TIME, changedBy: 'a clerk', before: null, after: PREFERENCES }
  const shown = { preferences: PREFERENCES, unknownEventTypes: [], changes: [change], isMore: false }
  t.strictSame((await get('/console/data/preferences/PTY-1')).json(), shown)
  const nothing = { ...shown, preferences: null, changes: [] }
  t.strictSame((await get('/console/data/preferences/nobody')).json(), nothing)
  t.equal((await get('/console/data/preferences/%00')).statusCode, 400)
  const { preferences } = aConsole()
  const changes = async (_: string, countMax: number) => ({
    changes: Array.from({ length: countMax }, () => change),
    isMore: true,
  })
  const { app } = aManagement({ consoleData: aConsole({ preferences: { ...preferences, changes } }) })
  t.teardown(() => app.close())
  const history = (await app.inject('/console/data/preferences/PTY-1')).json()
  t.match([history.changes.length, history.isMore], [100, true])
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

t.test('simultaneous counts are one query, and an outage is not cached', async (t) => {
  let isDown = true
  let queryCount = 0
  const { app } = aManagement({
    consoleData: aConsole({
      countEntries: async (...asked) => {
        queryCount++
        if (isDown) throw OUTAGE
        return aConsole().countEntries(...asked)
      },
    }),
  })
  t.teardown(() => app.close())
  const count = (window: string) => app.inject(`/console/data/counts?window=${window}`)
  t.equal((await count('1h')).statusCode, 503)
  isDown = false
  const answers = await Promise.all(Array.from({ length: 20 }, () => count('1h')))
  t.ok(answers.every(({ statusCode }) => statusCode === 200))
  t.equal(queryCount, 2)
  await count('7d')
  t.equal(queryCount, 3)
})

t.test('the error of a console that was not built names the remedy', async (t) => {
  const folder = pathToFileURL(`${t.testdir({})}/`)
  t.throws(() => readConsolePage(folder), /the console is missing or not readable: run `make build`/)
})
