import t from 'tap'
import { CorrectableError } from '../../../src/service/text/faults.ts'
import { ENTRY, tokensOf } from '../../service/http/fixture.ts'
import { ADMIN_SCOPE, OPERATOR_SCOPE, startIdentityProvider } from '../../stack/identity-provider.ts'
import { aConsole, aManagement, aRequestDesk, REQUEST } from './fixture.ts'

const idp = await startIdentityProvider()
t.teardown(() => idp.stop())
const bearer = async (scope: string, sub = 'alice') => `Bearer ${await idp.forge({ scope, sub })}`
const OPERATOR = await bearer(`${ADMIN_SCOPE} ${OPERATOR_SCOPE}`)
const ADMIN = await bearer(ADMIN_SCOPE)

const added: unknown[] = []
const consoleData = aConsole({ requests: aRequestDesk(added) })
const closed = aManagement({ tokens: tokensOf(idp), consoleData })
const unset = aManagement({ tokens: { ...tokensOf(idp), operatorScope: null }, consoleData })
const open = aManagement({ consoleData })
const exposed = aManagement({ consoleData, isLoopback: false })
t.teardown(() => Promise.all([closed, unset, open, exposed].map(({ app }) => app.close())))

const ASKED = { wanted: { kind: 'retry', locators: [ENTRY.locator] }, because: 'an outage' }
const post = ({ app }: typeof open, path: string, payload: unknown, headers: Record<string, string> = {}) =>
  app.inject({
    method: 'POST',
    url: `/console/data/requests${path}`,
    headers: { 'content-type': 'application/json', ...headers },
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  })

t.beforeEach(() => {
  added.length = 0
})

t.test("only holders of the operators' scope ask, preview and cancel", async (t) => {
  const paths = [
    ['', ASKED],
    ['/preview', ASKED.wanted],
    ['/12/cancel', {}],
  ] as const
  for (const [path, body] of paths) {
    t.equal((await post(closed, path, body)).statusCode, 401, 'no token')
    const admin = await post(closed, path, body, { authorization: ADMIN })
    t.match(admin, { statusCode: 403, headers: { 'www-authenticate': /insufficient_scope/ } })
    t.match(admin.json(), { detail: `The token needs ${OPERATOR_SCOPE} in its claim scope.` })
    t.match((await post(unset, path, body, { authorization: OPERATOR })).json(), {
      status: 403,
      detail: /^IDP_OPERATOR_SCOPE is not set/,
    })
    t.match((await post(exposed, path, body)).json(), { status: 403, detail: /loopback/ })
    t.strictSame(added, [], 'nothing was written')
    for (const side of [open, closed])
      t.match((await post(side, path, body, { authorization: OPERATOR })).statusCode, /^20[01]$/)
    added.length = 0
  }
})

t.test('a refusal for lack of the right to ask is logged with its cause', async (t) => {
  closed.logged.length = 0
  await post(closed, '', ASKED, { authorization: ADMIN })
  t.match(JSON.parse(closed.logged.at(-1) ?? '{}'), {
    msg: 'request refused',
    reason: `The token needs ${OPERATOR_SCOPE} in its claim scope.`,
    disagreements: [{ claim: 'scope', variable: 'IDP_OPERATOR_SCOPE or IDP_ADMIN_CLAIM' }],
  })
})

t.test('the console learns whether its reader may ask', async (t) => {
  const refusal = async ({ app }: typeof open, authorization: string) =>
    (await app.inject({ url: '/console/data/rights', headers: { authorization } })).json().refusal
  t.equal(await refusal(closed, OPERATOR), null)
  t.match(await refusal(closed, ADMIN), /needs notifications:operator/)
  t.match(await refusal(unset, OPERATOR), /IDP_OPERATOR_SCOPE/)
  t.equal(await refusal(open, ''), null)
  t.match(await refusal(exposed, ''), /identity provider/)
})

t.test('a request is taken with its author and reason, and logged', async (t) => {
  const response = await post(closed, '', ASKED, { authorization: OPERATOR })
  t.equal(response.statusCode, 201)
  t.strictSame(Object.keys(response.json()).sort(), ['id', 'kind'])
  t.match(response.json(), { id: '12', kind: 'retry' })
  t.strictSame(added, [{ ...ASKED, by: 'alice' }])
  t.match(closed.logged.join(''), /"tokenSubject":"alice","request":"12","kind":"retry"/)
  await post(open, '', ASKED)
  t.match(added[1], { by: 'console' }, 'without a token nobody is named')
})

t.test('what is asked for is checked, and nothing is written unless it is right', async (t) => {
  const filter = (value: object) => ({ ...ASKED, wanted: { kind: 'retry', filter: value } })
  const bad: readonly (readonly [what: string, body: unknown])[] = [
    ['no reason', { wanted: ASKED.wanted }],
    ['a blank reason', { ...ASKED, because: '  ' }],
    ['a reason of 501 characters', { ...ASKED, because: 'x'.repeat(501) }],
    ['no item', { ...ASKED, wanted: { kind: 'retry', locators: [] } }],
    ['not a locator', { ...ASKED, wanted: { kind: 'retry', locators: ['CLM-1'] } }],
    [
      'more items than a request names',
      { ...ASKED, wanted: { kind: 'redrive', ids: Array(1_001).fill('1') } },
    ],
    ['an unknown filter, which must not mean all', filter({ partyLocators: 'party-1' })],
    ['an unknown channel, which must not mean all', filter({ channel: 'FAX' })],
    ['a blank filter', filter({ partyLocator: '' })],
    ['another kind', { ...ASKED, wanted: { kind: 'erase', locators: [ENTRY.locator] } }],
    [
      'a negative offset',
      { ...ASKED, wanted: { kind: 'skip', batch: { topic: 'claims', partition: 0, offset: '-1' } } },
    ],
    ['a hold of no topic, which must not mean all', { ...ASKED, wanted: { kind: 'hold', topics: [] } }],
    ['an end of no hold', { ...ASKED, wanted: { kind: 'resume' } }],
    ['a key that is no key', { ...ASKED, key: 'again' }],
    ['no JSON', '{'],
  ]
  for (const [what, body] of bad) t.equal((await post(open, '', body)).statusCode, 400, what)
  const FAULTS: readonly (readonly [wanted: object, pointer: string, detail: RegExp])[] = [
    [{ kind: 'retry', locators: ['CLM-1'] }, '#/wanted/locators/0', /must be a locator/],
    [{ kind: 'retry', filter: { channel: 'FAX' } }, '#/wanted/filter/channel', /must be one of EMAIL/],
    [{ kind: 'retry', filter: { party: 'x' } }, '#/wanted/filter/party', /not a known name/],
    [{ kind: 'redrive', ids: ['0'] }, '#/wanted/ids/0', /must be the id/],
    [
      { kind: 'skip', batch: { topic: 'claims', partition: 0, offset: '-1' } },
      '#/wanted/batch/offset',
      /whole number/,
    ],
  ]
  for (const [wanted, pointer, detail] of FAULTS)
    t.match((await post(open, '', { ...ASKED, wanted })).json().errors, [{ pointer, detail }])
  t.equal((await post(open, '', `"${'x'.repeat(10_000_000)}"`)).statusCode, 413)
  t.strictSame(added, [])
  const good = [
    filter({}),
    filter({ notTold: 'true' }),
    { ...ASKED, key: '0123456789abcdef'.repeat(2) },
    filter({ partyLocator: 'party-1', from: '7d', reason: 'party not found', rule: 'r', request: '3' }),
    {
      ...ASKED,
      wanted: { kind: 'redrive', filter: { code: 'not-json', topic: 'claims', since: '2d', before: '1d' } },
    },
    { ...ASKED, wanted: { kind: 'dismiss', ids: ['1'] } },
    { ...ASKED, wanted: { kind: 'skip', batch: { topic: 'claims', partition: 0, offset: '7' } } },
    { ...ASKED, wanted: { kind: 'hold' } },
    { ...ASKED, wanted: { kind: 'hold', topics: ['claims'] } },
    { ...ASKED, wanted: { kind: 'resume', hold: '12' } },
  ]
  for (const body of good) t.equal((await post(open, '', body)).statusCode, 201, JSON.stringify(body))
})

t.test('a page of another origin cannot ask', async (t) => {
  const body = JSON.stringify(ASKED)
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
    t.equal((await post(open, '', body, { 'content-type': type })).statusCode, 415, 'what a form can send')
  t.equal((await post(open, '', body, { host: 'evil.example' })).statusCode, 421)
  for (const site of ['cross-site', 'same-site'])
    t.match((await post(open, '', body, { 'sec-fetch-site': site })).json(), {
      status: 403,
      detail: /another origin/,
    })
  t.equal((await post(open, '', body, { 'sec-fetch-site': 'same-origin' })).statusCode, 201)
  added.length = 0
  const blank = { method: 'POST', url: '/console/data/requests/12/cancel' } as const
  t.equal((await open.app.inject(blank)).statusCode, 400, 'a POST without a body needs no leave')
  const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
  const preflight = await open.app.inject({ method: 'OPTIONS', url: '/console/data/requests', headers })
  t.notOk('access-control-allow-origin' in preflight.headers)
  t.strictSame(added, [])
})

t.test('requests are listed and shown; items that do not exist are named', async (t) => {
  const get = (path: string) => open.app.inject({ url: `/console/data/requests${path}` })
  const { items, nextCursor } = (await get('')).json()
  t.match(items, [REQUEST])
  t.match((await get(`?cursor=${nextCursor}`)).json(), { nextCursor: null })
  t.match((await get('/12')).json(), REQUEST)
  t.equal((await get('/13')).statusCode, 404)
  t.equal((await get('/x')).statusCode, 400)
  t.equal((await post(open, '/13/cancel', {})).statusCode, 404)
  const unknown = async () => {
    throw new CorrectableError('no log entry has the locator X')
  }
  const asking = aManagement({
    consoleData: aConsole({ requests: aRequestDesk([], { add: unknown, preview: unknown }) }),
  })
  t.teardown(() => asking.app.close())
  t.match((await post(asking, '', ASKED)).json(), { status: 400, detail: 'no log entry has the locator X.' })
})
