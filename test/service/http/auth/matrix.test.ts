import type { RouteOptions } from 'fastify'
import t from 'tap'
import type { Requests } from '../../../../src/console/routes/request-routes.ts'
import { buildApp } from '../../../../src/service/http/public.ts'
import type { HttpApp } from '../../../../src/service/http/server/base.ts'
import { CorrectableError } from '../../../../src/service/text/faults.ts'
import {
  aConsole,
  aManagement,
  aRequestDesk,
  PREFERENCES,
  REQUEST,
  REVISION,
  TIME,
} from '../../../console/routes/fixture.ts'
import {
  ADMIN_SCOPE,
  newSigningKey,
  OPERATOR_SCOPE,
  startIdentityProvider,
} from '../../../stack/identity-provider.ts'
import { dependencies, ENTRY, tokensOf } from '../fixture.ts'

const idp = await startIdentityProvider()
t.teardown(() => idp.stop())
const rules = { ...tokensOf(idp), partyClaim: 'party' }
const own = dependencies({ tokens: rules })
own.stored.set('PTY-1', { ...PREFERENCES, changedBy: null })
const held = { id: '3', by: 'alice', because: 'PTY-1 complained', since: TIME, topics: null }
const status = { ...(await aConsole().status()), holds: [held] }
const { app: management, logged: managementLogged } = aManagement({
  tokens: rules,
  consoleData: aConsole({ status: async () => status }),
})
const LISTENERS = {
  public: { app: buildApp(own.all), logged: own.logged },
  management: { app: management, logged: managementLogged },
}

/** `reader and operator`: both scopes. Reading: the answer tells of members. */
type Right = 'open' | 'any' | 'own party or reader' | 'reader' | 'operator' | 'reader and operator'
interface Row {
  readonly right: Right
  readonly isReading?: true
  readonly url?: string
  readonly body?: object
}
const open: Row = { right: 'open' }
const reader = (url?: string): Row => ({ right: 'reader', ...(url && { url }) })
const reading = (url?: string): Row => ({ ...reader(url), isReading: true })
const period = `from=2026-01-30T00:00:00Z&to=2026-01-31T00:00:00Z`
const wanted = { kind: 'retry', filter: { partyLocator: 'PTY-1' } }

/** All routes. HEAD needs the right of GET. */
const TABLE: Readonly<Record<keyof typeof LISTENERS, Readonly<Record<string, Row>>>> = {
  public: {
    'GET /healthz': open,
    'GET /readyz': open,
    'POST /send': open,
    'GET /log/list': reading(),
    'GET /log/:locator': reading(`/log/${ENTRY.locator}`),
    'GET /notifications/list': reading(),
    'GET /notifications/:locator': reading(`/notifications/${ENTRY.locator}`),
    'GET /preferences': { right: 'any' },
    'PUT /preferences': { right: 'any', body: {} },
    'GET /preferences/list': reading(),
    'GET /preferences/:partyLocator': {
      right: 'own party or reader',
      isReading: true,
      url: '/preferences/PTY-1',
    },
    'PUT /preferences/:partyLocator': { right: 'own party or reader', url: '/preferences/PTY-1', body: {} },
  },
  management: {
    'GET /metrics': open,
    'GET /startupz': open,
    'GET /openapi.json': open,
    'GET /console': open,
    'GET /console/': open,
    'GET /console/sign-in': open,
    'GET /console/main-ABC.js': open,
    'GET /console/data/counts': reader(),
    'GET /console/data/rules': reader(),
    'GET /console/data/status': reading(),
    'GET /console/data/event-types': reader(),
    'GET /console/data/rights': reader(),
    'GET /console/data/workbench': reader(),
    'GET /console/data/workbench/decisions': reader(`/console/data/workbench/decisions?${period}`),
    'GET /console/data/workbench/rule-tables/:revision': reader(
      `/console/data/workbench/rule-tables/${REVISION}`,
    ),
    'GET /console/data/workbench/members': reading(`/console/data/workbench/members?${period}&group=1`),
    'GET /console/data/log/list': reading(),
    'GET /console/data/log/:locator': reading(`/console/data/log/${ENTRY.locator}`),
    'GET /console/data/search': reading('/console/data/search?q=PTY-1'),
    'GET /console/data/preferences/:partyLocator': reading('/console/data/preferences/PTY-1'),
    'GET /console/data/rejected': reading(),
    'GET /console/data/requests': reading(),
    'GET /console/data/requests/:id': reading('/console/data/requests/12'),
    'POST /console/data/requests': { right: 'operator', body: { wanted, because: `since ${TIME}` } },
    'POST /console/data/requests/preview': { right: 'reader and operator', isReading: true, body: wanted },
    'POST /console/data/requests/:id/cancel': {
      right: 'operator',
      url: '/console/data/requests/12/cancel',
      body: {},
    },
  },
}

const bearer = async (claims: object, privateKey?: Parameters<typeof idp.forge>[2]) =>
  `Bearer ${await idp.forge({ scope: 'openid', ...claims }, {}, privateKey)}`
const refused = { status: 401, rights: ['open'] }
const granted = (...rights: Right[]) => ({ status: 403, rights: ['open', 'any', ...rights] })
/** Tokens, each with the rights that it gives, and the status where it gives too little. */
const TOKENS: readonly (readonly [
  what: string,
  authorization: string | undefined,
  { readonly status: number; readonly rights: readonly string[] },
])[] = [
  ['none', undefined, refused],
  ['an expired one', await bearer({ scope: `${ADMIN_SCOPE} ${OPERATOR_SCOPE}`, exp: 1 }), refused],
  ['another issuer', await bearer({ scope: ADMIN_SCOPE, iss: 'https://evil.example' }), refused],
  ['another audience', await bearer({ scope: ADMIN_SCOPE, aud: 'billing' }), refused],
  ['another key', await bearer({ scope: ADMIN_SCOPE }, (await newSigningKey()).privateKey), refused],
  ['any client', await bearer({}), granted()],
  ["the member's own", await bearer({ party: 'PTY-1' }), granted('own party or reader')],
  ["another member's", await bearer({ party: 'PTY-2' }), granted()],
  ['a reader', await bearer({ scope: ADMIN_SCOPE }), granted('own party or reader', 'reader')],
  ['an operator', await bearer({ scope: OPERATOR_SCOPE }), granted('operator')],
  [
    'both',
    await bearer({ scope: `${ADMIN_SCOPE} ${OPERATOR_SCOPE}` }),
    granted('own party or reader', 'reader', 'operator', 'reader and operator'),
  ],
]

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS'] as const

for (const name of ['public', 'management'] as const) {
  const { app, logged } = LISTENERS[name]
  const table = TABLE[name]
  const routes = collectRoutes(app)
  t.teardown(() => app.close())

  t.test(`${name}: the table has every route`, async (t) => {
    await app.ready()
    t.strictSame([...routes].filter((route) => !route.startsWith('HEAD ')).sort(), Object.keys(table).sort())
  })

  t.test(
    `${name}: each token opens what it may, on each path by each method, and readings are logged`,
    async (t) => {
      await app.ready()
      const paths = new Map(Object.entries(table).map(([route, { url }]) => [route.split(' ')[1] ?? '', url]))
      for (const [path, url] of paths) {
        for (const method of METHODS) {
          const row = table[`${method === 'HEAD' ? 'GET' : method} ${path}`]
          for (const [what, authorization, { status, rights }] of TOKENS) {
            logged.length = 0
            const answer = await app.inject({
              method,
              url: url ?? path,
              headers: { ...(authorization && { authorization }), 'content-type': 'application/json' },
              ...(row?.body && { payload: JSON.stringify(row.body) }),
            })
            const asked = `${method} ${path} with ${what}`
            const isAllowed = row !== undefined && rights.includes(row.right)
            if (row === undefined) t.ok(answer.statusCode >= 400 && answer.statusCode < 500, asked)
            else if (isAllowed)
              t.ok([200, 201, 202, 308].includes(answer.statusCode), `${asked}: ${answer.body}`)
            else {
              t.equal(answer.statusCode, status, asked)
              const malformed = await app.inject({
                method,
                url: `${url ?? path}${url?.includes('?') ? '&' : '?'}limit=x&limit=y&unknown=%ff`,
                headers: { ...(authorization && { authorization }), 'content-type': 'application/json' },
                ...(row.body && { payload: '{"wanted": 1, ' }),
              })
              t.equal(malformed.statusCode, status, `${asked}, malformed`)
            }
            const readings = logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'read')
            t.equal(readings.length, isAllowed && row.isReading ? 1 : 0, `${asked}: lines about reading`)
            if (!isAllowed) t.notMatch(answer.body, /PTY-1|CLM-1|an outage/, `${asked} tells nothing`)
          }
        }
      }
    },
  )
}

t.test('whoever may not read learns from no request which items exist', async (t) => {
  const known = ENTRY.locator
  const add: Requests['add'] = async (wanted, ...rest) => {
    if ('locators' in wanted && !wanted.locators.includes(known))
      throw new CorrectableError('no log entry has it')
    if ('ids' in wanted && !wanted.ids.includes('7')) throw new CorrectableError('no rejected message has it')
    return aRequestDesk().add(wanted, ...rest)
  }
  const { app, logged } = aManagement({
    tokens: rules,
    consoleData: aConsole({ requests: aRequestDesk([], { add }) }),
  })
  t.teardown(() => app.close())
  const unknown = `${known.slice(0, -1)}0`
  const targets = (isKnown: boolean) => [
    { kind: 'retry', locators: [isKnown ? known : unknown] },
    { kind: 'redrive', ids: [isKnown ? '7' : '8'] },
    { kind: 'dismiss', ids: [isKnown ? '7' : '8'] },
  ]
  for (const [what, authorization, { status, rights }] of TOKENS)
    for (const isKnown of [true, false])
      for (const wanted of targets(isKnown)) {
        logged.length = 0
        const { statusCode } = await app.inject({
          method: 'POST',
          url: '/console/data/requests',
          headers: { ...(authorization && { authorization }), 'content-type': 'application/json' },
          payload: JSON.stringify({ wanted, because: 'x' }),
        })
        const ifAllowed = isKnown ? 201 : 400
        const isAllowed = rights.includes('reader and operator')
        t.equal(statusCode, isAllowed ? ifAllowed : status, `${what} asks to ${wanted.kind}, ${isKnown}`)
        const readings = logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'read')
        t.match(readings, isAllowed && !isKnown ? [{ filters: wanted, rowCount: 0 }] : [], 'who read')
        t.equal(readings.length, isAllowed && !isKnown ? 1 : 0)
      }
})

/** The routes that will be added to the app, without those that only refuse a method. */
function collectRoutes(app: HttpApp): ReadonlySet<string> {
  const routes = new Set<string>()
  app.addHook('onRoute', ({ url, method, exposeHeadRoute }: RouteOptions) => {
    if (exposeHeadRoute !== false) for (const one of [method].flat()) routes.add(`${one} ${url}`)
  })
  return routes
}

t.test(
  "the line about a preview names the reader and the filters; a cancelled request's target stays untold",
  async (t) => {
    const { app, logged } = LISTENERS.management
    const both = TOKENS.at(-1)?.[1] ?? ''
    const headers = { authorization: both, 'content-type': 'application/json' }
    const post = (path: string, payload: object) =>
      app.inject({ method: 'POST', url: `/console/data/requests${path}`, headers, payload })
    logged.length = 0
    await post('/preview', wanted)
    t.match(JSON.parse(logged[0] ?? ''), {
      msg: 'read',
      tokenSubject: 'console',
      route: '/console/data/requests/preview',
      filters: wanted,
      rowCount: 1,
    })
    const { id, kind } = REQUEST
    const impersonal = { id, kind }
    t.strictSame((await post('/12/cancel', {})).json(), impersonal)
    // A key or the id of a hold may be another person's; the state and the times tell whether a filter fits an entry.
    t.strictSame((await post('', { wanted, because: 'x', key: '0'.repeat(32) })).json(), impersonal)
  },
)
