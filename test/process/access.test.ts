import t, { type Test } from 'tap'
import { createDocumentCheck } from '../service/http/documented.ts'
import { ADMIN_SCOPE, AUDIENCE, startIdentityProvider } from '../stack/identity-provider.ts'
import { anEvent, createWorld } from '../stack/world.ts'
import { exchange, type RawRequest } from './exchange.ts'

const [world, idp] = await Promise.all([createWorld(), startIdentityProvider()])
t.teardown(() => Promise.all([world.close(), idp.stop()]))
const env = {
  IDP_JWKS_URI: idp.keySetUrl,
  IDP_ISSUER: idp.issuer,
  IDP_AUDIENCE: AUDIENCE,
  IDP_ADMIN_SCOPE: ADMIN_SCOPE,
  IDP_PARTY_CLAIM: 'none',
  MANAGEMENT_PORT: '0',
}
const service = await world.serve(env)
await world.publish([anEvent({ eventId: 'access-1' })])
await world.caughtUp()
const [row] = await world.sql('SELECT locator FROM notifications.notification_log')
const known = String(row?.locator)
const unknown = known.replace(/.{12}$/, '000000000000')

const management = await service.managementUrl()
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document, read as it comes
const document: any = await (await fetch(`${management}/openapi.json`)).json()
const check = createDocumentCheck(document)

const ADMIN = `Bearer ${await idp.token(ADMIN_SCOPE)}`
const MEMBER = `Bearer ${await idp.token()}`
const BAD = `Bearer ${await idp.forge({ exp: 1 })}`

/** The right that each operation needs, with a valid request and its status. Invalid ones are in ../http/routes and fuzz.test.ts. */
interface Row extends Omit<RawRequest, 'method'> {
  readonly access: 'open' | 'token' | 'admin'
  readonly status: number
}
const open = (path: string, status = 200): Row => ({ access: 'open', path, status })
const byToken = (path: string, status = 200): Row => ({ access: 'token', path, status })
const byAdmin = (path: string, status = 200): Row => ({ access: 'admin', path, status })
const body = { headers: { 'content-type': 'application/json' }, body: '{"optedOutEvents":["claim.paid"]}' }
const party = '/preferences/party-1'

const TABLE: Readonly<Record<string, readonly Row[]>> = {
  'get /healthz': [open('/healthz')],
  'get /readyz': [open('/readyz')],
  'post /send': [open('/send', 202), { ...open('/send', 202), ...body }],
  'get /log/list': [byAdmin('/log/list'), byAdmin('/log/list?status=sent', 400)],
  'get /notifications/list': [byAdmin('/notifications/list')],
  'get /log/{locator}': [byAdmin(`/log/${known}`), byAdmin(`/log/${unknown}`, 404)],
  'get /notifications/{locator}': [byAdmin(`/notifications/${known}`)],
  'put /preferences/{partyLocator}': [{ ...byToken(party), ...body }, byToken(party, 400)],
  'get /preferences/{partyLocator}': [byToken(party), byToken('/preferences/party-2', 404)],
  'get /preferences/list': [byAdmin('/preferences/list')],
  'get /preferences': [byToken('/preferences')],
  'put /preferences': [{ ...byToken('/preferences'), ...body }],
}

t.test('the table covers every operation of the API document', async (t) => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method} ${path}`),
  )
  t.same(operations.sort(), Object.keys(TABLE).sort())
})

t.test('both listeners share one key set', async (t) => {
  for (const [url, path] of [
    [service.url, '/log/list'],
    [management, '/console/data/rules'],
  ] as const) {
    const headers = { authorization: ADMIN }
    t.equal((await exchange(url, { method: 'GET', path, headers })).status, 200)
  }
  t.equal(idp.keySetRequestCount(), 1)
})

/** Sends a request, and sees that the answer is as documented. */
async function send(t: Test, url: string, operation: string, row: Row, authorization?: string) {
  const [method = '', template = ''] = operation.split(' ')
  const { access: _, status: __, headers, ...rest } = row
  const token: Record<string, string> = authorization === undefined ? {} : { authorization }
  const sent = { ...rest, method: method.toUpperCase(), headers: { ...headers, ...token } }
  const answer = await exchange(url, sent)
  t.equal(check(sent.method, template, answer), null)
  return answer
}

for (const [operation, rows] of Object.entries(TABLE)) {
  t.test(`${operation} requires its kind of token`, async (t) => {
    for (const row of rows) {
      const { access, path, status: good } = row
      t.equal((await send(t, service.url, operation, row, ADMIN)).status, good, path)
      for (const authorization of [undefined, BAD]) {
        const { status, headers } = await send(t, service.url, operation, row, authorization)
        t.equal(status, access === 'open' ? good : 401, `${path} with ${authorization}`)
        t.equal(headers['www-authenticate'] !== undefined, access !== 'open')
      }
      const { status } = await send(t, service.url, operation, row, MEMBER)
      t.equal(status, access === 'admin' ? 403 : good, `${path} with a token of another scope`)
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

t.test('with the database down, only routes that need it answer 503', async (t) => {
  const down = await world.serve({ ...env, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' })
  for (const [operation, [good]] of Object.entries(TABLE)) {
    if (good === undefined) continue
    const { status } = await send(t, down.url, operation, good, ADMIN)
    const needless = / \/(healthz|send|preferences)$/.test(operation)
    t.equal(status, needless ? good.status : 503, operation)
  }
  const downManagement = await down.managementUrl()
  for (const path of CONSOLE_DATA) {
    const headers = { authorization: ADMIN }
    t.equal((await exchange(downManagement, { method: 'GET', path, headers })).status, 503, path)
  }
  const response = await fetch(`${down.url}/log/list`)
  t.equal(response.status, 401, 'who may not ask is not told about the database')
})
