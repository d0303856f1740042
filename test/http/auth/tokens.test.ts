import { KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { Tokens } from '../../../src/http/auth/tokens.ts'
import { ADMIN_SCOPE, AUDIENCE, newSigningKey, startIdentityProvider } from '../../stack/identity-provider.ts'
import { until } from '../../stack/until.ts'
import { documentedApp } from '../documented.ts'
import { anyTokensOf, dependencies, ENTRY, served, tokensOf } from '../fixture.ts'
import { segment, signedBy } from './attacks.ts'

const idp = await startIdentityProvider()
t.teardown(() => idp.stop())

function appWith(tokens: Tokens) {
  const { all, logged } = dependencies({ tokens })
  const app = documentedApp(all)
  t.teardown(() => app.close())
  const get = (authorization?: string, url = '/log/list') =>
    app.inject({ url, headers: authorization === undefined ? {} : { authorization } })
  return { app, get, logged }
}

const { app, get, logged } = appWith(tokensOf(idp))

const seconds = () => Math.floor(Date.now() / 1000)
const good = await idp.token(ADMIN_SCOPE)
const [head = '', payload = '', signature = ''] = good.split('.')
const claims = { iss: idp.issuer, aud: AUDIENCE, sub: 'x', exp: seconds() + 600, scope: ADMIN_SCOPE }

const foreign = await newSigningKey()
const decoy = createServer((_request, response) => {
  decoyCount++
  response.end(JSON.stringify({ keys: [{ ...foreign.privateJwk, d: undefined }] }))
})
let decoyCount = 0
decoy.listen(0, '127.0.0.1')
t.teardown(() => decoy.close())
const decoyUrl = () => `http://127.0.0.1:${(decoy.address() as { port: number }).port}`

t.test('a token from the identity provider is accepted', async (t) => {
  t.equal((await get(`Bearer ${good}`)).statusCode, 200)
})

t.test('valid tokens of other shapes are accepted', async (t) => {
  const shapes: Record<string, string> = {
    'a lower-case scheme': `bearer ${good}`,
    'two spaces': `Bearer  ${good}`,
    'several audiences': `Bearer ${await idp.forge({ aud: ['other', AUDIENCE] })}`,
    'no subject': `Bearer ${await idp.forge({ sub: undefined as never })}`,
    'several scopes': `Bearer ${await idp.forge({ scope: `openid ${ADMIN_SCOPE}` })}`,
    'a clock that is a little ahead': `Bearer ${await idp.forge({ nbf: seconds() + 2 })}`,
    'a clock that is a little behind': `Bearer ${await idp.forge({ exp: seconds() - 2 })}`,
  }
  for (const [what, authorization] of Object.entries(shapes)) {
    t.equal((await get(authorization)).statusCode, 200, what)
  }
})

/** Wrong claims. Wrong signatures and headers are in attacks.ts. */
const BAD_TOKENS: Record<string, () => string | Promise<string>> = {
  expired: () => idp.forge({ exp: seconds() - 60 }),
  'not yet valid': () => idp.forge({ nbf: seconds() + 60 }),
  'no exp': () => idp.forge({ exp: undefined as never }),
  'an exp that is no number': () => idp.forge({ exp: '9999999999' as never }),
  'an nbf beyond all dates': () => idp.forge({ nbf: 1e300 }),
  'an exp before all dates': () => idp.forge({ exp: -1e300 }),
  'the wrong issuer': () => idp.forge({ iss: `${idp.issuer}/` }),
  'no issuer': () => idp.forge({ iss: undefined as never }),
  'the wrong audience': () => idp.forge({ aud: `${AUDIENCE}2` }),
  'no audience': () => idp.forge({ aud: undefined as never }),
  'an unknown kid': () => idp.forge({}, { kid: 'nobody' }),
  'no kid': () => idp.forge({}, { kid: undefined as never }),
  'a kid that is no text': () => idp.forge({}, { kid: { toString: 1 } as never }),
  'a jku pointing elsewhere': () =>
    idp.forge({}, { kid: foreign.kid, jku: `${decoyUrl()}/jwks` }, foreign.privateKey),
  'an x5u pointing elsewhere': () =>
    idp.forge({}, { kid: foreign.kid, x5u: `${decoyUrl()}/x` }, foreign.privateKey),
  'an issuer elsewhere': () => idp.forge({ iss: decoyUrl() }, { kid: foreign.kid }, foreign.privateKey),
  'a subject that no text can hold': () => idp.forge({ sub: 'a\0b' }),
  'a subject longer than an identifier': () => idp.forge({ sub: '😀'.repeat(128) }),
  'a subject that is no text': () => idp.forge({ sub: 1 as never }),
  'a payload that is no object': () => `${head}.${segment('x')}.${signature}`,
  '100 kB': () => `${head}.${'A'.repeat(100 * 1024)}.${signature}`,
  '15 kB of nothing': () => 'A'.repeat(15 * 1024),
}
for (const [what, make] of Object.entries(BAD_TOKENS)) {
  t.test(`a token with ${what} gets a 401 that contains no part of it`, async (t) => {
    const token = await make()
    const response = await get(`Bearer ${token}`)
    t.equal(response.statusCode, 401)
    t.equal(response.headers['content-type'], 'application/problem+json')
    t.match(
      response.headers['www-authenticate'],
      /^Bearer realm="notifications-service", error="invalid_token", error_description="The token [a-z ]+\."$/,
    )
    const { detail, ...rest } = response.json()
    t.same(rest, {
      type: 'urn:problem-type:notifications-service:unauthorized',
      title: 'A valid token is required',
      status: 401,
    })
    t.match(detail, /^The token (is not valid|is not valid yet|has expired)\.$/)
  })
}

/** The log line of a refusal. */
const REASONS: readonly (readonly [Record<string, unknown>, string | RegExp])[] = [
  [{ exp: seconds() - 60 }, 'Authorization token expired'],
  [{ nbf: seconds() + 60 }, /^The token will be active at /],
  [{ exp: undefined }, 'The exp claim is required.'],
  [{ iss: 'https://elsewhere.example' }, 'The iss claim value is not allowed.'],
  [{ aud: ['a', 'b'] }, 'None of aud claim values are allowed.'],
  [{ sub: 1 }, /^the sub claim is not a text/],
]

t.test('each refusal logs one line with its reason and no part of an invalid token', async (t) => {
  const { app, get, logged } = appWith({ ...tokensOf(idp), partyClaim: 'party' })
  const { kid, privateKey, publicKey } = idp.key()
  const rsa = { kid, privateKey: KeyObject.from(privateKey), publicKey: KeyObject.from(publicKey) }
  const lineAfter = async (authorization?: string, url?: string) => {
    await app.ready()
    logged.length = 0
    await get(authorization, url)
    const lines = logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg !== 'request answered')
    t.equal(lines.length, 1)
    if (authorization !== undefined) t.notMatch(logged.join(''), authorization.slice(7))
    return lines[0]
  }
  const refused = {
    level: 'info',
    msg: 'request refused',
    method: 'GET',
    route: '/log/list',
    tokenSubject: null,
  }
  await get(`Bearer ${good}`)
  for (const [claims, reason] of REASONS) {
    const line = await lineAfter(`Bearer ${await idp.forge({ sub: 'eve', ...claims } as never)}`)
    t.match(line, { ...refused, reason })
  }
  for (const [authorization, reason] of [
    [undefined, 'there is no bearer token'],
    ['Basic YTpi', 'there is no bearer token'],
    [`Bearer ${await idp.forge({}, { kid: 'nobody' })}`, /^the key id is not in the key set/],
    [`Bearer ${segment({ alg: 'HS256', kid })}.${payload}.${signature}`, 'the algorithm is not allowed'],
    [`Bearer ${head}.${payload}.${'A'.repeat(signature.length)}`, 'The token signature is invalid.'],
    [`Bearer ${head}.AAAA.${signature}`, /^(The|the) token .*/],
    [`Bearer ${signedBy(rsa, claims, { crit: ['secretive'] })}`, 'the token is malformed'],
  ] as const)
    t.match(await lineAfter(authorization), { ...refused, reason })
  const member = `Bearer ${await idp.forge({ sub: 'member-1', scope: 'openid' })}`
  const tokenSubject = 'member-1'
  const reason = `the token does not have ${ADMIN_SCOPE} in its claim scope`
  t.match(await lineAfter(member), { ...refused, tokenSubject, reason })
  const route = '/preferences/:partyLocator'
  t.match(await lineAfter(member, '/preferences/PTY-1'), {
    ...refused,
    tokenSubject,
    reason,
    route,
    partyLocator: 'PTY-1',
  })
})

t.test('keys are only ever requested from IDP_JWKS_URI', async (t) => {
  t.equal(decoyCount, 0)
})

const NO_TOKENS: readonly (readonly [string, string | undefined, string | undefined])[] = [
  ['no header', undefined, undefined],
  ['an empty header', '', undefined],
  ['another scheme', 'Basic YTpi', undefined],
  ['a token without a scheme', good, undefined],
  ['a scheme that begins alike', `Bearerx ${good}`, undefined],
  ['no token', 'Bearer', 'invalid_request'],
  ['two tokens', `Bearer ${good} ${good}`, 'invalid_request'],
  ['two tokens with a comma', `Bearer ${good},${good}`, 'invalid_request'],
  ['quotes', `Bearer "${good}"`, 'invalid_request'],
]
t.test('a request without a token in its header gets a 401 that requests one', async (t) => {
  for (const [what, authorization, error] of NO_TOKENS) {
    const response = await get(authorization)
    t.equal(response.statusCode, 401, what)
    const challenge = String(response.headers['www-authenticate'])
    t.match(challenge, /^Bearer realm="notifications-service"/)
    t.equal(/error="(\w+)"/.exec(challenge)?.[1], error)
  }
})

t.test('a token outside the header is ignored', async (t) => {
  for (const request of [
    { url: `/log/list?access_token=${good}` },
    { url: `/log/list?token=${good}` },
    { url: '/log/list', headers: { cookie: `token=${good}` } },
    { url: '/log/list', headers: { 'x-access-token': good, 'proxy-authorization': `Bearer ${good}` } },
  ]) {
    t.equal((await app.inject(request)).statusCode, 401)
  }
})

t.test('an administrative view requires its scope as a whole word', async (t) => {
  for (const scope of [undefined, '', `${ADMIN_SCOPE}2`, ADMIN_SCOPE.toUpperCase(), { [ADMIN_SCOPE]: 1 }]) {
    const response = await get(`Bearer ${await idp.forge({ scope })}`)
    t.equal(response.statusCode, 403, String(scope))
    t.equal(response.headers['content-type'], 'application/problem+json')
    t.equal(
      response.headers['www-authenticate'],
      `Bearer realm="notifications-service", error="insufficient_scope", scope="${ADMIN_SCOPE}"`,
    )
  }
})

t.test('a token without a scope is sufficient if none is configured', async (t) => {
  const { get } = appWith(anyTokensOf(idp))
  t.equal((await get(`Bearer ${await idp.token()}`)).statusCode, 200)
  t.equal((await get(`Bearer ${await idp.forge({ iss: 'x', aud: 'y' })}`)).statusCode, 200)
  t.equal((await get()).statusCode, 401)
})

t.test('a token reads and writes the preferences of the party in its claim, and of no other', async (t) => {
  const { app } = appWith({ ...tokensOf(idp), partyClaim: 'party' })
  const statusOf = async (claims: object, party: string, method: 'GET' | 'PUT' | 'HEAD' = 'PUT') => {
    const authorization = `Bearer ${await idp.forge({ scope: 'openid', ...claims })}`
    const url = `/preferences/${encodeURIComponent(party)}`
    const payload = method === 'PUT' ? { payload: {} } : {}
    return (await app.inject({ method, url, headers: { authorization }, ...payload })).statusCode
  }
  const own = { party: 'PTY-1/ä' }
  t.equal(await statusOf(own, 'PTY-1/ä'), 200)
  t.equal(await statusOf(own, 'PTY-1/ä', 'GET'), 200)
  for (const method of ['GET', 'PUT', 'HEAD'] as const) {
    for (const other of ['PTY-2', 'pty-1/ä', 'PTY-1/ä ', 'PTY-1%2Fä'])
      t.equal(await statusOf(own, other, method), 403, other)
  }
  for (const claims of [{}, { party: ['PTY-1'] }, { party: 1 }, { Party: 'PTY-1' }, { sub: 'PTY-1' }])
    t.equal(await statusOf(claims, 'PTY-1'), 403, JSON.stringify(claims))
  t.equal(await statusOf({ scope: ADMIN_SCOPE }, 'PTY-1'), 200, 'but with the scope of administrators')
  t.equal(await statusOf({ ...own, scope: ADMIN_SCOPE }, 'PTY-2', 'GET'), 404)
  const inherited = appWith({ ...tokensOf(idp), partyClaim: 'constructor' }).app
  const authorization = `Bearer ${await idp.forge({ scope: 'openid' })}`
  const refused = await inherited.inject({ url: '/preferences/PTY-1', headers: { authorization } })
  t.equal(refused.statusCode, 403)
  t.match(refused.json().detail, 'only the preferences of the party in its claim constructor')
  t.match(refused.headers['www-authenticate'], /error="insufficient_scope", scope="notifications:admin"$/)
})

t.test('a change by the party is recorded apart from one by an administrator', async (t) => {
  const made: unknown[] = []
  const { all } = dependencies({ tokens: { ...tokensOf(idp), partyClaim: 'party' } })
  const put: typeof all.preferences.put = async (party, preferences, ...by) => {
    made.push([party, ...by])
    return preferences
  }
  const app = documentedApp({ ...all, preferences: { ...all.preferences, put } })
  t.teardown(() => app.close())
  for (const claims of [
    { sub: 'member', scope: '', party: 'PTY-1' },
    { sub: 'agent', party: 'PTY-2' },
  ]) {
    const headers = { authorization: `Bearer ${await idp.forge(claims)}` }
    await app.inject({ method: 'PUT', url: '/preferences/PTY-1', payload: {}, headers })
  }
  t.same(made, [
    ['PTY-1', 'member', true],
    ['PTY-1', 'agent', false],
  ])
})

t.test('open routes ignore tokens; unknown paths and methods need none', async (t) => {
  const cases = [
    ['GET', '/healthz', 200],
    ['GET', '/readyz', 200],
    ['POST', '/send', 202],
    ['GET', '/nowhere', 404],
    ['DELETE', '/log/list', 405],
    ['GET', `/log/${ENTRY.locator}`, 401],
    ['HEAD', '/log/list', 401],
    ['GET', '/notifications/list', 401],
    ['GET', `/notifications/${ENTRY.locator}`, 401],
  ] as const
  for (const [method, url, status] of cases) {
    for (const headers of [{}, { authorization: 'Bearer nonsense' }, { authorization: 'Bearer' }]) {
      t.equal((await app.inject({ method, url, headers })).statusCode, status, `${method} ${url}`)
    }
  }
})

t.test(
  'on a real connection, two headers are refused, and one of 100 kB gets a 401 or is ignored',
  async (t) => {
    const { port } = await served(t, dependencies({ tokens: tokensOf(idp) }).all)
    const statusOf = async (path: string, ...lines: string[]) => {
      const socket = connect(port, '127.0.0.1')
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines.join('\r\n')}\r\n\r\n`)
      return Number((await text(socket)).split(' ')[1])
    }
    const big = `Authorization: Bearer ${'A'.repeat(100 * 1024)}`
    t.equal(await statusOf('/log/list', `Authorization: Bearer ${good}`), 200)
    t.equal(
      await statusOf('/log/list', `Authorization: Bearer ${good}`, `authorization: Bearer ${good}`),
      401,
    )
    t.equal(await statusOf('/log/list', big), 401)
    t.equal(await statusOf('/healthz', big), 200)
    t.equal(await statusOf('/healthz', `X-Big: ${'A'.repeat(100 * 1024)}`), 431)
  },
)

t.test('tokens are never logged', async (t) => {
  const all = logged.join('')
  t.match(all, 'request refused')
  t.notMatch(all, payload)
  t.notMatch(all, signature)
})

t.test('a new key is used without a restart, and the old one is refused', async (t) => {
  const own = await startIdentityProvider()
  t.teardown(() => own.stop())
  const before = await own.token(ADMIN_SCOPE)
  const { get } = appWith(tokensOf(own))
  t.equal((await get(`Bearer ${before}`)).statusCode, 200)

  await own.rotate()
  const after = await own.token(ADMIN_SCOPE)
  t.equal((await get(`Bearer ${before}`)).statusCode, 200, 'until the new key is asked for')
  await until(async () => (await get(`Bearer ${after}`)).statusCode === 200, {
    what: 'the new key to be accepted',
  })
  t.equal((await get(`Bearer ${before}`)).statusCode, 401)
})
