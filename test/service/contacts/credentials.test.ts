import { readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { createServer, type ServerOptions } from 'node:https'
import { join } from 'node:path'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createParties } from '../../../src/service/app/clients.ts'
import { loadConfig } from '../../../src/service/config/config.ts'
import { createFileSecret } from '../../../src/service/oauth/file-secret.ts'
import { makeCertificates } from '../../stack/certificates.ts'
import { ADMIN_SCOPE, AUDIENCE, CLIENT, startIdentityProvider } from '../../stack/identity-provider.ts'
import { close, listen } from '../../stack/listen.ts'
import { until } from '../../stack/until.ts'
import { anAnswered } from '../build.ts'
import { json, locators } from './server.ts'

const [certificates, idp] = await Promise.all([makeCertificates(), startIdentityProvider()])
t.teardown(() => Promise.all([certificates.remove(), idp.stop()]))
const ca = await readFile(certificates.ca, 'utf8')
const otherKeyFile = certificates.otherCa.replace(/pem$/, 'key')
const FOUND = anAnswered({ email: 'a@example.com', phone: null })

/** The environment of a service in front of a policy administration that serves TLS, and answers 401 unless `allows` resolves to true. */
async function environment(
  t: Test,
  allows: (request: IncomingMessage) => boolean | Promise<boolean>,
  options: ServerOptions = {},
) {
  const { cert, key } = certificates
  const server = createServer({ cert, key, ca, ...options }, async (request, response) => {
    requests.push(request)
    if (await allows(request)) json(response, { email: FOUND.email, phone: null })
    else response.writeHead(401).end()
  })
  const requests: IncomingMessage[] = []
  t.teardown(() => close(server))
  const dir = t.testdir({ secret: 'first\n', 'client.pem': cert, 'client.key': key })
  const env = {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
    MQ_BROKERS: '127.0.0.1:1',
    POLICY_ADMIN_URL: `https://localhost:${await listen(server, 'localhost')}`,
    POLICY_ADMIN_CA_FILE: certificates.ca,
  }
  return { env, requests, file: (name: string) => join(dir, name) }
}

function clientOf(t: Test, env: Record<string, string>) {
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  const client = createParties(loadConfig(env), log)
  t.teardown(() => client.close())
  const lookUp = async (locator = 'PTY-1') => (await client.lookUp([locator])).get(locator)
  return { client, lookUp, lines }
}

const BY_TOKEN = {
  POLICY_ADMIN_TOKEN_URL: `${idp.issuer}/token`,
  POLICY_ADMIN_CLIENT_ID: CLIENT.id,
  POLICY_ADMIN_CLIENT_SECRET: CLIENT.secret,
  POLICY_ADMIN_SCOPE: ADMIN_SCOPE,
}

async function isValidToken({ headers: { authorization = '' } }: IncomingMessage): Promise<boolean> {
  const keys = createLocalJWKSet((await (await fetch(idp.keySetUrl)).json()) as JSONWebKeySet)
  const verified = await jwtVerify(authorization.replace('Bearer ', ''), keys, { audience: AUDIENCE }).catch(
    () => null,
  )
  return verified?.payload.scope === ADMIN_SCOPE
}

t.test('a look-up sends the header from a file, and the new one once that is refused', async (t) => {
  let wanted = 'first'
  const { env, requests, file } = await environment(t, ({ headers }) => headers['x-api-key'] === wanted)
  const header = { POLICY_ADMIN_HEADER: 'X-Api-Key', POLICY_ADMIN_HEADER_FILE: file('secret') }
  const { lookUp, client, lines } = clientOf(t, { ...env, ...header })
  t.strictSame(await lookUp(), FOUND)
  wanted = 'second'
  await writeFile(file('secret'), 'second')
  t.strictSame(await lookUp(), FOUND)
  t.equal(requests.length, 3)

  wanted = 'third'
  t.match(await lookUp(), {
    state: 'unresolved',
    error: /answered 401: a credential .* refused$/,
    costsNoAttempt: true,
  })
  t.equal(requests.length, 5, 'it was asked once more')
  await client.lookUp(locators(20))
  const contacts = await client.lookUp(['PTY-1'])
  t.match(
    contacts.get('PTY-1'),
    { error: /during an outage: .*answered 401/, costsNoAttempt: true },
    'which is an outage',
  )
  t.notMatch(lines.join(), 'second')
})

t.test('the file of a header is read again within a minute', async (t) => {
  const file = join(t.testdir({ secret: 'first\n' }), 'secret')
  let nowMs = 0
  const secret = createFileSecret(file, 'POLICY_ADMIN_HEADER_FILE', () => nowMs)
  t.equal(await secret(), 'first')
  await writeFile(file, 'second\r\n')
  nowMs = 9_999
  t.equal(await secret(), 'first')
  nowMs = 10_000
  t.equal(await secret(), 'second')
  await writeFile(file, 'two\nlines')
  await t.rejects(secret('second'), {
    message: 'POLICY_ADMIN_HEADER_FILE contains more than one line of printable ASCII',
  })
})

t.test('an unusable header file is an outage that costs no attempt', async (t) => {
  const { env, requests, file } = await environment(t, () => true)
  const header = { POLICY_ADMIN_HEADER: 'Authorization', POLICY_ADMIN_HEADER_FILE: file('secret') }
  await writeFile(file('secret'), '\n')
  const { lookUp } = clientOf(t, { ...env, ...header })
  t.match(await lookUp(), { error: /was not asked: POLICY_ADMIN_HEADER_FILE is empty/, costsNoAttempt: true })
  t.equal(requests.length, 0)
  await writeFile(file('secret'), 'Basic YTpi')
  t.strictSame(await lookUp(), FOUND)
  t.equal(requests[0]?.headers.authorization, 'Basic YTpi')
})

t.test('look-ups share an access token, and replace a refused one once', async (t) => {
  const revoked = new Set<string | undefined>()
  const { env, requests } = await environment(t, async (request) => {
    return !revoked.has(request.headers.authorization) && (await isValidToken(request))
  })
  const { client } = clientOf(t, { ...env, ...BY_TOKEN })
  const tokens = () => new Set(requests.map(({ headers }) => headers.authorization))
  const areFound = async () => {
    const contacts = await client.lookUp(locators(100))
    return [...contacts.values()].every(({ state }) => state === 'found')
  }
  t.ok(await areFound())
  t.equal(tokens().size, 1)
  for (const token of tokens()) revoked.add(token)
  t.ok(await areFound(), 'nobody fails')
  t.equal(tokens().size, 2)

  await idp.rotate()
  requests.length = 0
  t.ok(await areFound(), 'also where the key was replaced')
})

t.test('without an access token no party is requested, and no attempt used up', async (t) => {
  const { env, requests } = await environment(t, isValidToken)
  const wrong = { ...env, ...BY_TOKEN, POLICY_ADMIN_CLIENT_SECRET: 'wr0ng-secret' }
  const { client, lookUp, lines } = clientOf(t, wrong)
  const refused = {
    error: /was not asked: the token endpoint refuses .*invalid_client/,
    costsNoAttempt: true,
  }
  t.match(await lookUp(), refused)
  t.notOk(client.isDown())
  t.match((await client.lookUp(locators(40))).get('PTY-39'), {
    error: /token endpoint refuses/,
    costsNoAttempt: true,
  })
  t.ok(client.isDown(), 'the circuit is open')
  t.notMatch(lines.join(), 'wr0ng')
  t.equal(requests.length, 0)
})

for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
  t.test(`a client certificate is sent, and a renewed one later (${maxVersion})`, async (t) => {
    const demands = { requestCert: true, rejectUnauthorized: true, maxVersion }
    const { env, file } = await environment(t, () => true, demands)
    const files = { POLICY_ADMIN_CERT_FILE: file('client.pem'), POLICY_ADMIN_KEY_FILE: file('client.key') }
    const { lookUp, client } = clientOf(t, { ...env, ...files, POLICY_ADMIN_CONNECTIONS: '1' })
    t.strictSame(await lookUp(), FOUND)
    await client.close()

    t.match(await clientOf(t, env).lookUp(), { error: /refused the TLS connection \(ERR_SSL_/ })
    const renewing = clientOf(t, { ...env, ...files })
    await writeFile(file('client.pem'), await readFile(certificates.otherCa))
    t.match(await renewing.lookUp(), {
      error: /was not asked: .*_KEY_FILE cannot be used: .*key/i,
      costsNoAttempt: true,
    })
    await writeFile(file('client.key'), await readFile(otherKeyFile))
    t.match(await renewing.lookUp(), { error: /did not answer/ }, 'of another authority')
    await writeFile(file('client.pem'), certificates.cert)
    await writeFile(file('client.key'), certificates.key)
    // A probe finds it out.
    await until(async () => (await renewing.lookUp())?.state === 'found', { what: 'a contact' })
  })
}

t.test('an untrusted authority is reported, and a corrected one is used at once', async (t) => {
  const { env, file } = await environment(t, () => true)
  const { POLICY_ADMIN_CA_FILE: _, ...without } = env
  const POLICY_ADMIN_URL = env.POLICY_ADMIN_URL.replace('localhost', '127.0.0.1')
  for (const wrong of [without, { ...env, POLICY_ADMIN_URL }])
    t.match(await clientOf(t, wrong).lookUp(), { error: /has a certificate that is not trusted/ })

  await writeFile(file('client.pem'), await readFile(certificates.otherCa))
  const { lookUp } = clientOf(t, { ...env, POLICY_ADMIN_CA_FILE: file('client.pem') })
  t.match(await lookUp(), { error: /not trusted/, costsNoAttempt: true })
  await writeFile(file('client.pem'), ca)
  t.strictSame(await lookUp(), FOUND)
})
