import { accessSync, constants, readFileSync } from 'node:fs'
import { z } from 'zod'
import { nearest } from '../core/text/nearest.ts'
import type { BrokerConnection } from './broker-connection.ts'
import { SAMPLERS, type SamplerName } from './sampler.ts'
import { SSL_FILES, SSL_MODES } from './ssl-mode.ts'

/** What the process is told by its environment. Frozen; times are in milliseconds. */
export interface Config {
  readonly database: { readonly url: string; readonly poolMax: number }
  readonly broker: {
    readonly connection: BrokerConnection
    readonly topics: readonly string[]
    readonly groupId: string
    readonly sessionTimeoutMs: number
    readonly partitionsAtOnce: number
  }
  /** `url` may end in a base path, and never ends in a slash. */
  readonly policyAdministration: {
    readonly url: string
    readonly connections: number
    readonly pipelining: number
    readonly deadlineMs: number
  }
  readonly smtp: { readonly host: string; readonly port: number }
  readonly http: { readonly host: string; readonly port: number }
  /** Null: no second listener. */
  readonly management: { readonly host: string; readonly port: number } | null
  /** What tokens are validated against; null: all routes are open. */
  readonly tokens: Tokens | null
  /** Null: nothing is traced. */
  readonly tracing: {
    readonly endpoint: string
    readonly sampler: SamplerName
    readonly samplerRatio: number
  } | null
  readonly retry: { readonly maxAgeMs: number; readonly maxAttempts: number }
  readonly logLevel: LogLevel
  /** Of the source that runs; null: not known. */
  readonly gitCommit: string | null
  /** Messages of one transaction at most. */
  readonly batchMax: number
  readonly shutdownGraceMs: number
  /** To be logged once at start; they name variables, never values. */
  readonly warnings: readonly string[]
}

interface Tokens {
  readonly keySetUrl: string
  /** Each null: not checked. */
  readonly issuer: string | null
  readonly audience: string | null
  readonly adminScope: string | null
}

/** As the variable spells them, and as the Kafka client does. */
const SASL_MECHANISMS = {
  PLAIN: 'plain',
  'SCRAM-SHA-256': 'scram-sha-256',
  'SCRAM-SHA-512': 'scram-sha-512',
} as const
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** The environment cannot be served; the message lists every fault, one a line, and prints no secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** The names of those at fault. */
  readonly variables: readonly string[]

  constructor(faults: readonly Fault[]) {
    super(faultList(faults))
    this.variables = faults.map(({ path }) => String(path[0]))
  }
}

type Fault = Pick<z.core.$ZodIssue, 'path' | 'message'>

const PORT_MAX = 65_535
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/**
 * Every variable: its shape, and in `meta()` its description and an example of a good value. The default, where there
 * is one, is written as one would write it in the environment (`z.toJSONSchema(variables, { io: 'input' })` tells all).
 */
export const variables = z.object({
  DATABASE_URL: secret(
    `a postgres:// URL, special characters percent-encoded (% itself as %25), sslmode ${SSL_MODES.join(' or ')}, ` +
      `and ${SSL_FILES.join(', ')} readable files`,
    postgresUrl,
  ).meta({
    description:
      'PostgreSQL database that holds the schema `notifications`; `sslmode` and `sslrootcert` in it turn TLS on',
    example: 'postgres://notifications:secret@localhost:5432/notifications',
  }),
  DATABASE_POOL_MAX: integer(1, 1_000).prefault('10').meta({
    description: 'Database connections at most',
    example: '10',
  }),
  MQ_BROKERS: secret('a comma-separated list of host:port, without credentials', brokers).meta({
    description: 'Kafka brokers to start from',
    example: 'kafka-1:9092,kafka-2:9092',
  }),
  MQ_SSL: text('true or false', (found) =>
    found === 'true' || found === 'false' ? found === 'true' : undefined,
  )
    .prefault('false')
    .meta({
      description: 'Whether brokers are reached by TLS; certificates are always verified',
      example: 'true',
    }),
  MQ_SSL_CA_FILE: pemFile().meta({
    description: 'Authorities that sign the certificates of the brokers; unset, those that Node.js knows',
    example: '/etc/kafka/ca.pem',
  }),
  MQ_SSL_CERT_FILE: pemFile().meta({
    description: 'Certificate by which this service identifies itself to the brokers',
    example: '/etc/kafka/client.pem',
  }),
  MQ_SSL_KEY_FILE: pemFile().meta({
    description: 'Key of that certificate, without a passphrase',
    example: '/etc/kafka/client.key',
  }),
  MQ_SASL_MECHANISM: text(
    `one of ${Object.keys(SASL_MECHANISMS).join(', ')}`,
    (found) => SASL_MECHANISMS[found as keyof typeof SASL_MECHANISMS],
  )
    .optional()
    .meta({ description: 'How to log in to the brokers; unset, not at all', example: 'SCRAM-SHA-512' }),
  MQ_SASL_USERNAME: text('1 to 255 characters', matching(/^.{1,255}$/))
    .optional()
    .meta({ description: 'User to log in to the brokers', example: 'notifications' }),
  MQ_SASL_PASSWORD: secret('1 to 1000 characters', matching(/^.{1,1000}$/s))
    .optional()
    .meta({ description: 'Password of that user', example: 'secret' }),
  MQ_TOPICS: text(
    'a comma-separated list of different Kafka topic names (each 1 to 249 of A-Z a-z 0-9 . _ -)',
    topics,
  )
    .prefault('claims,billing,enrollment')
    .meta({ description: 'Kafka topics to consume', example: 'claims,billing,enrollment' }),
  MQ_GROUP_ID: text('1 to 255 printable characters without spaces', matching(/^[!-~]{1,255}$/))
    .prefault('notifications-service')
    .meta({ description: 'Kafka consumer group', example: 'notifications-service' }),
  MQ_SESSION_TIMEOUT: duration('6s', '5m').prefault('30s').meta({
    description: 'Time without a heartbeat after which Kafka gives the partitions to another consumer',
    example: '30s',
  }),
  MQ_PARTITIONS_AT_ONCE: integer(1, 100).prefault('8').meta({
    description: 'Partitions worked on at the same time',
    example: '8',
  }),
  BATCH_MAX: integer(1, 5_000).prefault('1000').meta({
    description: 'Messages of one transaction at most; fewer while contact look-ups are slow',
    example: '1000',
  }),
  POLICY_ADMIN_URL: secret(
    'an http:// or https:// URL without credentials, query and fragment',
    baseUrl,
  ).meta({
    description: 'Base address of the policy administration service; may have a path',
    example: 'http://policy-admin:4001',
  }),
  POLICY_ADMIN_CONNECTIONS: integer(1, 1_000).prefault('32').meta({
    description: 'Connections to the policy administration service at most',
    example: '32',
  }),
  POLICY_ADMIN_PIPELINING: integer(1, 100).prefault('16').meta({
    description:
      'Look-ups that share a connection while answers come quickly; 1: each waits for the answer to the one before',
    example: '8',
  }),
  POLICY_ADMIN_DEADLINE: duration('10ms', '1m').prefault('5s').meta({
    description: 'Time for all contact look-ups of one batch; parties still open then are unresolved',
    example: '5s',
  }),
  SMTP_HOST: text('a host name or an IP address', matching(/^[A-Za-z0-9._:-]{1,253}$/))
    .prefault('localhost')
    .meta({ description: 'Mail server; read by the email sender and never contacted', example: 'localhost' }),
  SMTP_PORT: integer(1, PORT_MAX).prefault('25').meta({
    description: 'Port of the mail server; never contacted',
    example: '25',
  }),
  IDP_JWKS_URI: secret('an http:// or https:// URL without credentials and fragment', keySetUrl)
    .optional()
    .meta({
      description: 'Key set of the identity provider; unset, all routes are open',
      example: 'https://identity.example/jwks',
    }),
  IDP_ISSUER: text('1 to 255 printable characters', matching(/^[ -~]{1,255}$/))
    .optional()
    .meta({
      description: 'The `iss` that a token must have, character by character; unset, any',
      example: 'https://identity.example/',
    }),
  IDP_AUDIENCE: text('1 to 255 printable characters', matching(/^[ -~]{1,255}$/))
    .optional()
    .meta({
      description: 'The `aud` that a token must have, alone or among others; unset, any',
      example: 'notifications-service',
    }),
  IDP_ADMIN_SCOPE: text(
    'one OAuth scope (printable characters without spaces, quotes and backslashes)',
    matching(/^[!#-[\]-~]{1,255}$/),
  )
    .optional()
    .meta({
      description: 'The scope that the administrative views ask for; unset, any valid token will do',
      example: 'notifications:admin',
    }),
  OTEL_ENDPOINT: secret('an http:// or https:// URL', httpUrl).optional().meta({
    description:
      'Tracing collector (OTLP over HTTP), traces go to `/v1/traces` below it; unset, nothing is traced',
    example: 'http://localhost:4318',
  }),
  OTEL_TRACES_SAMPLER: text(`one of ${SAMPLERS.join(', ')}`, (value) =>
    SAMPLERS.find((sampler) => sampler === value),
  )
    .prefault('parentbased_always_on')
    .meta({ description: 'Which batches are traced', example: 'parentbased_traceidratio' }),
  OTEL_TRACES_SAMPLER_ARG: text('a number from 0 to 1', (found) =>
    /^(0|1|[01]?\.\d{1,15})$/.test(found) && Number(found) <= 1 ? Number(found) : undefined,
  )
    .prefault('1')
    .meta({ description: 'The part of them that a sampler by ratio traces', example: '0.05' }),
  RETRY_INTERVAL: z.string().optional().meta({
    description: 'Read, and has no effect: failed rows are retried every 60 seconds',
    example: '60s',
  }),
  RETRY_MAX_AGE: duration('1ms', '3650d').prefault('24h').meta({
    description: 'Only failed rows younger than this are retried',
    example: '24h',
  }),
  RETRY_MAX_ATTEMPTS: integer(0, 1_000).prefault('3').meta({
    description: 'Only failed rows with fewer send attempts than this are retried',
    example: '3',
  }),
  HOST: text('a host name or an IP address', matching(/^[A-Za-z0-9._:-]{1,253}$/))
    .prefault('0.0.0.0')
    .meta({ description: 'Address to listen on', example: '0.0.0.0' }),
  PORT: integer(0, PORT_MAX).prefault('4006').meta({
    description: 'Port to listen on; 0 picks a free one',
    example: '4006',
  }),
  MANAGEMENT_HOST: text('a host name or an IP address', matching(/^[A-Za-z0-9._:-]{1,253}$/))
    .prefault('127.0.0.1')
    .meta({ description: 'Address of the second listener', example: '127.0.0.1' }),
  MANAGEMENT_PORT: integer(0, PORT_MAX).optional().meta({
    description:
      'Port of the second listener: `/console`, `/metrics`, `/openapi.json`, `/docs`; 0 picks a free one, unset there is none',
    example: '4007',
  }),
  LOG_LEVEL: text(`one of ${LOG_LEVELS.join(', ')}`, (value) => LOG_LEVELS.find((level) => level === value))
    .prefault('info')
    .meta({ description: 'Least level to be logged', example: 'info' }),
  GIT_COMMIT: text('7 to 64 hexadecimal digits', matching(/^[0-9a-f]{7,64}$/i))
    .optional()
    .meta({
      description: 'Commit of the source that runs, kept with each rule table that comes into force',
      example: '1f0a9c2e5b7d4a6f8c3e1d2b4a5f6e7d8c9b0a1f',
    }),
  SHUTDOWN_GRACE: duration('100ms', '10m').prefault('20s').meta({
    description: 'Time to finish what is under way when told to stop',
    example: '20s',
  }),
})
type Variable = keyof typeof variables.shape

/** Names that begin so are taken for ours. OTEL_* as a whole belongs to OpenTelemetry. */
const OUR_PREFIXES = [
  'DATABASE_',
  'MQ_',
  'BATCH_',
  'POLICY_ADMIN_',
  'SMTP_',
  'IDP_',
  'MANAGEMENT_',
  'RETRY_',
  'SHUTDOWN_',
  'OTEL_END',
]

/**
 * Reads the configuration from environment variables; an empty one counts as unset. Throws a `ConfigError` that lists
 * all faults at once.
 */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const set = setOf(env)
  const result = variables.safeParse(set)
  const faults = [...(result.error?.issues ?? []), ...incomplete(set)]
  if (!result.success || faults.length > 0) throw new ConfigError(faults)
  const value = result.data
  return deepFreeze({
    database: { url: value.DATABASE_URL, poolMax: value.DATABASE_POOL_MAX },
    broker: {
      connection: { brokers: value.MQ_BROKERS, ssl: sslOf(value), sasl: saslOf(value) },
      topics: value.MQ_TOPICS,
      groupId: value.MQ_GROUP_ID,
      sessionTimeoutMs: value.MQ_SESSION_TIMEOUT,
      partitionsAtOnce: value.MQ_PARTITIONS_AT_ONCE,
    },
    policyAdministration: {
      url: value.POLICY_ADMIN_URL,
      connections: value.POLICY_ADMIN_CONNECTIONS,
      pipelining: value.POLICY_ADMIN_PIPELINING,
      deadlineMs: value.POLICY_ADMIN_DEADLINE,
    },
    smtp: { host: value.SMTP_HOST, port: value.SMTP_PORT },
    http: { host: value.HOST, port: value.PORT },
    management:
      value.MANAGEMENT_PORT === undefined
        ? null
        : { host: value.MANAGEMENT_HOST, port: value.MANAGEMENT_PORT },
    tokens:
      value.IDP_JWKS_URI === undefined
        ? null
        : {
            keySetUrl: value.IDP_JWKS_URI,
            issuer: value.IDP_ISSUER ?? null,
            audience: value.IDP_AUDIENCE ?? null,
            adminScope: value.IDP_ADMIN_SCOPE ?? null,
          },
    tracing:
      value.OTEL_ENDPOINT === undefined
        ? null
        : {
            endpoint: value.OTEL_ENDPOINT,
            sampler: value.OTEL_TRACES_SAMPLER,
            samplerRatio: value.OTEL_TRACES_SAMPLER_ARG,
          },
    retry: { maxAgeMs: value.RETRY_MAX_AGE, maxAttempts: value.RETRY_MAX_ATTEMPTS },
    logLevel: value.LOG_LEVEL,
    gitCommit: value.GIT_COMMIT ?? null,
    batchMax: value.BATCH_MAX,
    shutdownGraceMs: value.SHUTDOWN_GRACE,
    warnings: [...warnings(set), ...brokerWarnings(set, value), ...poolWarnings(value)],
  })
}

/** What `migrate` needs, and nothing else: the database. Throws a `ConfigError` like `loadConfig`. */
export function loadDatabaseUrl(env: Readonly<Record<string, string | undefined>>): string {
  const result = variables.pick({ DATABASE_URL: true }).safeParse(setOf(env))
  if (!result.success) throw new ConfigError(result.error.issues)
  return result.data.DATABASE_URL
}

/** The limits of the retry alone. Throws a `ConfigError` like `loadConfig`. */
export function loadRetryLimits(env: Readonly<Record<string, string | undefined>>): Config['retry'] {
  const result = variables.pick({ RETRY_MAX_AGE: true, RETRY_MAX_ATTEMPTS: true }).safeParse(setOf(env))
  if (!result.success) throw new ConfigError(result.error.issues)
  return { maxAgeMs: result.data.RETRY_MAX_AGE, maxAttempts: result.data.RETRY_MAX_ATTEMPTS }
}

type Values = z.output<typeof variables>

function sslOf({ MQ_SSL, MQ_SSL_CA_FILE: ca, MQ_SSL_CERT_FILE: cert, MQ_SSL_KEY_FILE: key }: Values) {
  return MQ_SSL ? { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } : null
}

function saslOf({
  MQ_SASL_MECHANISM: mechanism,
  MQ_SASL_USERNAME: username,
  MQ_SASL_PASSWORD: password,
}: Values) {
  return mechanism && username && password ? { mechanism, username, password } : null
}

/** Variables that are worth nothing without each other. */
function incomplete(set: Readonly<Record<string, string | undefined>>): Fault[] {
  const needed: [Variable, Variable][] = [
    ['MQ_SASL_MECHANISM', 'MQ_SASL_USERNAME'],
    ['MQ_SASL_MECHANISM', 'MQ_SASL_PASSWORD'],
    ['MQ_SSL_CERT_FILE', 'MQ_SSL_KEY_FILE'],
    ['MQ_SSL_KEY_FILE', 'MQ_SSL_CERT_FILE'],
  ]
  return needed
    .filter(([given, other]) => set[given] !== undefined && set[other] === undefined)
    .map(([given, other]) => ({ path: [other], message: `is required with ${given}` }))
}

function setOf(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
}

function faultList(issues: readonly Fault[]): string {
  const faults = issues.map((issue) => {
    const name = issue.path[0] as Variable
    const example = variables.shape[name].meta()?.example
    return `  ${name} ${issue.message}${example === undefined ? '' : `; for example ${name}=${example}`}`
  })
  return ['The configuration cannot be used. Correct these environment variables:', ...faults].join('\n')
}

function warnings(set: Readonly<Record<string, string | undefined>>): readonly string[] {
  const names = Object.keys(set)
  const known = Object.keys(variables.shape)
  const all: string[] = []
  if (names.includes('RETRY_INTERVAL')) {
    all.push('RETRY_INTERVAL has no effect: failed rows are retried every 60 seconds')
  }
  if (!names.includes('IDP_JWKS_URI')) {
    for (const name of ['IDP_ISSUER', 'IDP_AUDIENCE', 'IDP_ADMIN_SCOPE']) {
      if (names.includes(name)) all.push(`${name} has no effect: without IDP_JWKS_URI all routes are open`)
    }
  }
  for (const name of names) {
    if (known.includes(name) || !OUR_PREFIXES.some((prefix) => name.startsWith(prefix))) continue
    const meant = nearest(name, known)
    all.push(`${name} is no variable of this service${meant === null ? '' : `: did you mean ${meant}?`}`)
  }
  return all
}

/** What an operator believes to be protected, and is not. */
function brokerWarnings(set: Readonly<Record<string, string | undefined>>, value: Values): readonly string[] {
  const all: string[] = []
  for (const name of ['MQ_SSL_CA_FILE', 'MQ_SSL_CERT_FILE', 'MQ_SSL_KEY_FILE']) {
    if (!value.MQ_SSL && set[name] !== undefined) all.push(`${name} has no effect: MQ_SSL is not true`)
  }
  for (const name of ['MQ_SASL_USERNAME', 'MQ_SASL_PASSWORD']) {
    if (set.MQ_SASL_MECHANISM === undefined && set[name] !== undefined) {
      all.push(`${name} has no effect: MQ_SASL_MECHANISM is not set`)
    }
  }
  if (value.MQ_SASL_MECHANISM === 'plain' && !value.MQ_SSL) {
    all.push('MQ_SASL_MECHANISM=PLAIN without MQ_SSL=true sends the password readable over the network')
  }
  return all
}

/** A partition holds a connection while it commits; the retry holds one, and HTTP must be left one at least. */
function poolWarnings(value: Values): readonly string[] {
  if (value.DATABASE_POOL_MAX >= value.MQ_PARTITIONS_AT_ONCE + 2) return []
  return [
    'DATABASE_POOL_MAX leaves HTTP or the retry to wait for the partitions: ' +
      'set it to MQ_PARTITIONS_AT_ONCE + 2 at least, or lower MQ_PARTITIONS_AT_ONCE',
  ]
}

/** A variable read by `parse`, which answers undefined where the text is not what is `expected`. */
function text<Value>(expected: string, parse: (text: string) => Value | undefined) {
  return read(parse, (found) => `must be ${expected}, not ${JSON.stringify(found.slice(0, 80))}`)
}

/** Like `text`, for what may hold credentials: the value is never repeated. */
function secret<Value>(expected: string, parse: (text: string) => Value | undefined) {
  return read(parse, () => `must be ${expected} (the value is not shown)`)
}

function read<Value>(parse: (text: string) => Value | undefined, fault: (text: string) => string) {
  return z.string({ error: 'is required' }).transform((found, context): Value => {
    const value = parse(found.trim())
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: fault(found) })
    return z.NEVER
  })
}

function integer(min: number, max: number) {
  return text(`a whole number from ${min} to ${max}`, (found) => {
    const value = /^\d{1,15}$/.test(found) ? Number(found) : Number.NaN
    return value >= min && value <= max ? value : undefined
  })
}

function duration(min: string, max: string) {
  const minMs = milliseconds(min) as number
  const maxMs = milliseconds(max) as number
  const expected = `a duration from ${min} to ${max} (a number and ms, s, m, h or d; a bare number is milliseconds)`
  return text(expected, (found) => {
    const value = milliseconds(found)
    return value !== undefined && value >= minMs && value <= maxMs ? value : undefined
  })
}

/** A duration as it is written in the configuration, such as `24h`; undefined for what is none. */
export function milliseconds(found: string): number | undefined {
  const [, amount, unit = 'ms'] = /^(\d{1,15})(ms|s|m|h|d)?$/.exec(found) ?? []
  return amount === undefined ? undefined : Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS]
}

function matching(pattern: RegExp) {
  return (found: string) => (pattern.test(found) ? found : undefined)
}

function list(found: string): string[] {
  return found.split(',').map((item) => item.trim())
}

/** Without IPv6 literals: the Kafka client splits an address at its first colon. */
function brokers(found: string): string[] | undefined {
  const all = list(found)
  const valid = all.every((broker) => {
    const port = Number(/^[A-Za-z0-9._-]{1,253}:(\d{1,5})$/.exec(broker)?.[1])
    return port >= 1 && port <= PORT_MAX
  })
  return valid ? all : undefined
}

function topics(found: string): string[] | undefined {
  const all = list(found)
  const legal = all.every((topic) => /^[A-Za-z0-9._-]{1,249}$/.test(topic) && topic !== '.' && topic !== '..')
  return legal && new Set(all).size === all.length ? all : undefined
}

function postgresUrl(found: string): string | undefined {
  const url = URL.parse(found)
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol) || !isDecodable(found)) return undefined
  const mode = url.searchParams.get('sslmode')
  if (mode !== null && !SSL_MODES.some((known) => known === mode)) return undefined
  return SSL_FILES.every((name) => isReadable(url.searchParams.get(name))) ? found : undefined
}

function isReadable(path: string | null): boolean {
  try {
    if (path !== null) accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** The content of a file that is named, read once, at start. */
function pemFile() {
  return text('a file in PEM format that this process can read', (path) => {
    try {
      const content = readFileSync(path, 'utf8')
      return content.includes('-----BEGIN ') ? content : undefined
    } catch {
      return undefined
    }
  }).optional()
}

/** The database driver decodes the parts of the URL, and would throw only once it connects. */
function isDecodable(found: string): boolean {
  try {
    decodeURIComponent(found)
    return true
  } catch {
    return false
  }
}

function httpUrl(found: string): string | undefined {
  const url = URL.parse(found)
  return url !== null && /^https?:$/.test(url.protocol) ? found : undefined
}

function baseUrl(found: string): string | undefined {
  const url = URL.parse(found)
  if (url === null || httpUrl(found) === undefined) return undefined
  if (url.username !== '' || url.password !== '' || /[?#]/.test(found)) return undefined
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}

function keySetUrl(found: string): string | undefined {
  const url = URL.parse(found)
  if (url === null || httpUrl(found) === undefined) return undefined
  return url.username === '' && url.password === '' && url.hash === '' ? url.href : undefined
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner)
  }
  return Object.freeze(value)
}
