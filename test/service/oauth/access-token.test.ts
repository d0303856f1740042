import { writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { TokenClient } from '../../../src/service/config/config.ts'
import { createAccessToken } from '../../../src/service/oauth/access-token.ts'
import { freePort } from '../../stack/free-port.ts'
import { listen } from '../../stack/listen.ts'

/** A token endpoint that issues a new token for each request. */
const endpoint = {
  requests: [] as { authorization: string | undefined; form: Record<string, string> }[],
  answer: null as RequestListener | null,
  validS: 600 as unknown,
}
const server = createServer(async (request, response) => {
  const form = Object.fromEntries(new URLSearchParams(await text(request)))
  endpoint.requests.push({ authorization: request.headers.authorization, form })
  if (endpoint.answer !== null) return endpoint.answer(request, response)
  const access_token = `token-${endpoint.requests.length}`
  response.end(JSON.stringify({ access_token, token_type: 'Bearer', expires_in: endpoint.validS }))
})
t.teardown(() => server.close())
const url = `http://127.0.0.1:${await listen(server)}/token`

const CLIENT: TokenClient = {
  url,
  clientId: 'a client',
  clientSecret: { text: 'p:ss%' },
  scope: 'read all',
}

t.beforeEach(() => {
  endpoint.requests = []
  endpoint.answer = null
  endpoint.validS = 600
})

/** The tokens of a client, by a clock that the test sets. */
function tokensOf(client: Partial<TokenClient> = {}) {
  const clock = { nowMs: 0 }
  return { clock, value: createAccessToken({ ...CLIENT, ...client }, 'MQ_SASL_', () => clock.nowMs) }
}

t.test('a token is requested with the client credentials grant', async (t) => {
  t.equal(await tokensOf().value(), 'token-1')
  const credentials = Buffer.from('a+client:p%3Ass%25').toString('base64')
  t.strictSame(endpoint.requests, [
    { authorization: `Basic ${credentials}`, form: { grant_type: 'client_credentials', scope: 'read all' } },
  ])
  await tokensOf({ scope: null }).value()
  t.strictSame(endpoint.requests[1]?.form, { grant_type: 'client_credentials' })
})

t.test('a token is shared until 30 s before its end', async (t) => {
  endpoint.validS = 100
  const { clock, value } = tokensOf()
  t.strictSame(await Promise.all([value(), value(), value()]), ['token-1', 'token-1', 'token-1'])
  clock.nowMs = 69_999
  t.equal(await value(), 'token-1')
  clock.nowMs = 70_000
  t.equal(await value(), 'token-2')
  t.equal(endpoint.requests.length, 2)
})

for (const [name, validS, usedMs] of [
  ['of less than a minute is used for half of its validity', 20, 10_000],
  ['of unknown validity is used for half a minute', undefined, 30_000],
  ['whose validity is written as text is used until 30 s before its end', '100', 70_000],
] as const) {
  t.test(`a token ${name}`, async (t) => {
    endpoint.validS = validS
    const { clock, value } = tokensOf()
    await value()
    clock.nowMs = usedMs - 1
    t.equal(await value(), 'token-1')
    clock.nowMs = usedMs
    t.equal(await value(), 'token-2')
  })
}

t.test('a token that a broker refuses is not used again', async (t) => {
  const { value } = tokensOf()
  await value()
  t.equal(await value('token-0'), 'token-1')
  t.equal(await value('token-1'), 'token-2')
  t.equal(await value('token-1'), 'token-2')
})

t.test('a failure is forgotten by the next request', async (t) => {
  const { value } = tokensOf()
  endpoint.answer = (_request, response) => void response.writeHead(503).end()
  await t.rejects(value(), { message: /answers with status 503$/ })
  endpoint.answer = null
  t.match(await value(), /^token-/)
})

t.test('a request to an endpoint that does not answer within 5 s fails', { timeout: 20_000 }, async (t) => {
  const waiting: (() => void)[] = []
  t.teardown(() => {
    for (const end of waiting) end()
  })
  endpoint.answer = ({ url }, response) => {
    if (url === '/slow') response.writeHead(200, { 'content-type': 'application/json' }).write('{')
    waiting.push(() => response.end())
  }
  await Promise.all([
    t.rejects(tokensOf().value(), { message: /TOKEN_URL cannot be used \(no response within 5 s\)$/ }),
    t.rejects(tokensOf({ url: new URL('/slow', url).href }).value(), {
      message: /no access token \(no response within 5 s\)$/,
    }),
  ])
})

t.test('the file of the secret is read for each token', async (t) => {
  const folder = t.testdir({})
  const file = join(folder, 'secret')
  const authorizationOf = async (secret: string) => {
    await writeFile(file, secret)
    await tokensOf({ clientSecret: { file } }).value()
    return Buffer.from(endpoint.requests.at(-1)?.authorization?.slice(6) ?? '', 'base64').toString()
  }
  t.equal(await authorizationOf('first\n'), 'a+client:first')
  t.equal(await authorizationOf('second'), 'a+client:second')
  t.equal(await authorizationOf('third\r\n\n'), 'a+client:third')
  for (const empty of ['', '\n'])
    await t.rejects(authorizationOf(empty), { message: /^MQ_SASL_CLIENT_SECRET_FILE is empty: / })
  const gone = tokensOf({ clientSecret: { file: join(folder, 'none') } })
  await t.rejects(gone.value(), { message: /^MQ_SASL_CLIENT_SECRET_FILE cannot be read: ENOENT/ })
})

t.test('each failure is reported in a sentence without the secret', async (t) => {
  const answer = (status: number, body: string) => {
    endpoint.answer = (_request, response) => void response.writeHead(status).end(body)
  }
  const refusal = (error: string, error_description: string) => JSON.stringify({ error, error_description })
  const token = (more: string) => `{"access_token":"x","token_type":"Bearer"${more}}`
  const cases: [status: number, body: string, message: RegExp][] = [
    [
      401,
      refusal('invalid_client', 'no \u001b[2J'),
      /refuses a token \(status 401, invalid_client: no \uFFFD\[2J\)$/,
    ],
    [
      401,
      refusal('x', `p:ss% p%3Ass%25 ${btoa('a+client:p%3Ass%25')}`),
      /\(status 401, x: \*\*\* \*\*\* \*\*\*\)$/,
    ],
    [400, '{"error":"invalid_scope"}', /refuses a token \(status 400, invalid_scope\)$/],
    [500, '{"error":"x"}', /answers with status 500$/],
    [302, '', /answers with status 302$/],
    [200, '<html>', /answers with no access token \(/],
    [200, token('').replace('x', 'a\\u0001host=b'), /no access token \(.*control characters\)$/],
    [200, token('').replace('x', ''), /answers with no access token \(.*access_token/],
    [200, '{"access_token":"x"}', /answers with no access token \(.*token_type/],
    [200, token('').padEnd(10_000_000), /answers with no access token \(/],
    [401, refusal('x', 'y').padEnd(10_000_000), /answers with status 401$/],
  ]
  for (const expires of ['-5', '""', '"soon"', 'true', '[]'])
    cases.push([200, token(`,"expires_in":${expires}`), /answers with no access token \(.*expires_in/])
  for (const [status, body, message] of cases) {
    answer(status, body)
    await t.rejects(tokensOf().value(), { message }, `${status}`)
  }
  await t.rejects(tokensOf({ url: `http://127.0.0.1:${await freePort()}/` }).value(), {
    message: /cannot be used \(.*ECONNREFUSED/,
  })
})
