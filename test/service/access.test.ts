import t, { type Test } from 'tap'
import { createDocumentCheck } from '../http/documented.ts'
import { ADMIN_SCOPE, AUDIENCE, startIdentityProvider } from '../stack/identity-provider.ts'
import { until } from '../stack/until.ts'
import { anEvent, createWorld } from '../stack/world.ts'
import { exchange, type Request } from './exchange.ts'

const [world, idp] = await Promise.all([createWorld(), startIdentityProvider()])
t.teardown(() => Promise.all([world.close(), idp.stop()]))
const env = {
  IDP_JWKS_URI: idp.keySetUrl,
  IDP_ISSUER: idp.issuer,
  IDP_AUDIENCE: AUDIENCE,
  IDP_ADMIN_SCOPE: ADMIN_SCOPE,
  MANAGEMENT_PORT: '0',
}
const service = await world.serve(env)
await world.publish([anEvent({ eventId: 'access-1' })])
await world.caughtUp()
const [row] = await world.sql('SELECT locator FROM notifications.notification_log')
const known = String(row?.locator)
const unknown = known.replace(/.{12}$/, '000000000000')

const management = String((await service.logged(/^the management listener is up$/)).url)
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document, read as it comes
const document: any = await (await fetch(`${management}/openapi.json`)).json()
const check = createDocumentCheck(document)

const ADMIN = `Bearer ${await idp.token(ADMIN_SCOPE)}`
const MEMBER = `Bearer ${await idp.token()}`
const BAD = `Bearer ${await idp.forge({ exp: 1 })}`
const json = { 'content-type': 'application/json' }

/** What is asked of an operation, with a token that may do everything, and the status that it answers. */
type Case = Omit<Request, 'method' | 'path'> & { readonly path: string; readonly status: number }
interface Row {
  readonly access: 'open' | 'token' | 'admin'
  /** The first one is the good one. */
  readonly cases: readonly Case[]
}

const LIST_CASES = (path: string): Row => ({
  access: 'admin',
  cases: [
    { path, status: 200 },
    { path: `${path}?status=SENT&limit=1`, status: 200 },
    { path: `${path}?status=sent`, status: 400 },
    { path: `${path}?limit=0`, status: 400 },
    { path: `${path}?cursor=x`, status: 400 },
    { path: `${path}?partyLocators=x`, status: 400 },
    { path: `${path}?partyLocator=${'x'.repeat(20_000)}`, status: 431 },
  ],
})
const ENTRY_CASES = (path: string): Row => ({
  access: 'admin',
  cases: [
    { path: `${path}/${known}`, status: 200 },
    { path: `${path}/${unknown}`, status: 404 },
    { path: `${path}/NTF-1`, status: 404 },
    { path: `${path}/%00`, status: 404 },
  ],
})
const PREFERENCES = {
  email: 'a@example.org',
  phone: null,
  preferredChannel: 'SMS',
  optedOutEvents: ['claim.paid'],
}
const body = (value: unknown) => ({ headers: json, body: JSON.stringify(value) })

const TABLE: Readonly<Record<string, Row>> = {
  'get /healthz': { access: 'open', cases: [{ path: '/healthz', status: 200 }] },
  'get /readyz': { access: 'open', cases: [{ path: '/readyz', status: 200 }] },
  'post /send': {
    access: 'open',
    cases: [
      { path: '/send', status: 202 },
      { path: '/send', headers: json, body: '{', status: 202 },
      { path: '/send', headers: { 'content-type': ';;' }, body: 'x', status: 202 },
    ],
  },
  'get /log/list': LIST_CASES('/log/list'),
  'get /notifications/list': LIST_CASES('/notifications/list'),
  'get /log/{locator}': ENTRY_CASES('/log'),
  'get /notifications/{locator}': ENTRY_CASES('/notifications'),
  'put /preferences/{partyLocator}': {
    access: 'token',
    cases: [
      { path: '/preferences/party-1', ...body(PREFERENCES), status: 200 },
      { path: '/preferences/party-1', ...body({}), status: 200 },
      { path: '/preferences/party-1', ...body({ ...PREFERENCES, preferredChannel: 'PUSH' }), status: 400 },
      { path: '/preferences/party-1', ...body({ ...PREFERENCES, nope: 1 }), status: 400 },
      { path: '/preferences/party-1', ...body([]), status: 400 },
      { path: '/preferences/party-1', headers: json, body: '{', status: 400 },
      { path: '/preferences/party-1', headers: json, body: '', status: 400 },
      { path: '/preferences/party-1', headers: { 'content-type': 'text/plain' }, body: 'x', status: 415 },
      { path: '/preferences/party-1', headers: json, body: JSON.stringify('x'.repeat(70_000)), status: 413 },
      { path: '/preferences/%00', ...body(PREFERENCES), status: 400 },
    ],
  },
  'get /preferences/{partyLocator}': {
    access: 'token',
    cases: [
      { path: '/preferences/party-1', status: 200 },
      { path: '/preferences/party-2', status: 404 },
    ],
  },
  'get /preferences/list': {
    access: 'admin',
    cases: [
      { path: '/preferences/list', status: 200 },
      { path: '/preferences/list?limit=0', status: 400 },
      { path: '/preferences/list?nope=1', status: 400 },
    ],
  },
  'get /preferences': { access: 'token', cases: [{ path: '/preferences', status: 200 }] },
  'put /preferences': {
    access: 'token',
    cases: [
      { path: '/preferences', ...body({ a: 1 }), status: 200 },
      { path: '/preferences', headers: json, body: '{', status: 400 },
    ],
  },
}

t.test('every operation of the document has a row in the table', async (t) => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method} ${path}`),
  )
  t.same(
    operations.filter((operation) => TABLE[operation] === undefined),
    [],
  )
})

for (const [operation, { access, cases }] of Object.entries(TABLE)) {
  const [method = '', template = ''] = operation.split(' ')
  if (document.paths[template]?.[method] === undefined) continue

  /** Sends it, and sees that the answer is as documented. */
  const send = async (t: Test, { headers, status: _, ...rest }: Case, authorization?: string) => {
    const token: Record<string, string> = authorization === undefined ? {} : { authorization }
    const answer = await exchange(service.url, {
      ...rest,
      method: method.toUpperCase(),
      headers: { ...headers, ...token },
    })
    t.equal(check(method.toUpperCase(), template, answer), null)
    return answer
  }

  t.test(`${operation}, access ${access}`, async (t) => {
    for (const each of cases) {
      const what = `${each.path.slice(0, 60)} ${each.body?.slice(0, 60) ?? ''}`
      t.equal((await send(t, each, ADMIN)).status, each.status, what)
      for (const [how, authorization] of [
        ['no', undefined],
        ['a bad', BAD],
      ] as const) {
        const { status, headers } = await send(t, each, authorization)
        const closed = access !== 'open' && each.status !== 431
        t.equal(status, closed ? 401 : each.status, `${what} with ${how} token`)
        t.equal(headers['www-authenticate'] !== undefined, closed)
      }
      const { status } = await send(t, each, MEMBER)
      const refused = access === 'admin' && each.status !== 431
      t.equal(status, refused ? 403 : each.status, `${what} with a token of another scope`)
    }
  })
}

const CONSOLE_DATA = [
  '/console/data/counts',
  '/console/data/rules',
  '/console/data/log/list',
  `/console/data/log/${known}`,
  '/console/data/log/list?notTold=true',
  '/console/data/preferences/party-1',
  '/console/data/rejected',
]

t.test('with the database down, only what needs it is 503', async (t) => {
  const down = await world.serve({ ...env, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' })
  for (const [operation, { cases }] of Object.entries(TABLE)) {
    const [method = '', template = ''] = operation.split(' ')
    const [good] = cases
    if (good === undefined || document.paths[template]?.[method] === undefined) continue
    const answer = await exchange(down.url, {
      ...good,
      method: method.toUpperCase(),
      headers: { ...good.headers, authorization: ADMIN },
    })
    const needless = ['/healthz', '/send', '/preferences'].includes(template)
    t.equal(answer.status, needless ? good.status : 503, operation)
    t.equal(check(method.toUpperCase(), template, answer), null)
  }
  const downManagement = String((await down.logged(/^the management listener is up$/)).url)
  for (const path of CONSOLE_DATA) {
    const headers = { authorization: ADMIN }
    t.equal((await exchange(downManagement, { method: 'GET', path, headers })).status, 503, path)
  }
  const response = await fetch(`${down.url}/log/list`)
  t.equal(response.status, 401, 'who may not ask is not told about the database')
})

t.test('without a key set all is open, and the log says so', async (t) => {
  const open = await world.serve()
  await open.logged(/^all routes are open: set IDP_JWKS_URI to require tokens$/)
  const get = (path: string) => exchange(open.url, { method: 'GET', path })
  await until(async () => (await get('/readyz')).status === 200, { what: 'the service to be ready' })
  t.equal((await get('/log/list')).status, 200)
  t.equal(
    (await exchange(open.url, { method: 'GET', path: '/log/list', headers: { authorization: BAD } })).status,
    200,
  )
})
