import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { z } from 'zod'
import { ConfigError, loadConfig, loadDatabaseUrl, loadLookUp } from '../../../src/service/config/config.ts'
import { variables } from '../../../src/service/config/variables.ts'
import { RETRIED_EVERY } from '../../../src/service/decide/attempt/retry-pause.ts'
import { ADDRESS_PLACES } from '../build.ts'

const REQUIRED = {
  DATABASE_URL: 'postgres://notifications:s3cret@db:5432/notifications',
  MQ_BROKERS: 'kafka-1:9092,kafka-2:9092',
  POLICY_ADMIN_URL: 'http://policy-admin:4001',
}

function faultsOf(env: Record<string, string | undefined>): string {
  try {
    loadConfig(env)
  } catch (error) {
    t.ok(error instanceof ConfigError)
    return (error as Error).message
  }
  return ''
}

t.test('with only the required variables, all defaults are those of the specification', async (t) => {
  const config = loadConfig(REQUIRED)
  t.match(config, {
    database: { url: REQUIRED.DATABASE_URL, poolMax: 10, httpPoolMax: 4 },
    broker: {
      connection: { brokers: ['kafka-1:9092', 'kafka-2:9092'], ssl: null, sasl: null },
      topics: ['claims', 'billing', 'enrollment'],
      groupId: 'notifications-service',
      sessionTimeoutMs: 30_000,
      partitionsAtOnce: 8,
    },
    policyAdministration: {
      baseUrl: 'http://policy-admin:4001',
      connectionCountMax: 32,
      echo: ['/partyLocator', '/locator'],
      addresses: ADDRESS_PLACES,
      deadlineMs: 5_000,
      tlsFiles: {},
      isProxied: false,
      header: null,
      tokenClient: null,
    },
    smtp: { host: 'localhost', port: 25 },
    http: { host: '0.0.0.0', port: 4006, requestCountMax: 32 },
    management: null,
    tokens: null,
    signIn: null,
    tracing: null,
    retry: { maxAgeMs: 86_400_000, attemptCountMax: 3 },
    logLevel: 'info',
    gitCommit: null,
    gitSubject: null,
    repositoryUrl: null,
    traceUrl: null,
    batchMax: 1_000,
    shutdownGraceMs: 20_000,
  })
  t.strictSame(config.warnings, [])
})

t.test('migrate requires only the database', async (t) => {
  t.equal(loadDatabaseUrl({ DATABASE_URL: REQUIRED.DATABASE_URL, PORT: 'x' }), REQUIRED.DATABASE_URL)
  t.throws(() => loadDatabaseUrl({ ...REQUIRED, DATABASE_URL: '' }), /DATABASE_URL is required/)
})

t.test('an empty or missing variable counts as unset', async (t) => {
  t.strictSame(
    loadConfig({ ...REQUIRED, PORT: '', IDP_JWKS_URI: '', MQ_TOPICS: undefined }),
    loadConfig(REQUIRED),
  )
})

t.test('the account that a merge names is not recorded', async (t) => {
  const subjectOf = (GIT_SUBJECT: string) => loadConfig({ ...REQUIRED, GIT_SUBJECT }).gitSubject
  t.equal(subjectOf('Merge pull request #12 from alice/mute-invoices'), 'Merge pull request #12')
  t.equal(subjectOf('Mute invoices from today (#12)'), 'Mute invoices from today (#12)')
})

t.test('all faults are reported at once, with name, reason and a valid example', async (t) => {
  const faulty = { PORT: '70000', MQ_TOPICS: 'claims,claims', RETRY_MAX_AGE: '1 day', LOG_LEVEL: 'loud' }
  const [, ...lines] = faultsOf(faulty).split('\n')
  t.equal(lines.length, 7)
  const lineOf = (name: string) => lines.find((line) => line.startsWith(`  ${name} `))
  for (const name of Object.keys(REQUIRED)) t.match(lineOf(name), `${name}=`, 'an example')
  for (const [name, value] of Object.entries(faulty)) {
    t.match(lineOf(name), JSON.stringify(value), 'what was found')
    t.match(lineOf(name), `${name}=`, 'an example')
  }
})

/** Each line a value, the only fault of a configuration. */
const REFUSED = `
DATABASE_URL=mysql://db/notifications
DATABASE_URL=postgres://user:pa/ss@db:x/notifications
DATABASE_URL=postgres://user:123/hunter2@db/notifications
DATABASE_URL=postgres://user:hun@hunter2@db/notifications
DATABASE_URL=postgres://user:1?hunter2@db/notifications
DATABASE_URL=postgres://user:1#hunter2@db/notifications
DATABASE_URL=postgres://us%er@127.0.0.1:1/x
DATABASE_URL=postgres://user:%ff@127.0.0.1:1/x
DATABASE_URL=postgres://db/hunter2%zz
DATABASE_URL=postgres://db/x?options=hunter2%
DATABASE_URL=postgres://db/x?sslmode=prefer
DATABASE_URL=postgres://db/x?sslmode=no-verify
DATABASE_URL=postgres://db/x?sslmode=verify-full&sslrootcert=/no/such/file
DATABASE_URL=postgres://db/x?password=hunter2
DATABASE_URL=postgres://db/x?sslmode=verify-full&sslmode=disable
DATABASE_URL=postgres://db/x?channel_binding=require
DATABASE_URL=postgres://user:12?hunter2
DATABASE_URL=postgres:db/x
DATABASE_URL=postgres://db/x?sslrootcert=package.json
DATABASE_URL=postgres://db/x?sslmode=disable&sslkey=package.json
DATABASE_URL=postgres://db/x?target_session_attrs=standby
DATABASE_POOL_MAX=0
MQ_BROKERS=kafka-1
MQ_BROKERS=kafka-1:9092,
MQ_BROKERS=kafka-1:65536
MQ_BROKERS=kafka-1:0
MQ_BROKERS=kafka://kafka-1:9092
MQ_SSL=yes
MQ_TOPICS=claims,,billing
MQ_TOPICS=claims/eu
MQ_TOPICS=..
MQ_TOPICS=${'a'.repeat(250)}
MQ_GROUP_ID=two words
MQ_SESSION_TIMEOUT=5s
MQ_SESSION_TIMEOUT=6m
MQ_PARTITIONS_AT_ONCE=1.5
BATCH_MAX=5001
BATCH_MAX=1e3
POLICY_ADMIN_URL=policy-admin:4001
POLICY_ADMIN_URL=http://user:pass@policy-admin
POLICY_ADMIN_URL=http://policy-admin/?a=b
POLICY_ADMIN_URL=http://policy-admin/#top
POLICY_ADMIN_ECHO=partyLocator
POLICY_ADMIN_ECHO=/a,b
POLICY_ADMIN_PHONE=phone
TRACE_URL=https://traces.example/
TRACE_URL=javascript:alert(1)//{traceId}
TRACE_URL=https://user:pass@traces.example/{traceId}
IDP_JWKS_URI=file:///keys
IDP_JWKS_URI=https://user:pass@idp/keys
IDP_JWKS_URI=https://idp/keys#1
OTEL_ENDPOINT=collector
OTEL_ENDPOINT=https://collector/otlp?key=1
RETRY_MAX_AGE=-1h
RETRY_MAX_AGE=59s
POLICY_ADMIN_DEADLINE=50ms
SHUTDOWN_GRACE=500ms
RETRY_MAX_AGE=24H
HOST=http://localhost
LOG_LEVEL=INFO`
for (const line of REFUSED.trim().split('\n')) {
  t.test(`${line.slice(0, 60)} is the only fault`, async (t) => {
    const name = line.slice(0, line.indexOf('='))
    const lines = faultsOf({ ...REQUIRED, [name]: line.slice(name.length + 1) }).split('\n')
    t.equal(lines.length, 2)
    t.match(lines[1], new RegExp(`^ {2}${name} (must|cannot) be `))
    t.notMatch(lines[1], 'hunter2')
  })
}

/** Each line a value, the only fault of a configuration in which it has an effect. */
const REFUSED_IN_USE = `
MQ_SSL_CA_FILE=/no/such/file
MQ_SSL_CA_FILE=${import.meta.dirname}
MQ_SSL_CA_FILE=package.json
POLICY_ADMIN_CA_FILE=package.json
IDP_AUDIENCE=é
IDP_ADMIN_SCOPE=read write
IDP_ADMIN_CLAIM=/realm~access/roles
IDP_ADMIN_CLAIM=realm_access.roles
IDP_ADMIN_CLAIM=#/realm_access/roles
OTEL_TRACES_SAMPLER=sometimes
OTEL_TRACES_SAMPLER_ARG=1.5
MANAGEMENT_ALLOWED_HOSTS=ops:4007`
const IN_USE = {
  ...REQUIRED,
  MQ_SSL: 'true',
  POLICY_ADMIN_URL: 'https://policy-admin',
  IDP_JWKS_URI: 'https://idp/keys',
  IDP_ADMIN_SCOPE: 'admin',
  OTEL_ENDPOINT: 'http://collector',
  MANAGEMENT_PORT: '4007',
}
const SERVICE_LINKS = { SMTP_PORT: 'tcp://10.0.0.1:25', SMTP_HOST: 'mail server' }
for (const line of REFUSED_IN_USE.trim().split('\n')) {
  t.test(`${line.slice(0, 60)} is a fault only where it has an effect`, async (t) => {
    const name = line.slice(0, line.indexOf('='))
    const value = line.slice(name.length + 1)
    const lines = faultsOf({ ...IN_USE, [name]: value }).split('\n')
    t.equal(lines.length, 2)
    t.match(lines[1], new RegExp(`^ {2}${name} must be `))
    const { warnings } = loadConfig({ ...REQUIRED, [name]: value })
    t.match(warnings, [new RegExp(`^${name} is not valid, and has no effect: `)])
  })
}

t.test('a variable without effect never ends the service', async (t) => {
  const { smtp, warnings } = loadConfig({ ...REQUIRED, ...SERVICE_LINKS })
  t.strictSame(smtp, { host: 'localhost', port: 25 })
  t.match(warnings, [/^SMTP_HOST is not valid, and has no effect/, /^SMTP_PORT is not valid/])
})

t.test('a parameter that means encryption elsewhere is refused, with what to write instead', async (t) => {
  for (const parameter of [
    'ssl=true',
    'ssl=1',
    'sslMode=require',
    'SSLMODE=require',
    'ssl_mode=require',
    'requiressl=1',
  ]) {
    const message = faultsOf({ ...REQUIRED, DATABASE_URL: `postgres://db/x?${parameter}` })
    t.match(message, `"${parameter.split('=')[0]}"`)
    t.match(message, 'sslmode=verify-full')
  }
  const misspelt = faultsOf({ ...REQUIRED, DATABASE_URL: 'postgres://db/x?sslrotcert=/ca.pem' })
  t.match(misspelt, /"sslrotcert".*sslrootcert/)
})

t.test('an unreadable file in a database URL is named, and nothing else of the URL', async (t) => {
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const url = `postgres://user:hunter2@db/x?sslmode=verify-full&${name}=/no/such/file`
    const message = faultsOf({ ...REQUIRED, DATABASE_URL: url })
    t.match(message, new RegExp(`DATABASE_URL .*${name} .*"/no/such/file"`))
    t.notMatch(message, 'hunter2')
  }
})

t.test('values that may contain a secret are never printed', async (t) => {
  const message = faultsOf({
    DATABASE_URL: 'postgres://user:hunter2@db:notaport/x',
    MQ_BROKERS: 'user:hunter2@kafka:9092',
    POLICY_ADMIN_URL: 'http://user:hunter2@policy-admin',
    OTEL_ENDPOINT: 'hunter2',
    IDP_JWKS_URI: 'https://user:hunter2@idp/keys',
  })
  t.equal(message.split('\n').length, 6)
  t.notMatch(message, 'hunter2')
})

t.test('a percent-encoded database URL is used unchanged', async (t) => {
  const url = 'postgres://u%40corp:100%25%C3%A9@db/x?options=-c%20work_mem%3D8MB'
  t.equal(loadConfig({ ...REQUIRED, DATABASE_URL: url }).database.url, url)
})

const FILE = import.meta.filename
/** A file that says that it is in PEM format, as this one does: -----BEGIN . */
const PEM = FILE
const TOKEN_CLIENT = {
  MQ_SSL: 'true',
  MQ_SASL_MECHANISM: 'OAUTHBEARER',
  MQ_SASL_TOKEN_URL: 'https://identity.example/token',
  MQ_SASL_CLIENT_ID: 'notifications',
  MQ_SASL_CLIENT_SECRET: 'hunter2',
}
const LOGIN = { MQ_SASL_USERNAME: 'u', MQ_SASL_PASSWORD: 'hunter2' }
const SCRAM = { ...LOGIN, MQ_SSL: 'true', MQ_SASL_MECHANISM: 'SCRAM-SHA-512' }
const LOOK_UP_CLIENT = {
  POLICY_ADMIN_URL: 'https://policy-admin',
  POLICY_ADMIN_TOKEN_URL: 'https://identity.example/token',
  POLICY_ADMIN_CLIENT_ID: 'notifications',
  POLICY_ADMIN_CLIENT_SECRET: 'hunter2',
}
const HEADER = { POLICY_ADMIN_HEADER: 'X-Api-Key', POLICY_ADMIN_HEADER_FILE: FILE }
const NO_CHECKS = {
  issuer: null,
  audience: null,
  adminScope: null,
  adminClaim: 'scope',
  partyClaim: null,
}
const lookUps = (expected: object) => ({ policyAdministration: expected })
const broker = (expected: object) => ({ broker: { connection: expected } })

/** The configuration that these variables give. */
const TAKEN: readonly (readonly [what: string, env: Record<string, string>, config: object])[] = [
  [
    'TLS and a log-in to the brokers',
    SCRAM,
    broker({ ssl: {}, sasl: { mechanism: 'scram-sha-512', username: 'u', password: { text: 'hunter2' } } }),
  ],
  [
    'a secret with spaces, and with a line break at its end, as a file may have',
    { ...SCRAM, MQ_SASL_PASSWORD: ' hunter2 \n' },
    broker({ sasl: { password: { text: ' hunter2 ' } } }),
  ],
  [
    'a client that gets access tokens for the brokers',
    { ...TOKEN_CLIENT, MQ_SASL_EXTENSIONS: 'logicalCluster=lkc-1, identityPoolId=a=b' },
    broker({
      sasl: {
        mechanism: 'oauthbearer',
        client: {
          url: 'https://identity.example/token',
          clientId: 'notifications',
          clientSecret: { text: 'hunter2' },
          scope: null,
        },
        extensions: { logicalCluster: 'lkc-1', identityPoolId: 'a=b' },
      },
    }),
  ],
  [
    'a client that gets access tokens for look-ups',
    LOOK_UP_CLIENT,
    lookUps({
      header: null,
      tokenClient: { clientId: 'notifications', clientSecret: { text: 'hunter2' }, scope: null },
    }),
  ],
  [
    'a base path of policy administration, without its last slash',
    { POLICY_ADMIN_URL: 'HTTPS://Policy-Admin:443/api/v2//' },
    lookUps({ baseUrl: 'https://policy-admin/api/v2' }),
  ],
  ['the place of names', { POLICY_ADMIN_ECHO: '/party/locator' }, lookUps({ echo: ['/party/locator'] })],
  [
    'the places of addresses',
    { POLICY_ADMIN_EMAIL: '/email,/mail', POLICY_ADMIN_PHONE: '/contact/mobile' },
    lookUps({ addresses: { email: ['/email', '/mail'], phone: ['/contact/mobile'] } }),
  ],
  ['an address that nobody has', { POLICY_ADMIN_PHONE: 'none' }, lookUps({ addresses: { phone: [] } })],
  ['no place of names', { POLICY_ADMIN_ECHO: 'none' }, { policyAdministration: { echo: { length: 0 } } }],
  [
    'a key set, by which what is not set is not checked',
    { IDP_JWKS_URI: 'https://idp/keys?tenant=1' },
    { tokens: { keySetUrl: 'https://idp/keys?tenant=1', ...NO_CHECKS } },
  ],
  [
    'all checks of tokens',
    {
      ...{ IDP_JWKS_URI: 'https://idp/keys', IDP_AUDIENCE: 'us', IDP_ADMIN_SCOPE: 'admin' },
      ...{ IDP_ISSUER: 'https://idp', IDP_PARTY_CLAIM: 'party' },
    },
    {
      tokens: {
        keySetUrl: 'https://idp/keys',
        issuer: 'https://idp',
        audience: 'us',
        adminScope: 'admin',
        adminClaim: 'scope',
        partyClaim: 'party',
      },
      warnings: { length: 0 },
    },
  ],
  [
    'a client by which administrators sign in, and ask for the scopes that the service wants',
    {
      ...{ IDP_JWKS_URI: 'https://idp/keys', IDP_ISSUER: 'https://idp', CONSOLE_CLIENT_ID: 'console' },
      ...{ IDP_ADMIN_SCOPE: 'admin', IDP_OPERATOR_SCOPE: 'operator' },
    },
    { signIn: { issuer: 'https://idp', clientId: 'console', scope: 'openid admin operator' } },
  ],
  [
    'a client of a provider whose tokens have roles, which nobody asks for',
    {
      ...{ IDP_JWKS_URI: 'https://idp/keys', IDP_ISSUER: 'https://idp', CONSOLE_CLIENT_ID: 'console' },
      ...{ IDP_ADMIN_SCOPE: 'admin', IDP_ADMIN_CLAIM: 'roles' },
    },
    { signIn: { scope: 'openid' } },
  ],
  [
    'a second listener, elsewhere',
    { MANAGEMENT_PORT: '4007', MANAGEMENT_HOST: '::', MANAGEMENT_ALLOWED_HOSTS: 'Ops.internal, ops-2' },
    { management: { host: '::', port: 4007, allowedHosts: ['ops.internal', 'ops-2'] } },
  ],
  [
    'a password in a file',
    { DATABASE_PASSWORD_FILE: import.meta.filename },
    {
      database: { url: `${REQUIRED.DATABASE_URL}?passwordfile=${encodeURIComponent(import.meta.filename)}` },
    },
  ],
]
for (const [what, env, config] of TAKEN) {
  t.test(`${what} is accepted`, async (t) => {
    t.match(loadConfig({ ...REQUIRED, ...env }), config)
  })
}

/** The variables of a line such as `A=1 B=2`; a later value replaces an earlier one. */
function envOf(line: string): Record<string, string> {
  const pairs = line
    .trim()
    .split(/ +(?=[A-Z_]+=)/)
    .map((pair) => /^(\w+)=(.*)$/s.exec(pair) ?? [])
  return Object.fromEntries(pairs.map(([, name, value]) => [name, value]))
}
const lineOf = (env: Record<string, string>) =>
  Object.entries(env)
    .map((pair) => pair.join('='))
    .join(' ')
const [CLIENT, LOOK_UPS, HEAD] = [TOKEN_CLIENT, LOOK_UP_CLIENT, HEADER].map(lineOf)
const IDP =
  'IDP_JWKS_URI=https://idp/keys IDP_ISSUER=https://idp IDP_AUDIENCE=us IDP_ADMIN_SCOPE=admin IDP_PARTY_CLAIM=party'
const ONE_CREDENTIAL =
  'cannot be combined with POLICY_ADMIN_HEADER: look-ups carry one credential. Remove one of the two'

/** Each line variables that do not go together, or not without others, and the faults. */
const CONTRADICTORY = `
MQ_SASL_MECHANISM=PLAIN | MQ_SASL_USERNAME is required with MQ_SASL_MECHANISM | MQ_SASL_PASSWORD is required with MQ_SASL_MECHANISM
MQ_SASL_MECHANISM=OAUTHBEARER | MQ_SASL_TOKEN_URL is required | MQ_SASL_CLIENT_ID is required | MQ_SASL_CLIENT_SECRET is required
MQ_SASL_USERNAME=u MQ_SASL_PASSWORD=p MQ_SASL_MECHANISM=GSSAPI | MQ_SASL_MECHANISM must be one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHB
${CLIENT} MQ_SASL_MECHANISM=oauthbearer | MQ_SASL_MECHANISM must be one of
${CLIENT} MQ_SASL_TOKEN_URL=https://a:b@idp/ | MQ_SASL_TOKEN_URL must be an http:// or https:// URL without cred
${CLIENT} MQ_SASL_EXTENSIONS=Auth=x | MQ_SASL_EXTENSIONS must be
${CLIENT} MQ_SASL_EXTENSIONS=a | MQ_SASL_EXTENSIONS must be
${CLIENT} MQ_SASL_EXTENSIONS=a=1,a=2 | MQ_SASL_EXTENSIONS must be
${CLIENT} MQ_SASL_EXTENSIONS=a=\u0001 | MQ_SASL_EXTENSIONS must be
${LOOK_UPS} ${HEAD} | POLICY_ADMIN_TOKEN_URL ${ONE_CREDENTIAL}
${HEAD} POLICY_ADMIN_HEADER=Content-Length | POLICY_ADMIN_HEADER must be the name of a header
${HEAD} POLICY_ADMIN_HEADER=X-Key: hunter2 | POLICY_ADMIN_HEADER must be the name of a header
${HEAD} POLICY_ADMIN_HEADER_FILE=/no | POLICY_ADMIN_HEADER_FILE must be a readable file
${HEAD} POLICY_ADMIN_HEADER_FILE= | POLICY_ADMIN_HEADER_FILE is required with POLICY_ADMIN_HEADER
${HEAD} POLICY_ADMIN_HEADER= | POLICY_ADMIN_HEADER is required with POLICY_ADMIN_HEADER_FILE
${LOOK_UPS} POLICY_ADMIN_CLIENT_SECRET= | POLICY_ADMIN_CLIENT_SECRET is required with POLICY_ADMIN_TOKEN_URL
${LOOK_UPS} POLICY_ADMIN_CLIENT_ID= | POLICY_ADMIN_CLIENT_ID is required with POLICY_ADMIN_TOKEN_URL
IDP_JWKS_URI=https://idp IDP_PARTY_CLAIM=party | IDP_ADMIN_SCOPE is required with IDP_PARTY_CLAIM`
for (const line of CONTRADICTORY.trim().split('\n')) {
  t.test(`${JSON.stringify(line)} is refused`, async (t) => {
    const [env = '', ...expected] = line.split(' | ')
    const [, ...faults] = faultsOf({ ...REQUIRED, ...envOf(env) }).split('\n')
    t.equal(faults.length, expected.length)
    for (const [i, fault] of expected.entries()) t.ok(faults[i]?.startsWith(`  ${fault}`), String(faults[i]))
    t.notMatch(faults.join(), 'hunter2')
  })
}

t.test('a command that looks up one party needs a complete credential, too', async (t) => {
  const header = { ...REQUIRED, POLICY_ADMIN_HEADER: 'X-Api-Key', MQ_SASL_MECHANISM: 'PLAIN' }
  t.throws(() => loadLookUp(header), /:\n {2}POLICY_ADMIN_HEADER_FILE is required with \S+ for example \S+$/)
  const client = { ...REQUIRED, ...LOOK_UP_CLIENT, POLICY_ADMIN_CLIENT_SECRET: '' }
  t.throws(() => loadLookUp(client), /:\n {2}POLICY_ADMIN_CLIENT_SECRET is required with /)
})

const SCRAM_LINE = lineOf(SCRAM)
/** Each line variables of which one has no effect, protects less than was meant, or is misspelt, and all warnings. */
const WARNED = `
RETRY_INTERVAL=often | RETRY_INTERVAL has no effect: ${RETRIED_EVERY}
${SCRAM_LINE}
${SCRAM_LINE} MQ_SSL=
${SCRAM_LINE} MQ_SASL_PASSWORD_FILE=${FILE} | MQ_SASL_PASSWORD has no effect with MQ_SASL_PASSWORD_FILE
MQ_SASL_USERNAME=u MQ_SASL_PASSWORD=p | MQ_SASL_USERNAME has no effect | MQ_SASL_PASSWORD has no effect
MQ_SASL_USERNAME=u MQ_SASL_PASSWORD=p MQ_SASL_MECHANISM=PLAIN | MQ_SASL_MECHANISM=PLAIN without MQ_SSL=true sends the password
MQ_SSL_CA_FILE=${PEM} | MQ_SSL_CA_FILE has no effect: MQ_SSL is not true
${CLIENT}
${SCRAM_LINE} MQ_SASL_SCOPE=x | MQ_SASL_SCOPE has no effect without MQ_SASL_MECHANISM=OAUTHBEARER
${CLIENT} MQ_SASL_CLIENT_SECRET_FILE=${FILE} | MQ_SASL_CLIENT_SECRET has no effect with MQ_SASL_CLIENT_SECRET_FILE
${CLIENT} MQ_SASL_USERNAME=u | MQ_SASL_USERNAME has no effect with MQ_SASL_MECHANISM=OAUTHBEARER
${CLIENT} MQ_SSL= | MQ_SASL_MECHANISM=OAUTHBEARER without MQ_SSL=true sends tokens
${CLIENT} MQ_SASL_TOKEN_URL=http://idp/token | MQ_SASL_TOKEN_URL is an http:// URL
${LOOK_UPS}
${LOOK_UPS} POLICY_ADMIN_TOKEN_URL= | POLICY_ADMIN_CLIENT_ID has no effect: POLICY_ADMIN_TOKEN_URL | POLICY_ADMIN_CLIENT_SECRET has no effect
${LOOK_UPS} POLICY_ADMIN_URL=http://policy-admin | POLICY_ADMIN_URL is an http:// URL: credentials
${LOOK_UPS} POLICY_ADMIN_TOKEN_URL=http://idp/token | POLICY_ADMIN_TOKEN_URL is an http:// URL
${LOOK_UPS} POLICY_ADMIN_CLIENT_SECRET_FILE=${FILE} | POLICY_ADMIN_CLIENT_SECRET has no effect with POLICY_ADMIN_CLIENT_SECRET_FILE
POLICY_ADMIN_CA_FILE=${PEM} | POLICY_ADMIN_CA_FILE has no effect: POLICY_ADMIN_URL is an http:// URL
${IDP}
${IDP} IDP_JWKS_URI=http://idp/keys | IDP_JWKS_URI is an http:// URL
${IDP} IDP_AUDIENCE= | IDP_AUDIENCE is not set
${IDP} IDP_ISSUER= | IDP_ISSUER is not set
${IDP} IDP_PARTY_CLAIM= | IDP_PARTY_CLAIM is not set: the tokens of members are refused
${IDP} IDP_PARTY_CLAIM=none | IDP_PARTY_CLAIM is none: any valid token
MANAGEMENT_PORT=4007 MANAGEMENT_HOST=0.0.0.0 | MANAGEMENT_HOST lets other machines in
MANAGEMENT_PORT=4007
${IDP} IDP_ADMIN_SCOPE= IDP_PARTY_CLAIM= | IDP_ADMIN_SCOPE is not set
${IDP} IDP_ADMIN_CLAIM=https://insurer.example/roles
${IDP} IDP_ADMIN_CLAIM=/insurer.roles
${IDP} IDP_ADMIN_CLAIM=insurer.roles | IDP_ADMIN_CLAIM has a dot
${IDP} IDP_ADMIN_CLAIM=roles IDP_ADMIN_SCOPE= IDP_PARTY_CLAIM= | IDP_ADMIN_CLAIM has no effect | IDP_ADMIN_SCOPE is not set
${IDP} CONSOLE_CLIENT_ID=c | CONSOLE_CLIENT_ID has no effect: it needs MANAGEMENT_PORT
${IDP} CONSOLE_CLIENT_ID=c MANAGEMENT_PORT=4007 IDP_ISSUER=us | CONSOLE_CLIENT_ID has no effect: it needs MANAGEMENT_PORT
${IDP} CONSOLE_CLIENT_ID=c MANAGEMENT_PORT=4007 IDP_ISSUER=https://idp
IDP_ISSUER=x | IDP_ISSUER has no effect: without IDP_JWKS_URI all routes are open
DATABASE_POOL_MAX=5 MQ_PARTITIONS_AT_ONCE=4 | DATABASE_POOL_MAX is too small
DATABASE_POOL_MAX=6 MQ_PARTITIONS_AT_ONCE=4
SHUTDOWN_GRACE=40s
SHUTDOWN_GRACE=30s KUBERNETES_SERVICE_HOST=10.0.0.1
SHUTDOWN_GRACE=40s KUBERNETES_SERVICE_HOST=10.0.0.1 | SHUTDOWN_GRACE is longer than the 30 s after which Kubernetes kills
MQ_TOPIC=x | MQ_TOPIC is not a variable of this service: did you mean MQ_TOPICS?
SMTP_OF_SOME_OTHER_SORT_ALTOGETHER=hunter2 | SMTP_OF_SOME_OTHER_SORT_ALTOGETHER is not a variable of this service
OTEL_ENDPOINTS=x | OTEL_ENDPOINTS is not a variable of this service: did you mean OTEL_ENDPOINT?
OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318 OTEL_SERVICE_NAME=x PATH=/bin HOSTNAME=box`
for (const line of WARNED.trim().split('\n')) {
  t.test(`the warnings of ${line}`, async (t) => {
    const [env = '', ...expected] = line.split(' | ')
    const { warnings } = loadConfig({ ...REQUIRED, ...envOf(env) })
    t.equal(warnings.length, expected.length, warnings.join('\n'))
    for (const [i, warning] of expected.entries()) t.ok(warnings[i]?.startsWith(warning), String(warnings[i]))
    t.notMatch(warnings.join(), 'hunter2')
  })
}

t.test('the collector is also taken from the variable of the standard', async (t) => {
  const endpoint = (env: Record<string, string>) => loadConfig({ ...REQUIRED, ...env }).tracing?.endpoint
  const standard = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://standard:4318' }
  t.equal(endpoint(standard), 'http://standard:4318')
  t.equal(endpoint({ ...standard, OTEL_ENDPOINT: 'http://ours:4318' }), 'http://ours:4318')
  t.equal(endpoint({}), undefined)
})

t.test('a duration has a unit, or is in milliseconds', async (t) => {
  const durations = {
    '24h': 86_400_000,
    '90m': 5_400_000,
    '60s': 60_000,
    '2d': 172_800_000,
    ' 3600000 ': 3_600_000,
    '86400000': 86_400_000,
  }
  for (const [value, ms] of Object.entries(durations))
    t.equal(loadConfig({ ...REQUIRED, RETRY_MAX_AGE: value }).retry.maxAgeMs, ms, value)
})

t.test('a bare number that is likelier with another unit is taken for a forgotten unit', async (t) => {
  for (const [bare, write] of [
    ['86400', '86400s or 86400m'],
    ['604800', '604800s'],
    ['2592000', '2592000s'],
    ['90000', '90000s or 90000m'],
  ])
    t.match(
      faultsOf({ ...REQUIRED, RETRY_MAX_AGE: `${bare}` }),
      new RegExp(`must have a unit: ${bare} is ${bare} milliseconds. Write ${write};`),
    )
  t.equal(faultsOf({ ...REQUIRED, MQ_SESSION_TIMEOUT: '10000', POLICY_ADMIN_DEADLINE: '100' }), '')
  t.equal(faultsOf({ ...REQUIRED, SHUTDOWN_GRACE: '1000', RETRY_MAX_AGE: '86400ms' }), '')
  t.throws(
    () => loadConfig({ ...REQUIRED, RETRY_MAX_AGE: '24' }),
    /RETRY_MAX_AGE must have a unit: 24 is 24 milliseconds. Write 24h or 24m; for example RETRY_MAX_AGE=24h/,
  )
  t.match(faultsOf({ ...REQUIRED, SHUTDOWN_GRACE: '30' }), /Write 30s;/)
  t.match(faultsOf({ ...REQUIRED, SHUTDOWN_GRACE: '900' }), /a duration from 1s to 10m .*, not "900"/)
})

t.test('the two listeners need two ports', async (t) => {
  const faults = (env: Record<string, string>) => faultsOf({ ...REQUIRED, ...env })
  t.match(faults({ MANAGEMENT_PORT: '4006' }), /MANAGEMENT_PORT must differ from PORT, which is 4006;/)
  t.match(faults({ PORT: '80', MANAGEMENT_PORT: '080' }), /which is 80;/)
  t.match(faults({ HOST: '10.0.0.1', MANAGEMENT_HOST: '10.0.0.1', MANAGEMENT_PORT: '4006' }), /differ/)
  t.equal(faults({ HOST: '10.0.0.1', MANAGEMENT_PORT: '4006' }), '', 'on another address')
  t.equal(faults({ PORT: '0', MANAGEMENT_PORT: '0' }), '', 'free ports')
  t.equal(faults({ MANAGEMENT_PORT: '4007' }), '')
})

t.test('the configuration is deeply frozen', async (t) => {
  const config = loadConfig(REQUIRED)
  t.throws(() => Object.assign(config.http, { port: 1 }), TypeError)
  t.throws(() => (config.broker.topics as string[]).push('x'), TypeError)
  t.throws(() => Object.assign(config, { batchMax: 1 }), TypeError)
})

/** Needed with MQ_SASL_MECHANISM and IDP_PARTY_CLAIM. */
const NEEDED = {
  MQ_SASL_USERNAME: 'u',
  MQ_SASL_PASSWORD: 'p',
  POLICY_ADMIN_CLIENT_ID: 'c',
  POLICY_ADMIN_CLIENT_SECRET: 's',
  IDP_ADMIN_SCOPE: 'admin',
}

t.test('every variable has a description, and valid examples and defaults', async (t) => {
  const { properties = {} } = z.toJSONSchema(variables, { io: 'input', unrepresentable: 'any' })
  for (const [name, property] of Object.entries(properties)) {
    t.type((property as { description?: string }).description, 'string', name)
    const { example, default: value } = property as { example?: string; default?: string }
    // A file would have to be there.
    if (!name.endsWith('_FILE')) {
      const file = name.endsWith('_HEADER') ? { [`${name}_FILE`]: import.meta.filename } : {}
      t.equal(faultsOf({ ...REQUIRED, ...NEEDED, ...file, [name]: example }), '', name)
    }
    if (value !== undefined)
      t.strictSame(loadConfig({ ...REQUIRED, [name]: value }), loadConfig(REQUIRED), name)
  }
})

t.test('a file is read once, even a pipe or a file that is replaced meanwhile', async (t) => {
  const program = `
    const [, config, MQ_SSL_CA_FILE] = process.argv
    const { loadConfig } = await import(config)
    console.log(loadConfig({ ...process.env, MQ_SSL_CA_FILE }).broker.connection.ssl.ca)`
  const config = new URL('../../../src/service/config/config.ts', import.meta.url).href
  const run = [
    'exec "$@" <(echo "-----BEGIN ONE-----")',
    'bash',
    process.execPath,
    '--input-type=module',
    '--eval',
  ]
  const env = { ...process.env, ...REQUIRED, MQ_SSL: 'true' }
  const { stdout } = await promisify(execFile)('bash', ['-c', ...run, program, config], { env })
  t.equal(stdout, '-----BEGIN ONE-----\n\n')
})
