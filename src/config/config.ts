import { CorrectableError } from '../core/text/correctable-error.ts'
import { type Fault, incompleteSettings } from './incomplete-settings.ts'
import type { SamplerName } from './variables.ts'
import { type LogLevel, type Values, type Variable, variables } from './variables.ts'
import { type Environment, warningsOf } from './warnings.ts'

/** How brokers are reached. */
export interface BrokerConnection {
  /** Each `host:port`. */
  readonly brokers: readonly string[]
  /** TLS, PEM texts in it; without `ca` the authorities that Node knows are good. Null: plain text. */
  readonly ssl: { readonly ca?: string; readonly cert?: string; readonly key?: string } | null
  readonly sasl:
    | {
        readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
        readonly username: string
        readonly password: string
      }
    | {
        readonly mechanism: 'oauthbearer'
        readonly client: TokenClient
        /** Sent to the brokers with each token. */
        readonly extensions: Readonly<Record<string, string>>
      }
    | null
}

/** The OAuth client that fetches access tokens by the client credentials grant. */
export interface TokenClient {
  /** URL of the token endpoint. */
  readonly url: string
  readonly clientId: string
  /** The text, or a file that is read for each token. */
  readonly clientSecret: { readonly text: string } | { readonly file: string }
  readonly scope: string | null
}

/** The configuration, read from the environment. Frozen; times are in milliseconds. */
export interface Config {
  readonly database: { readonly url: string; readonly poolMax: number; readonly httpPoolMax: number }
  readonly broker: {
    readonly connection: BrokerConnection
    readonly topics: readonly string[]
    readonly groupId: string
    readonly sessionTimeoutMs: number
    readonly partitionsAtOnce: number
  }
  /** `url` may end in a base path, and never ends in a slash. `echo`: where answers name their party, JSON Pointers. */
  readonly policyAdministration: {
    readonly url: string
    readonly connections: number
    readonly echo: readonly string[]
    readonly deadlineMs: number
  }
  readonly smtp: { readonly host: string; readonly port: number }
  readonly http: { readonly host: string; readonly port: number; readonly requestCountMax: number }
  /** Null: no second listener. */
  readonly management: {
    readonly host: string
    readonly port: number
    /** Names under which it is reached, besides its own. */
    readonly allowedHosts: readonly string[]
  } | null
  /** What tokens are validated against; null: all routes are open. */
  readonly tokens: Tokens | null
  /** Null: nothing is traced. */
  readonly tracing: {
    readonly endpoint: string
    readonly sampler: SamplerName
    readonly samplerRatio: number
  } | null
  readonly retry: { readonly maxAgeMs: number; readonly attemptCountMax: number }
  readonly logLevel: LogLevel
  /** Of the source that runs; null: not known. */
  readonly gitCommit: string | null
  /** Of its web page, without a slash at the end; null: not known. */
  readonly repositoryUrl: string | null
  /** Of a trace, with `{traceId}` in it; null: not known. */
  readonly traceUrl: string | null
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
  /** Null: any token may read and write anyone's preferences. Never set without `adminScope`. */
  readonly partyClaim: string | null
}

/** The environment is not usable; the message lists every fault on a line of its own and contains no secret. */
export class ConfigError extends CorrectableError {
  override readonly name = 'ConfigError'
  /** The variables at fault. */
  readonly variables: readonly string[]

  constructor(faults: readonly Fault[]) {
    super(faultList(faults))
    this.variables = faults.map(({ path }) => String(path[0]))
  }
}

/**
 * Reads the configuration from environment variables; an empty one counts as unset. Throws a `ConfigError` that lists
 * all faults at once.
 */
export function loadConfig(env: Environment): Config {
  const set = setOf(env)
  const result = variables.safeParse(set)
  const faults = [...(result.error?.issues ?? []), ...incompleteSettings(set)]
  if (!result.success || faults.length > 0) throw new ConfigError(faults)
  const value = result.data
  return deepFreeze({
    database: {
      url: databaseUrlOf(value),
      poolMax: value.DATABASE_POOL_MAX,
      httpPoolMax: value.DATABASE_HTTP_POOL_MAX,
    },
    broker: {
      connection: { brokers: value.MQ_BROKERS, ssl: sslOf(value), sasl: saslOf(value) },
      topics: value.MQ_TOPICS,
      groupId: value.MQ_GROUP_ID,
      sessionTimeoutMs: value.MQ_SESSION_TIMEOUT,
      partitionsAtOnce: value.MQ_PARTITIONS_AT_ONCE,
    },
    policyAdministration: policyAdministrationOf(value),
    smtp: { host: value.SMTP_HOST, port: value.SMTP_PORT },
    http: { host: value.HOST, port: value.PORT, requestCountMax: value.HTTP_REQUESTS_MAX },
    management:
      value.MANAGEMENT_PORT === undefined
        ? null
        : {
            host: value.MANAGEMENT_HOST,
            port: value.MANAGEMENT_PORT,
            allowedHosts: value.MANAGEMENT_ALLOWED_HOSTS ?? [],
          },
    tokens:
      value.IDP_JWKS_URI === undefined
        ? null
        : {
            keySetUrl: value.IDP_JWKS_URI,
            issuer: value.IDP_ISSUER ?? null,
            audience: value.IDP_AUDIENCE ?? null,
            adminScope: value.IDP_ADMIN_SCOPE ?? null,
            partyClaim: value.IDP_PARTY_CLAIM ?? null,
          },
    tracing:
      value.OTEL_ENDPOINT === undefined
        ? null
        : {
            endpoint: value.OTEL_ENDPOINT,
            sampler: value.OTEL_TRACES_SAMPLER,
            samplerRatio: value.OTEL_TRACES_SAMPLER_ARG,
          },
    retry: { maxAgeMs: value.RETRY_MAX_AGE, attemptCountMax: value.RETRY_MAX_ATTEMPTS },
    logLevel: value.LOG_LEVEL,
    gitCommit: value.GIT_COMMIT ?? null,
    repositoryUrl: value.REPOSITORY_URL ?? null,
    traceUrl: value.TRACE_URL ?? null,
    batchMax: value.BATCH_MAX,
    shutdownGraceMs: value.SHUTDOWN_GRACE,
    warnings: warningsOf(set, value),
  })
}

/** What `migrate` needs, and nothing else: the database. Throws a `ConfigError` like `loadConfig`. */
export function loadDatabaseUrl(env: Environment): string {
  const result = variables.pick({ DATABASE_URL: true, DATABASE_PASSWORD_FILE: true }).safeParse(setOf(env))
  if (!result.success) throw new ConfigError(result.error.issues)
  return databaseUrlOf(result.data)
}

/** What looking one party up takes: the database and policy administration. Throws a `ConfigError` like `loadConfig`. */
export function loadLookUp(env: Environment): Pick<Config, 'policyAdministration'> & { databaseUrl: string } {
  const result = variables
    .pick({
      DATABASE_URL: true,
      DATABASE_PASSWORD_FILE: true,
      POLICY_ADMIN_URL: true,
      POLICY_ADMIN_CONNECTIONS: true,
      POLICY_ADMIN_ECHO: true,
      POLICY_ADMIN_DEADLINE: true,
    })
    .safeParse(setOf(env))
  if (!result.success) throw new ConfigError(result.error.issues)
  return {
    databaseUrl: databaseUrlOf(result.data),
    policyAdministration: policyAdministrationOf(result.data),
  }
}

/** The limits of the retry alone. Throws a `ConfigError` like `loadConfig`. */
export function loadRetryLimits(env: Environment): Config['retry'] {
  const result = variables.pick({ RETRY_MAX_AGE: true, RETRY_MAX_ATTEMPTS: true }).safeParse(setOf(env))
  if (!result.success) throw new ConfigError(result.error.issues)
  return { maxAgeMs: result.data.RETRY_MAX_AGE, attemptCountMax: result.data.RETRY_MAX_ATTEMPTS }
}

/** Where traces are shown, alone; null: not known. Throws a `ConfigError` like `loadConfig`. */
export function loadTraceUrl(env: Environment): string | null {
  const result = variables.pick({ TRACE_URL: true }).safeParse(setOf(env))
  if (!result.success) throw new ConfigError(result.error.issues)
  return result.data.TRACE_URL ?? null
}

/** The file goes with the URL, like those of certificates. */
function databaseUrlOf({
  DATABASE_URL: url,
  DATABASE_PASSWORD_FILE: file,
}: Pick<Values, 'DATABASE_URL' | 'DATABASE_PASSWORD_FILE'>): string {
  return file === undefined
    ? url
    : `${url}${url.includes('?') ? '&' : '?'}passwordfile=${encodeURIComponent(file)}`
}

function policyAdministrationOf(
  value: Omit<Pick<Values, Extract<Variable, `POLICY_ADMIN_${string}`>>, 'POLICY_ADMIN_PIPELINING'>,
): Config['policyAdministration'] {
  return {
    url: value.POLICY_ADMIN_URL,
    connections: value.POLICY_ADMIN_CONNECTIONS,
    echo: value.POLICY_ADMIN_ECHO,
    deadlineMs: value.POLICY_ADMIN_DEADLINE,
  }
}

function sslOf({ MQ_SSL, MQ_SSL_CA_FILE: ca, MQ_SSL_CERT_FILE: cert, MQ_SSL_KEY_FILE: key }: Values) {
  return MQ_SSL ? { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } : null
}

function saslOf(value: Values): BrokerConnection['sasl'] {
  const { MQ_SASL_MECHANISM: mechanism, MQ_SASL_USERNAME: username, MQ_SASL_PASSWORD: password } = value
  if (mechanism === 'oauthbearer') return tokenLogInOf(value)
  return mechanism && username && password ? { mechanism, username, password } : null
}

function tokenLogInOf({
  MQ_SASL_TOKEN_URL: url,
  MQ_SASL_CLIENT_ID: clientId,
  MQ_SASL_CLIENT_SECRET: text,
  MQ_SASL_CLIENT_SECRET_FILE: file,
  MQ_SASL_SCOPE: scope,
  MQ_SASL_EXTENSIONS: extensions,
}: Values): BrokerConnection['sasl'] {
  const clientSecret = file !== undefined ? { file } : text !== undefined ? { text } : null
  return url && clientId && clientSecret
    ? {
        mechanism: 'oauthbearer',
        client: { url, clientId, clientSecret, scope: scope ?? null },
        extensions: extensions ?? {},
      }
    : null
}

function setOf(env: Environment): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
}

function faultList(issues: readonly Fault[]): string {
  const faults = issues.map((issue) => {
    const name = issue.path[0] as Variable
    const example = variables.shape[name].meta()?.example
    return `  ${name} ${issue.message}${example === undefined ? '' : `; for example ${name}=${example}`}`
  })
  return ['The configuration is not valid. Correct these environment variables:', ...faults].join('\n')
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner)
  }
  return Object.freeze(value)
}
