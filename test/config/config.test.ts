import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { z } from 'zod'
import { ConfigError, loadConfig, loadDatabaseUrl, loadLookUp } from '../../src/config/config.ts'
import { variables } from '../../src/config/variables.ts'

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

t.test('the required variables alone give every default of the specification', async (t) => {
  t.same(loadConfig(REQUIRED), {
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
      deadlineMs: 5_000,
      tlsFiles: {},
      header: null,
      tokenClient: null,
    },
    smtp: { host: 'localhost', port: 25 },
    http: { host: '0.0.0.0', port: 4006, requestCountMax: 32 },
    management: null,
    tokens: null,
    tracing: null,
    retry: { maxAgeMs: 86_400_000, attemptCountMax: 3 },
    logLevel: 'info',
    gitCommit: null,
    repositoryUrl: null,
    traceUrl: null,
    batchMax: 1_000,
    shutdownGraceMs: 20_000,
    warnings: [],
  })
})

t.test('migrating needs the database alone', async (t) => {
  t.equal(loadDatabaseUrl({ DATABASE_URL: REQUIRED.DATABASE_URL, PORT: 'x' }), REQUIRED.DATABASE_URL)
  t.throws(() => loadDatabaseUrl({ ...REQUIRED, DATABASE_URL: '' }), /DATABASE_URL is required/)
})

t.test('an empty or missing variable counts as unset', async (t) => {
  t.same(loadConfig({ ...REQUIRED, PORT: '', IDP_JWKS_URI: '', MQ_TOPICS: undefined }), loadConfig(REQUIRED))
})

t.test('every fault is reported at once, with the name, what is wrong and a good value', async (t) => {
  const message = faultsOf({
    PORT: '70000',
    MQ_TOPICS: 'claims,claims',
    RETRY_MAX_AGE: '1 day',
    LOG_LEVEL: 'loud',
  })
  for (const line of [
    /^ {2}DATABASE_URL is required; for example DATABASE_URL=postgres:/m,
    /^ {2}MQ_BROKERS is required; for example MQ_BROKERS=kafka-1:9092/m,
    /^ {2}POLICY_ADMIN_URL is required; for example/m,
    /^ {2}PORT must be a whole number from 0 to 65535, not "70000"; for example PORT=4006/m,
    /^ {2}MQ_TOPICS must be .*, not "claims,claims"; for example/m,
    /^ {2}RETRY_MAX_AGE must be a duration .*, not "1 day"; for example RETRY_MAX_AGE=24h/m,
    /^ {2}LOG_LEVEL must be one of .*, not "loud"; for example/m,
  ]) {
    t.match(message, line)
  }
  t.equal(message.split('\n').length, 8)
})

const REFUSED: readonly (readonly [string, string])[] = [
  ['DATABASE_URL', 'mysql://db/notifications'],
  ['DATABASE_URL', 'postgres://user:pa/ss@db:x/notifications'],
  ['DATABASE_URL', 'postgres://us%er@127.0.0.1:1/x'],
  ['DATABASE_URL', 'postgres://user:%ff@127.0.0.1:1/x'],
  ['DATABASE_URL', 'postgres://db/x?sslmode=prefer'],
  ['DATABASE_URL', 'postgres://db/x?sslmode=no-verify'],
  ['DATABASE_URL', 'postgres://db/x?sslmode=verify-full&sslrootcert=/no/such/file'],
  ['DATABASE_POOL_MAX', '0'],
  ['MQ_BROKERS', 'kafka-1'],
  ['MQ_BROKERS', 'kafka-1:9092,'],
  ['MQ_BROKERS', 'kafka-1:0'],
  ['MQ_BROKERS', 'kafka-1:65536'],
  ['MQ_BROKERS', 'kafka://kafka-1:9092'],
  ['MQ_SSL', 'yes'],
  ['MQ_SSL_CA_FILE', '/no/such/file'],
  ['MQ_SSL_CA_FILE', import.meta.dirname],
  ['MQ_SSL_CA_FILE', import.meta.filename.replace('test/config/config.test.ts', 'package.json')],
  ['MQ_TOPICS', 'claims,,billing'],
  ['MQ_TOPICS', 'claims/eu'],
  ['MQ_TOPICS', '..'],
  ['MQ_TOPICS', 'a'.repeat(250)],
  ['MQ_GROUP_ID', 'two words'],
  ['MQ_SESSION_TIMEOUT', '5s'],
  ['MQ_SESSION_TIMEOUT', '6m'],
  ['MQ_PARTITIONS_AT_ONCE', '1.5'],
  ['BATCH_MAX', '0'],
  ['BATCH_MAX', '5001'],
  ['BATCH_MAX', '1e3'],
  ['POLICY_ADMIN_URL', 'policy-admin:4001'],
  ['POLICY_ADMIN_URL', 'http://user:pass@policy-admin'],
  ['POLICY_ADMIN_URL', 'http://policy-admin/?a=b'],
  ['POLICY_ADMIN_URL', 'http://policy-admin/#top'],
  ['POLICY_ADMIN_CONNECTIONS', '-1'],
  ['POLICY_ADMIN_ECHO', 'partyLocator'],
  ['POLICY_ADMIN_ECHO', '/a,b'],
  ['POLICY_ADMIN_DEADLINE', '0'],
  ['POLICY_ADMIN_CA_FILE', import.meta.filename.replace('test/config/config.test.ts', 'package.json')],
  ['SMTP_HOST', 'mail server'],
  ['SMTP_PORT', '0'],
  ['REPOSITORY_URL', 'git@github.com:a/b.git'],
  ['TRACE_URL', 'https://traces.example/'],
  ['TRACE_URL', 'javascript:alert(1)//{traceId}'],
  ['TRACE_URL', 'https://user:pass@traces.example/{traceId}'],
  ['REPOSITORY_URL', 'https://user:pass@github.com/a/b'],
  ['IDP_JWKS_URI', 'idp/keys'],
  ['IDP_JWKS_URI', 'file:///keys'],
  ['IDP_JWKS_URI', 'https://user:pass@idp/keys'],
  ['IDP_JWKS_URI', 'https://idp/keys#1'],
  ['IDP_ISSUER', 'https://idp/\nx'],
  ['IDP_AUDIENCE', 'é'],
  ['IDP_ADMIN_SCOPE', 'read write'],
  ['IDP_ADMIN_SCOPE', 'a"b'],
  ['IDP_ADMIN_CLAIM', '/realm~access/roles'],
  ['IDP_ADMIN_CLAIM', 'realm_access.roles'],
  ['IDP_ADMIN_CLAIM', 'resource_access.notifications.roles'],
  ['IDP_ADMIN_CLAIM', '#/realm_access/roles'],
  ['MANAGEMENT_HOST', 'http://localhost'],
  ['MANAGEMENT_PORT', '65536'],
  ['OTEL_ENDPOINT', 'collector'],
  ['OTEL_TRACES_SAMPLER', 'sometimes'],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
  ['RETRY_MAX_AGE', '-1h'],
  ['RETRY_MAX_AGE', '24H'],
  ['RETRY_MAX_ATTEMPTS', 'three'],
  ['HOST', 'http://localhost'],
  ['PORT', '65536'],
  ['LOG_LEVEL', 'INFO'],
  ['SHUTDOWN_GRACE', '1ms'],
]
for (const [name, value] of REFUSED) {
  t.test(`${name}=${value.slice(0, 40)} is refused, and nothing else is`, async (t) => {
    const lines = faultsOf({ ...REQUIRED, [name]: value }).split('\n')
    t.equal(lines.length, 2)
    t.match(lines[1], new RegExp(`^ {2}${name} (must|cannot) be `))
  })
}

t.test('values that may hold a secret are never printed', async (t) => {
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

t.test(
  'a database URL of bad percent-encoding is not printed, and a good one is taken as it is',
  async (t) => {
    for (const url of [
      'postgres://db/hunter2%zz',
      'postgres://u:hunter2%@db/x',
      'postgres://db/x?options=hunter2%',
    ]) {
      const message = faultsOf({ ...REQUIRED, DATABASE_URL: url })
      t.match(message, /DATABASE_URL must be .*percent-encoded/)
      t.notMatch(message, 'hunter2')
      t.throws(() => loadDatabaseUrl({ DATABASE_URL: url }), ConfigError)
    }
    const url = 'postgres://u%40corp:100%25%C3%A9@db/x?options=-c%20work_mem%3D8MB'
    t.equal(loadConfig({ ...REQUIRED, DATABASE_URL: url }).database.url, url)
  },
)

t.test('TLS and a log-in to the brokers are taken together', async (t) => {
  const env = {
    ...REQUIRED,
    MQ_SSL: 'true',
    MQ_SASL_MECHANISM: 'SCRAM-SHA-512',
    MQ_SASL_USERNAME: 'notifications',
    MQ_SASL_PASSWORD: 'hunter2',
  }
  const { broker, warnings } = loadConfig(env)
  t.same(broker.connection, {
    brokers: ['kafka-1:9092', 'kafka-2:9092'],
    ssl: {},
    sasl: { mechanism: 'scram-sha-512', username: 'notifications', password: { text: 'hunter2' } },
  })
  t.same(warnings, [])
  const file = import.meta.filename
  t.match(loadConfig({ ...env, MQ_SASL_PASSWORD: '', MQ_SASL_PASSWORD_FILE: file }), {
    broker: { connection: { sasl: { password: { file } } } },
    warnings: [],
  })
  t.same(loadConfig({ ...env, MQ_SASL_PASSWORD_FILE: file }).warnings, [
    'MQ_SASL_PASSWORD has no effect with MQ_SASL_PASSWORD_FILE',
  ])
  const half = faultsOf({ ...REQUIRED, MQ_SASL_MECHANISM: 'PLAIN' })
  t.match(half, /MQ_SASL_USERNAME is required with MQ_SASL_MECHANISM; for example/)
  t.match(half, /MQ_SASL_PASSWORD is required with MQ_SASL_MECHANISM; for example/)
  t.notMatch(faultsOf({ ...env, MQ_SASL_MECHANISM: 'GSSAPI' }), 'hunter2')
  t.match(
    faultsOf({ ...env, MQ_SASL_MECHANISM: 'GSSAPI' }),
    /must be one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER/,
  )
})

const TOKEN_CLIENT = {
  ...REQUIRED,
  MQ_SSL: 'true',
  MQ_SASL_MECHANISM: 'OAUTHBEARER',
  MQ_SASL_TOKEN_URL: 'https://identity.example/token',
  MQ_SASL_CLIENT_ID: 'notifications',
  MQ_SASL_CLIENT_SECRET: 'hunter2',
}

t.test('a client that gets access tokens for the brokers is taken whole', async (t) => {
  const env = {
    ...TOKEN_CLIENT,
    MQ_SASL_EXTENSIONS: 'logicalCluster=lkc-1, identityPoolId=a=b',
  }
  const { broker, warnings } = loadConfig(env)
  t.same(broker.connection.sasl, {
    mechanism: 'oauthbearer',
    client: {
      url: 'https://identity.example/token',
      clientId: 'notifications',
      clientSecret: { text: 'hunter2' },
      scope: null,
    },
    extensions: { logicalCluster: 'lkc-1', identityPoolId: 'a=b' },
  })
  t.same(warnings, [])
  const file = import.meta.filename
  const { MQ_SASL_CLIENT_SECRET: _, ...withoutSecret } = env
  t.match(loadConfig({ ...withoutSecret, MQ_SASL_CLIENT_SECRET_FILE: file }).broker.connection.sasl, {
    client: { clientSecret: { file } },
  })
  const half = faultsOf({ ...REQUIRED, MQ_SASL_MECHANISM: 'OAUTHBEARER' })
  for (const name of ['MQ_SASL_TOKEN_URL', 'MQ_SASL_CLIENT_ID', 'MQ_SASL_CLIENT_SECRET'])
    t.match(half, `${name} is required with MQ_SASL_MECHANISM; for example`)
  t.notMatch(half, 'MQ_SASL_PASSWORD')
  for (const extensions of ['auth=x', 'Auth=x', 'a', 'a=1,a=2', '1=x', 'a=\u0001'])
    t.match(faultsOf({ ...env, MQ_SASL_EXTENSIONS: extensions }), /MQ_SASL_EXTENSIONS must be/, extensions)
})

const LOOK_UP_CLIENT = {
  ...REQUIRED,
  POLICY_ADMIN_URL: 'https://policy-admin',
  POLICY_ADMIN_TOKEN_URL: 'https://identity.example/token',
  POLICY_ADMIN_CLIENT_ID: 'notifications',
  POLICY_ADMIN_CLIENT_SECRET: 'hunter2',
}

t.test('look-ups carry one credential, which is complete', async (t) => {
  const file = import.meta.filename
  const { policyAdministration, warnings } = loadConfig(LOOK_UP_CLIENT)
  t.match(policyAdministration, {
    header: null,
    tokenClient: { clientId: 'notifications', clientSecret: { text: 'hunter2' }, scope: null },
  })
  t.same(warnings, [])
  const header = { POLICY_ADMIN_HEADER: 'X-Api-Key', POLICY_ADMIN_HEADER_FILE: file }
  t.same(loadConfig({ ...REQUIRED, ...header }).policyAdministration.header, { name: 'X-Api-Key', file })
  t.match(
    faultsOf({ ...LOOK_UP_CLIENT, ...header }),
    /POLICY_ADMIN_TOKEN_URL cannot be combined with POLICY_ADMIN_HEADER: .* Remove one of the two$/,
  )
  for (const name of ['X Api Key', 'Content-Length', 'X-Key: hunter2']) {
    const fault = faultsOf({ ...REQUIRED, ...header, POLICY_ADMIN_HEADER: name })
    t.match(fault, /POLICY_ADMIN_HEADER must be the name of a header/)
    t.notMatch(fault, 'hunter2')
  }
  t.match(faultsOf({ ...REQUIRED, ...header, POLICY_ADMIN_HEADER_FILE: '/no' }), /must be a readable file/)
  for (const [given, other] of [
    ['HEADER', 'HEADER_FILE'],
    ['HEADER_FILE', 'HEADER'],
    ['TOKEN_URL', 'CLIENT_SECRET'],
    ['TOKEN_URL', 'CLIENT_ID'],
  ] as const) {
    const env = { ...LOOK_UP_CLIENT, ...header, [`POLICY_ADMIN_${other}`]: '' }
    t.match(faultsOf(env), `POLICY_ADMIN_${other} is required with POLICY_ADMIN_${given}`)
  }
})

t.test('credentials of look-ups that do not protect, or have no effect, are warned of', async (t) => {
  const { POLICY_ADMIN_TOKEN_URL: _, ...without } = LOOK_UP_CLIENT
  t.match(loadConfig(without).warnings, [
    /CLIENT_ID has no effect: POLICY_ADMIN_TOKEN_URL/,
    /CLIENT_SECRET has no/,
  ])
  const plain = {
    POLICY_ADMIN_URL: 'http://policy-admin',
    POLICY_ADMIN_TOKEN_URL: 'http://identity.example/token',
    POLICY_ADMIN_CLIENT_SECRET_FILE: import.meta.filename,
  }
  t.match(loadConfig({ ...LOOK_UP_CLIENT, ...plain }).warnings, [
    /^POLICY_ADMIN_URL is an http:.* credentials are sent in plain text/,
    /^POLICY_ADMIN_CLIENT_SECRET has no effect with POLICY_ADMIN_CLIENT_SECRET_FILE/,
    /^POLICY_ADMIN_TOKEN_URL is an http:/,
  ])
})

t.test('a command that looks up one party needs a complete credential, too', async (t) => {
  const header = { ...REQUIRED, POLICY_ADMIN_HEADER: 'X-Api-Key', MQ_SASL_MECHANISM: 'PLAIN' }
  t.throws(() => loadLookUp(header), /:\n {2}POLICY_ADMIN_HEADER_FILE is required with \S+ for example \S+$/)
  const { POLICY_ADMIN_CLIENT_SECRET: _, ...client } = LOOK_UP_CLIENT
  t.throws(() => loadLookUp(client), /:\n {2}POLICY_ADMIN_CLIENT_SECRET is required with /)
})

t.test('a login by access tokens that contradicts itself is told', async (t) => {
  t.same(loadConfig({ ...TOKEN_CLIENT, MQ_SASL_CLIENT_SECRET_FILE: import.meta.filename }).warnings, [
    'MQ_SASL_CLIENT_SECRET has no effect with MQ_SASL_CLIENT_SECRET_FILE',
  ])
  t.match(
    faultsOf({ ...TOKEN_CLIENT, MQ_SASL_TOKEN_URL: 'https://a:b@identity.example/' }),
    /MQ_SASL_TOKEN_URL must be an .* without credentials/,
  )
  const lower = faultsOf({ ...TOKEN_CLIENT, MQ_SASL_MECHANISM: 'oauthbearer' })
  t.match(lower, /MQ_SASL_MECHANISM must be one of/)
  t.notMatch(lower, /MQ_SASL_USERNAME/)
})

t.test('what does not protect the brokers is warned of', async (t) => {
  const warningsOf = (env: object) => loadConfig({ ...REQUIRED, ...env }).warnings
  const login = { MQ_SASL_USERNAME: 'u', MQ_SASL_PASSWORD: 'hunter2' }
  t.match(warningsOf(login), [/^MQ_SASL_USERNAME has no effect/, /^MQ_SASL_PASSWORD has no effect/])
  t.match(warningsOf({ ...login, MQ_SASL_MECHANISM: 'PLAIN' }), [/sends the password in plain text/])
  t.same(warningsOf({ ...login, MQ_SASL_MECHANISM: 'SCRAM-SHA-256' }), [])
  const client = {
    MQ_SASL_TOKEN_URL: 'http://identity.example/token',
    MQ_SASL_CLIENT_ID: 'c',
    MQ_SASL_CLIENT_SECRET: 'hunter2',
  }
  t.match(warningsOf({ ...client, MQ_SASL_USERNAME: 'u', MQ_SASL_MECHANISM: 'OAUTHBEARER' }), [
    /^MQ_SASL_USERNAME has no effect with MQ_SASL_MECHANISM=OAUTHBEARER$/,
    /sends tokens in plain text/,
    /^MQ_SASL_TOKEN_URL is an http:/,
  ])
})

t.test('a key set turns token validation on, and what is not set is not checked', async (t) => {
  const IDP_JWKS_URI = 'https://idp/keys?tenant=1'
  t.same(loadConfig({ ...REQUIRED, IDP_JWKS_URI }).tokens, {
    keySetUrl: IDP_JWKS_URI,
    issuer: null,
    audience: null,
    adminScope: null,
    adminClaim: 'scope',
    partyClaim: null,
  })
  const more = { IDP_ISSUER: 'https://idp', IDP_AUDIENCE: 'us', IDP_ADMIN_SCOPE: 'admin' }
  const { tokens, warnings } = loadConfig({ ...REQUIRED, IDP_JWKS_URI, ...more })
  t.same(tokens, {
    keySetUrl: IDP_JWKS_URI,
    issuer: 'https://idp',
    audience: 'us',
    adminScope: 'admin',
    adminClaim: 'scope',
    partyClaim: null,
  })
  t.same(warnings, [])
})

t.test('what opens routes to more than were meant is warned of', async (t) => {
  const warningsOf = (env: object) => loadConfig({ ...REQUIRED, ...env }).warnings
  const good = { IDP_JWKS_URI: 'https://idp/keys', IDP_AUDIENCE: 'us', IDP_ADMIN_SCOPE: 'admin' }
  t.same(warningsOf(good), [])
  t.match(warningsOf({ ...good, IDP_JWKS_URI: 'http://idp/keys' }), [/^IDP_JWKS_URI is an http:\/\/ URL/])
  t.match(warningsOf({ ...good, IDP_AUDIENCE: '' }), [/^IDP_AUDIENCE is not set/])
  t.match(warningsOf({ ...good, IDP_ADMIN_SCOPE: '' }), [/^IDP_ADMIN_SCOPE is not set/])
  t.same(warningsOf({ ...good, IDP_ADMIN_CLAIM: 'https://insurer.example/roles' }), [])
  t.same(warningsOf({ ...good, IDP_ADMIN_CLAIM: '/insurer.roles' }), [])
  t.match(warningsOf({ ...good, IDP_ADMIN_CLAIM: 'insurer.roles' }), [
    /^IDP_ADMIN_CLAIM has a dot.* \/insurer\/roles.* \/insurer\.roles$/,
  ])
  t.match(warningsOf({ ...good, IDP_ADMIN_CLAIM: 'roles', IDP_ADMIN_SCOPE: '' }), [
    /^IDP_ADMIN_CLAIM has no effect/,
    /^IDP_ADMIN_SCOPE is not set/,
  ])
  t.match(warningsOf({ ...good, IDP_JWKS_URI: '' }), [
    /^IDP_AUDIENCE has no effect/,
    /^IDP_ADMIN_SCOPE has no effect/,
  ])
})

t.test('the claim with a party asks for the scope that stands above it', async (t) => {
  const IDP_JWKS_URI = 'https://idp/keys'
  const scoped = { IDP_JWKS_URI, IDP_PARTY_CLAIM: 'party', IDP_ADMIN_SCOPE: 'admin' }
  t.match(loadConfig({ ...REQUIRED, ...scoped }).tokens, { partyClaim: 'party', adminScope: 'admin' })
  t.match(
    faultsOf({ IDP_JWKS_URI, IDP_PARTY_CLAIM: 'party' }),
    /IDP_ADMIN_SCOPE is required with IDP_PARTY_CLAIM/,
  )
})

t.test('the second listener is on loopback unless told otherwise', async (t) => {
  t.same(loadConfig({ ...REQUIRED, MANAGEMENT_PORT: '0' }).management, {
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
  })
  t.same(loadConfig({ ...REQUIRED, MANAGEMENT_PORT: '4007', MANAGEMENT_HOST: '::' }).management, {
    host: '::',
    port: 4007,
    allowedHosts: [],
  })
  const named = { MANAGEMENT_PORT: '4007', MANAGEMENT_ALLOWED_HOSTS: 'Ops.internal, ops-2' }
  t.same(loadConfig({ ...REQUIRED, ...named }).management?.allowedHosts, ['ops.internal', 'ops-2'])
  t.match(faultsOf({ MANAGEMENT_ALLOWED_HOSTS: 'ops:4007' }), /must be a comma-separated list of host names/)
})

const DURATIONS: readonly (readonly [string, number])[] = [
  ['24h', 86_400_000],
  ['90m', 5_400_000],
  ['30s', 30_000],
  ['500ms', 500],
  ['2d', 172_800_000],
  ['1500', 1_500],
  [' 1h ', 3_600_000],
]
for (const [value, ms] of DURATIONS) {
  t.test(`the duration "${value}" is ${ms} ms`, async (t) => {
    t.equal(loadConfig({ ...REQUIRED, RETRY_MAX_AGE: value }).retry.maxAgeMs, ms)
  })
}

t.test('a base path of policy administration is kept, without its last slash', async (t) => {
  const url = 'HTTPS://Policy-Admin:443/api/v2//'
  t.equal(
    loadConfig({ ...REQUIRED, POLICY_ADMIN_URL: url }).policyAdministration.baseUrl,
    'https://policy-admin/api/v2',
  )
})

t.test('lists may have spaces around their commas', async (t) => {
  const { broker } = loadConfig({ ...REQUIRED, MQ_BROKERS: 'a:1 , b:2', MQ_TOPICS: ' claims, billing ' })
  t.same(
    [broker.connection.brokers, broker.topics],
    [
      ['a:1', 'b:2'],
      ['claims', 'billing'],
    ],
  )
})

t.test('what has no effect is warned of', async (t) => {
  const { warnings } = loadConfig({ ...REQUIRED, RETRY_INTERVAL: 'often' })
  t.equal(warnings.length, 1)
  t.match(warnings[0], /RETRY_INTERVAL has no effect.*every 60 seconds/)

  const half = { IDP_ISSUER: 'x', IDP_AUDIENCE: 'x', IDP_ADMIN_SCOPE: 'x' }
  const more = loadConfig({ ...REQUIRED, ...half }).warnings
  t.same(
    more.map((warning) => warning.split(':')[0]),
    Object.keys(half).map((name) => `${name} has no effect`),
  )
})

t.test('a pool too small for partitions, retry and HTTP together is warned of', async (t) => {
  const warningsOf = (poolMax: string, partitions: string) =>
    loadConfig({ ...REQUIRED, DATABASE_POOL_MAX: poolMax, MQ_PARTITIONS_AT_ONCE: partitions }).warnings
  for (const poolMax of ['1', '3', '4', '5']) {
    const [warning, ...others] = warningsOf(poolMax, '4')
    t.match(warning, /^DATABASE_POOL_MAX .* Set it to at least MQ_PARTITIONS_AT_ONCE \+ 2/)
    t.equal(others.length, 0)
  }
  t.same(warningsOf('6', '4'), [])
})

t.test('an unknown variable that looks like ours is warned of, with the one that was meant', async (t) => {
  const { warnings } = loadConfig({
    ...REQUIRED,
    MQ_TOPIC: 'x',
    RETRY_MAX_ATEMPTS: '1',
    SMTP_OF_SOME_OTHER_SORT_ALTOGETHER: 'hunter2',
    OTEL_ENDPOINTS: 'x',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    OTEL_SERVICE_NAME: 'x',
    PATH: '/bin',
    HOSTNAME: 'box',
  })
  t.same(warnings, [
    'MQ_TOPIC is not a variable of this service: did you mean MQ_TOPICS?',
    'RETRY_MAX_ATEMPTS is not a variable of this service: did you mean RETRY_MAX_ATTEMPTS?',
    'SMTP_OF_SOME_OTHER_SORT_ALTOGETHER is not a variable of this service',
    'OTEL_ENDPOINTS is not a variable of this service: did you mean OTEL_ENDPOINT?',
  ])
})

t.test('the configuration is frozen all the way down', async (t) => {
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

t.test('every variable is described, and its example and default are good values', async (t) => {
  const { properties = {} } = z.toJSONSchema(variables, { io: 'input', unrepresentable: 'any' })
  for (const [name, property] of Object.entries(properties)) {
    t.type((property as { description?: string }).description, 'string', name)
    const { example, default: value } = property as { example?: string; default?: string }
    // A file would have to be there.
    if (!name.endsWith('_FILE')) {
      const file = name.endsWith('_HEADER') ? { [`${name}_FILE`]: import.meta.filename } : {}
      t.equal(faultsOf({ ...REQUIRED, ...NEEDED, ...file, [name]: example }), '', name)
    }
    if (value !== undefined) t.same(loadConfig({ ...REQUIRED, [name]: value }), loadConfig(REQUIRED), name)
  }
})

t.test('a file is read once: a pipe, or one that is replaced meanwhile, is taken as it is', async (t) => {
  const program = `
    const [, config, MQ_SSL_CA_FILE] = process.argv
    const { loadConfig } = await import(config)
    console.log(loadConfig({ ...process.env, MQ_SSL_CA_FILE }).broker.connection.ssl.ca)`
  const config = new URL('../../src/config/config.ts', import.meta.url).href
  const { stdout } = await promisify(execFile)(
    'bash',
    [
      '-c',
      'exec "$@" <(echo "-----BEGIN ONE-----")',
      'bash',
      process.execPath,
      '--input-type=module',
      '--eval',
      program,
      config,
    ],
    { env: { ...process.env, ...REQUIRED, MQ_SSL: 'true' } },
  )
  t.equal(stdout, '-----BEGIN ONE-----\n\n')
})

t.test('where a response names its party is a list of JSON Pointers, or none', async (t) => {
  const echoOf = (echo?: string) =>
    loadConfig({ ...REQUIRED, ...(echo && { POLICY_ADMIN_ECHO: echo }) }).policyAdministration.echo
  t.strictSame(echoOf(), ['/partyLocator', '/locator'])
  t.strictSame(echoOf('/party/locator'), ['/party/locator'])
  t.strictSame(echoOf('none'), [])
})
