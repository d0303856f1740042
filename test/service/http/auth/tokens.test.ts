import { KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { mock } from 'node:test'
import t from 'tap'
import type { TokenRules } from '../../../../src/service/http/auth/token-claims.ts'
import {
  ADMIN_SCOPE,
  AUDIENCE,
  newSigningKey,
  startIdentityProvider,
} from '../../../stack/identity-provider.ts'
import { listen } from '../../../stack/listen.ts'
import { documentedApp } from '../documented.ts'
import { anyTokensOf, dependencies, ENTRY, served, tokensOf } from '../fixture.ts'
import { segment, signedBy, signedText } from './attacks.ts'

const idp = await startIdentityProvider()
t.teardown(() => idp.stop())

function appWith(tokens: TokenRules) {
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

t.test('a token from the identity provider is accepted', async (t) => {
  t.equal((await get(`Bearer ${good}`)).statusCode, 200)
})

t.test('all keys with the id of a token are tried', async (t) => {
  const [first, second] = [idp.key(), await newSigningKey()]
  const kid = 'shared'
  const jwks = [first, second].map(({ privateJwk: { kty, n, e } }) => ({ kty, n, e, kid, alg: 'RS256' }))
  const twin = createServer((_request, response) => response.end(JSON.stringify({ keys: jwks })))
  t.teardown(() => twin.close())
  const { get } = appWith({ ...tokensOf(idp), keySetUrl: `http://127.0.0.1:${await listen(twin)}/` })
  for (const { privateKey } of [first, second]) {
    t.equal((await get(`Bearer ${await idp.forge({}, { kid }, privateKey)}`)).statusCode, 200)
  }
  const stranger = await newSigningKey()
  t.equal((await get(`Bearer ${await idp.forge({}, { kid }, stranger.privateKey)}`)).statusCode, 401)
})

t.test('valid tokens of other shapes are accepted', async (t) => {
  // The seconds of tolerance must not pass meanwhile.
  const nowMs = Date.now()
  const now = mock.method(Date, 'now', () => nowMs)
  t.teardown(() => now.mock.restore())
  const shapes: Record<string, string> = {
    'a lower-case scheme': `bearer ${good}`,
    'two spaces': `Bearer  ${good}`,
    'several audiences': `Bearer ${await idp.forge({ aud: ['other', AUDIENCE] })}`,
    'no subject': `Bearer ${await idp.forge({ sub: undefined as never })}`,
    'several scopes': `Bearer ${await idp.forge({ scope: `openid ${ADMIN_SCOPE}` })}`,
    'a clock that is a little ahead': `Bearer ${await idp.forge({ nbf: seconds() + 2 })}`,
    'an issue a little ahead': `Bearer ${await idp.forge({ iat: seconds() + 30 })}`,
    'a clock that is a little behind': `Bearer ${await idp.forge({ exp: seconds() - 2 })}`,
  }
  for (const [what, authorization] of Object.entries(shapes)) {
    t.equal((await get(authorization)).statusCode, 200, what)
  }
})

const { kid, privateKey, publicKey } = idp.key()
const rsa = { kid, privateKey: KeyObject.from(privateKey), publicKey: KeyObject.from(publicKey) }
const NOT_ALLOWED = 'claim value is not allowed'
const MALFORMED = 'the token is malformed'
const UNKNOWN = /^the key id is not in the key set/
const SUB = /^the sub claim is not a text/

/** Tokens by what is wrong with them, and the reason in the log. Wrong signatures and headers are in attacks.ts. */
const BAD_TOKENS: readonly (readonly [string, string | Promise<string>, string | RegExp])[] = [
  ['expired', idp.forge({ exp: seconds() - 60 }), 'Authorization token expired'],
  ['not yet valid', idp.forge({ nbf: seconds() + 60 }), /^The token will be active at /],
  ['no exp', idp.forge({ exp: undefined as never }), 'The exp claim is required.'],
  ['an exp that is no number', idp.forge({ exp: '9999999999' as never }), 'The exp claim must be a number.'],
  ['an nbf beyond all dates', idp.forge({ nbf: 1e300 }), MALFORMED],
  ['an exp before all dates', idp.forge({ exp: -1e300 }), MALFORMED],
  [
    'an exp beyond all doubles',
    signedText(rsa, JSON.stringify(claims).replace(String(claims.exp), '1e400')),
    'the exp claim is not a finite number',
  ],
  ['issued in the future', idp.forge({ iat: seconds() + 600 }), /^the iat claim/],
  [
    'an iat beyond all doubles',
    signedText(rsa, JSON.stringify({ ...claims, iat: 1 }).replace('"iat":1', '"iat":1e400')),
    /^the iat claim/,
  ],
  ['the wrong issuer', idp.forge({ iss: `${idp.issuer}/` }), NOT_ALLOWED],
  ['no issuer', idp.forge({ iss: undefined as never }), 'The iss claim is required.'],
  ['the wrong audience', idp.forge({ aud: `${AUDIENCE}2` }), NOT_ALLOWED],
  ['two wrong audiences', idp.forge({ aud: ['a', 'b'] }), 'None of aud claim values are allowed.'],
  ['no audience', idp.forge({ aud: undefined as never }), 'The aud claim is required.'],
  ['an unknown kid', idp.forge({}, { kid: 'nobody' }), UNKNOWN],
  ['no kid', idp.forge({}, { kid: undefined as never }), UNKNOWN],
  ['a kid that is no text', idp.forge({}, { kid: { toString: 1 } as never }), UNKNOWN],
  ['a subject that no text can hold', idp.forge({ sub: 'a\0b' }), SUB],
  ['a subject longer than an identifier', idp.forge({ sub: '😀'.repeat(128) }), SUB],
  ['a subject that is no text', idp.forge({ sub: 1 as never }), SUB],
  ['a payload that is no object', `${head}.${segment('x')}.${signature}`, 'must be an object'],
  ['a payload that is no JSON', `${head}.AAAA.${signature}`, /token/],
  ['another algorithm', `${segment({ alg: 'HS256', kid })}.${payload}.${signature}`, 'the algorithm is not'],
  ['another signature', `${head}.${payload}.${'A'.repeat(signature.length)}`, 'signature is invalid'],
  ['a critical header', signedBy(rsa, claims, { crit: ['secretive'] }), MALFORMED],
  ['100 kB', `${head}.${'A'.repeat(100 * 1024)}.${signature}`, 'the token is too long'],
  ['15 kB of nothing', 'A'.repeat(15 * 1024), /token/],
]

/** What is said about a token that disagrees with a setting. */
const DISAGREEING: readonly (readonly [string, string | Promise<string>, object])[] = [
  [
    'issuer',
    idp.forge({ iss: `${idp.issuer}/` }),
    { claim: 'iss', found: `"${idp.issuer}/"`, wanted: `"${idp.issuer}"`, variable: 'IDP_ISSUER' },
  ],
  [
    'audience',
    idp.forge({ aud: ['a', 'b'] }),
    { claim: 'aud', found: '["a","b"]', wanted: `"${AUDIENCE}"`, variable: 'IDP_AUDIENCE' },
  ],
  [
    'end',
    idp.forge({ exp: seconds() - 900 }),
    { claim: 'exp', found: /20.*Z/, wanted: /^a time after 20.*Z$/, variable: /clocks/ },
  ],
  [
    'beginning',
    idp.forge({ nbf: seconds() + 900 }),
    { claim: 'nbf', found: /20.*Z/, wanted: /^a time before/, variable: /clocks/ },
  ],
  [
    'issue',
    idp.forge({ iat: seconds() + 900 }),
    { claim: 'iat', found: /20.*Z/, wanted: /^a time before/, variable: /clocks/ },
  ],
  [
    'key',
    idp.forge({}, { kid: 'nobody' }),
    { claim: 'kid', found: '"nobody"', wanted: /"RS256"/, variable: 'IDP_JWKS_URI' },
  ],
  [
    'algorithm',
    `${segment({ alg: 'HS256' })}.${payload}.${signature}`,
    { claim: 'alg', found: '"HS256"', wanted: /RS256/ },
  ],
  [
    'scope',
    idp.forge({ scope: 'openid' }),
    { claim: 'scope', found: '"openid"', wanted: `"${ADMIN_SCOPE}"`, variable: /IDP_ADMIN_SCOPE/ },
  ],
  [
    'claim',
    idp.forge({ scope: undefined as never, realm_access: { roles: [ADMIN_SCOPE] } }),
    {
      claim: 'scope',
      found: /^no such claim among .*realm_access$/,
      wanted: /at \/realm_access\/roles$/,
      variable: 'IDP_ADMIN_CLAIM',
    },
  ],
]
t.test('the log names the value found, the value wanted and the variable', async (t) => {
  for (const [what, token, disagreement] of DISAGREEING) {
    logged.length = 0
    await get(`Bearer ${await token}`)
    t.match(refusal(logged).disagreements, [disagreement], what)
  }
})

/** The only line of the log about the last request. */
function refusal(logged: string[]) {
  const lines = logged.splice(0).map((line) => JSON.parse(line))
  const [line, ...others] = lines.filter(
    ({ msg }) => msg !== 'request answered' && msg !== 'the key set is loaded',
  )
  t.strictSame(others, [])
  return line
}
const REFUSED = {
  level: 'info',
  msg: 'request refused',
  method: 'GET',
  route: '/log/list',
  tokenSubject: null,
}

for (const [what, made, reason] of BAD_TOKENS) {
  t.test(`a token with ${what} gets a 401 and a line in the log, which contain no part of it`, async (t) => {
    const token = await made
    logged.length = 0
    const response = await get(`Bearer ${token}`)
    t.equal(response.statusCode, 401)
    t.equal(response.headers['content-type'], 'application/problem+json')
    t.match(
      response.headers['www-authenticate'],
      /^Bearer realm="notifications-service", error="invalid_token", error_description="The token [a-z ]+\."$/,
    )
    const { detail, ...rest } = response.json()
    t.strictSame(rest, {
      type: 'urn:problem-type:notifications-service:unauthorized',
      title: 'A valid token is required',
      status: 401,
    })
    t.match(detail, /^The token (is not valid|is not valid yet|has expired)\.$/)
    t.notMatch(logged.join(''), token)
    t.match(refusal(logged), { ...REFUSED, reason })
  })
}

t.test('a refusal for a missing right logs the subject of the token and the requested party', async (t) => {
  const { get, logged } = appWith({ ...tokensOf(idp), partyClaim: 'party' })
  await get(`Bearer ${good}`)
  logged.length = 0
  const member = `Bearer ${await idp.forge({ sub: 'member-1', scope: 'openid' })}`
  const reason = `the token does not have ${ADMIN_SCOPE} in its claim scope`
  const refused = { ...REFUSED, tokenSubject: 'member-1', reason }
  await get(member)
  t.match(refusal(logged), refused)
  await get(member, '/preferences/PTY-1')
  t.match(refusal(logged), { ...refused, route: '/preferences/:partyLocator', partyLocator: 'PTY-1' })
})

t.test(
  'a refusal for another party names the claim of the party, and what the token has instead',
  async (t) => {
    const { get, logged } = appWith({ ...tokensOf(idp), partyClaim: 'party' })
    const found = async (claims: object) => {
      logged.length = 0
      const token = await idp.forge({ scope: 'openid', ...claims })
      t.equal((await get(`Bearer ${token}`, '/preferences/PTY-1')).statusCode, 403)
      return refusal(logged).disagreements
    }
    const wanted = '"PTY-1", the party of the request'
    const disagreement = { claim: 'party', wanted, variable: 'IDP_PARTY_CLAIM' }
    const elsewhere = { ...disagreement, wanted: `${wanted}, which the token has at sub` }
    t.match(await found({ sub: 'PTY-1' }), [
      { ...elsewhere, found: /^no such claim among .*sub/ },
      { claim: 'scope' },
    ])
    t.match(await found({ party: 'PTY-2' }), [{ ...disagreement, found: '"PTY-2"' }, { claim: 'scope' }])
  },
)

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

t.test('a token without a scope is sufficient if none is configured', async (t) => {
  const { get } = appWith(anyTokensOf(idp))
  t.equal((await get(`Bearer ${await idp.token()}`)).statusCode, 200)
  t.equal((await get(`Bearer ${await idp.forge({ iss: 'x', aud: 'y' })}`)).statusCode, 200)
  t.equal((await get()).statusCode, 401)
})

t.test('without a claim of the party, the tokens of members are refused', async (t) => {
  const { get, logged } = appWith({ ...tokensOf(idp), partyClaim: null })
  const member = `Bearer ${await idp.forge({ sub: 'member-1', scope: 'openid', party: 'PTY-1' })}`
  t.equal((await get(member, '/preferences/PTY-1')).statusCode, 403)
  t.match(refusal(logged), { tokenSubject: 'member-1', reason: /IDP_PARTY_CLAIM.* is not set/ })
  t.equal((await get(`Bearer ${good}`, '/preferences/PTY-1')).statusCode, 404)
})

t.test('a token reads and writes only the preferences of the party in its claim', async (t) => {
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
  t.strictSame(made, [
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

t.test('two headers are refused, and one of 100 kB gets a 401 or is ignored', async (t) => {
  const { port } = await served(t, dependencies({ tokens: tokensOf(idp) }).all)
  const statusOf = async (path: string, ...lines: string[]) => {
    const socket = connect(port, '127.0.0.1')
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines.join('\r\n')}\r\n\r\n`)
    return Number((await text(socket)).split(' ')[1])
  }
  const big = `Authorization: Bearer ${'A'.repeat(100 * 1024)}`
  t.equal(await statusOf('/log/list', `Authorization: Bearer ${good}`), 200)
  t.equal(await statusOf('/log/list', `Authorization: Bearer ${good}`, `authorization: Bearer ${good}`), 401)
  t.equal(await statusOf('/log/list', big), 401)
  t.equal(await statusOf('/healthz', big), 200)
  t.equal(await statusOf('/healthz', `X-Big: ${'A'.repeat(100 * 1024)}`), 431)
})
