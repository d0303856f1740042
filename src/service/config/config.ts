import { z } from 'zod'
import { addressVariable, mapAddresses } from '../decide/party/channel.ts'
import { ANY_PARTY } from '../model/party-claim.ts'
import type { SignIn } from '../model/sign-in.ts'
import { CorrectableError } from '../text/faults.ts'
import { type TokenPrefix, type Values, type Variable, variables } from './variables.ts'
import { type Environment, findWarnings, ignoredFault } from './warnings.ts'

/** The configuration, frozen. Names that end in Ms are milliseconds. */
export type Config = DeepReadonly<ReturnType<typeof buildConfig>> & { readonly warnings: readonly string[] }
export type BrokerConnection = Config['broker']['connection']
/** An OAuth 2 client that fetches access tokens with the client credentials grant. */
export type TokenClient = NonNullable<Config['policyAdministration']['tokenClient']>

type DeepReadonly<Value> = Value extends object
  ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
  : Value

interface Fault extends Pick<z.core.$ZodIssue, 'path' | 'message'> {
  /** The variable must not be set at all, so that no value is an example. */
  readonly isExcess?: true
}

/** The environment is not usable. The message lists each fault on its own line and contains no secret. */
export class ConfigError extends CorrectableError {
  override readonly name = 'ConfigError'
  readonly variables: readonly string[]

  constructor(faults: readonly Fault[]) {
    super(faultList(faults))
    this.variables = faults.map(({ path }) => String(path[0]))
  }
}

/**
 * Reads the configuration from environment variables; an empty one counts as unset. Throws a `ConfigError` that lists all faults.
 */
export function loadConfig(env: Environment): Config {
  try {
    return configWith(env, read(env, VARIABLES), [])
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return configWithout(env, error)
  }
}

/** The configuration without the faulty variables if none of them has an effect; otherwise throws the error. */
function configWithout(env: Environment, error: ConfigError): Config {
  const kept = { ...env, ...Object.fromEntries(error.variables.map((name) => [name, undefined])) }
  const { data } = variables.safeParse(withoutUnset(kept))
  if (data === undefined) throw error
  const ignored = error.variables
    .map((name) => ignoredFault(name, data))
    .filter((warning) => warning !== null)
  if (ignored.length < error.variables.length) throw error
  return configWith(kept, data, ignored)
}

function configWith(env: Environment, values: Values, warnings: readonly string[]): Config {
  return deepFreeze({
    ...buildConfig(values),
    warnings: [...warnings, ...findWarnings(withoutUnset(env), values)],
  })
}

/** Reads only these variables. Throws a `ConfigError` like `loadConfig`. */
function read<Name extends Variable>(env: Environment, names: readonly Name[]): Pick<Values, Name> {
  const mask = Object.fromEntries(names.map((name) => [name, true])) as { [Key in Variable]?: true }
  const set = withoutUnset(env)
  const result = variables.pick(mask).safeParse(set)
  const dependent = [...incompleteSettings(set), ...excessSettings(set), ...samePort(set)].filter(
    ({ path: [name] }) => names.some((other) => other === name),
  )
  const faults = [...(result.error?.issues ?? []), ...dependent]
  if (!result.success || faults.length > 0) throw new ConfigError(faults)
  return result.data as Pick<Values, Name>
}

const VARIABLES = Object.keys(variables.shape) as Variable[]

const PROXIES = ['HTTPS_PROXY', 'HTTP_PROXY'] as const
const DATABASE = ['DATABASE_URL', 'DATABASE_PASSWORD_FILE'] as const
const POLICY_ADMINISTRATION = VARIABLES.filter((name): name is PolicyAdministration =>
  name.startsWith('POLICY_ADMIN_'),
)
type PolicyAdministration = Extract<Variable, `POLICY_ADMIN_${string}`>

export function loadDatabaseUrl(env: Environment): string {
  return buildDatabaseUrl(read(env, DATABASE))
}

/** Policy administration. A look-up needs the database, too: the error lists the faults of both. */
export function loadLookUp(env: Environment): Pick<Config, 'policyAdministration'> {
  return {
    policyAdministration: buildPolicyAdministration(
      read(env, [...DATABASE, ...POLICY_ADMINISTRATION, ...PROXIES]),
    ),
  }
}

export function loadRetryLimits(env: Environment): Config['retry'] {
  return buildRetry(read(env, ['RETRY_MAX_AGE', 'RETRY_MAX_ATTEMPTS']))
}

export function loadTopics(env: Environment): Config['broker']['topics'] {
  return read(env, ['MQ_TOPICS']).MQ_TOPICS
}

/** URL of a trace's page, with `{traceId}` in it, or null. */
export function loadTraceUrl(env: Environment): string | null {
  return read(env, ['TRACE_URL']).TRACE_URL ?? null
}

function buildConfig(value: Values) {
  return {
    database: {
      url: buildDatabaseUrl(value),
      poolMax: value.DATABASE_POOL_MAX,
      httpPoolMax: value.DATABASE_HTTP_POOL_MAX,
    },
    broker: {
      connection: { brokers: value.MQ_BROKERS, ssl: buildSsl(value), sasl: buildSasl(value) },
      topics: value.MQ_TOPICS,
      groupId: value.MQ_GROUP_ID,
      sessionTimeoutMs: value.MQ_SESSION_TIMEOUT,
      partitionsAtOnce: value.MQ_PARTITIONS_AT_ONCE,
    },
    policyAdministration: buildPolicyAdministration(value),
    smtp: { host: value.SMTP_HOST, port: value.SMTP_PORT },
    http: { host: value.HOST, port: value.PORT, requestCountMax: value.HTTP_REQUESTS_MAX },
    /** Null: no second listener. */
    management:
      value.MANAGEMENT_PORT === undefined
        ? null
        : {
            host: value.MANAGEMENT_HOST,
            port: value.MANAGEMENT_PORT,
            /** Other host names of the listener. */
            allowedHosts: value.MANAGEMENT_ALLOWED_HOSTS ?? [],
          },
    /** Checks on tokens; a null check is not made. Null: all routes are open. */
    tokens:
      value.IDP_JWKS_URI === undefined
        ? null
        : {
            keySetUrl: value.IDP_JWKS_URI,
            issuer: value.IDP_ISSUER ?? null,
            audience: value.IDP_AUDIENCE ?? null,
            adminScope: value.IDP_ADMIN_SCOPE ?? null,
            operatorScope: value.IDP_OPERATOR_SCOPE ?? null,
            /** The name of a claim, or a JSON Pointer, which starts with a slash. */
            adminClaim: value.IDP_ADMIN_CLAIM,
            /** `ANY_PARTY`; or null: no token is that of a party. Never set without `adminScope`. */
            partyClaim: value.IDP_PARTY_CLAIM ?? null,
          },
    signIn: buildSignIn(value),
    tracing: buildTracing(value),
    retry: buildRetry(value),
    logLevel: value.LOG_LEVEL,
    /** The commit of the running source; null if unknown. */
    gitCommit: value.GIT_COMMIT ?? null,
    /** The first line of its message; for a merge, without the account named in it. */
    gitSubject: value.GIT_SUBJECT?.replace(/^(Merge pull request #\d+) from \S+$/, '$1') ?? null,
    /** The repository's web page without a trailing slash; null if unknown. */
    repositoryUrl: value.REPOSITORY_URL ?? null,
    /** URL of a trace's page, with `{traceId}` in it, or null. */
    traceUrl: value.TRACE_URL ?? null,
    batchMax: value.BATCH_MAX,
    shutdownGraceMs: value.SHUTDOWN_GRACE,
  }
}

/** Claims that hold scopes, which a client asks for; roles and groups are given. */
const SCOPE_CLAIMS = ['scope', 'scp']

/** Null: administrators paste tokens. */
function buildSignIn(value: Values): SignIn | null {
  const { CONSOLE_CLIENT_ID: clientId, IDP_ISSUER: issuer, IDP_JWKS_URI: keySet } = value
  if (!clientId || !keySet || !URL.canParse(issuer ?? '')) return null
  const { IDP_ADMIN_SCOPE: admin, IDP_OPERATOR_SCOPE: operator, IDP_ADMIN_CLAIM: claim } = value
  const scopes = SCOPE_CLAIMS.includes(claim) ? [admin, operator] : []
  return { issuer: issuer ?? '', clientId, scope: ['openid', ...scopes].filter(Boolean).join(' ') }
}

/** Null: no tracing. */
function buildTracing(value: Values) {
  const endpoint = value.OTEL_ENDPOINT ?? value.OTEL_EXPORTER_OTLP_ENDPOINT
  return endpoint === undefined
    ? null
    : {
        /** The collector's base address; traces go to `/v1/traces` below it. */
        endpoint,
        sampler: value.OTEL_TRACES_SAMPLER,
        samplerRatio: value.OTEL_TRACES_SAMPLER_ARG,
      }
}

/** Adds the password's file to the URL, which also names the files of certificates. */
function buildDatabaseUrl(value: Pick<Values, (typeof DATABASE)[number]>): string {
  const { DATABASE_URL: url, DATABASE_PASSWORD_FILE: file } = value
  if (file === undefined) return url
  return `${url}${url.includes('?') ? '&' : '?'}passwordfile=${encodeURIComponent(file)}`
}

function buildPolicyAdministration(value: Pick<Values, PolicyAdministration | (typeof PROXIES)[number]>) {
  const { POLICY_ADMIN_CA_FILE: ca, POLICY_ADMIN_CERT_FILE: cert, POLICY_ADMIN_KEY_FILE: key } = value
  const { POLICY_ADMIN_HEADER: header, POLICY_ADMIN_HEADER_FILE: file } = value
  return {
    /** May end in a path, and has no trailing slash. */
    baseUrl: value.POLICY_ADMIN_URL,
    connectionCountMax: value.POLICY_ADMIN_CONNECTIONS,
    /** True if look-ups may go through a proxy, subject to NO_PROXY. */
    isProxied:
      (value.POLICY_ADMIN_URL.startsWith('https:') && value.HTTPS_PROXY !== undefined) ||
      value.HTTP_PROXY !== undefined,
    /** JSON Pointers to the party's name in an answer; the first that leads to a string counts. */
    echo: value.POLICY_ADMIN_ECHO,
    /** JSON Pointers to each address in an answer. */
    addresses: mapAddresses((address) => value[addressVariable(address)]),
    /** Deadline for one party, from its request on. */
    deadlineMs: value.POLICY_ADMIN_DEADLINE,
    /** Paths of PEM files, read for each new connection. Without `ca` Node's own authorities are trusted. */
    tlsFiles: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) },
    /** Null: look-ups carry no such header. */
    header: header && file ? { name: header, file } : null,
    /** Null: look-ups carry no token. */
    tokenClient: buildTokenClient(value, 'POLICY_ADMIN_'),
  }
}

function buildRetry(value: Pick<Values, 'RETRY_MAX_AGE' | 'RETRY_MAX_ATTEMPTS'>) {
  return { maxAgeMs: value.RETRY_MAX_AGE, attemptCountMax: value.RETRY_MAX_ATTEMPTS }
}

/** PEM texts. Without `ca` Node's own authorities are trusted. Null: plain text. */
function buildSsl({ MQ_SSL, MQ_SSL_CA_FILE: ca, MQ_SSL_CERT_FILE: cert, MQ_SSL_KEY_FILE: key }: Values) {
  return MQ_SSL ? { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } : null
}

function buildSasl(value: Values) {
  const { MQ_SASL_MECHANISM: mechanism, MQ_SASL_USERNAME: username } = value
  if (mechanism !== 'oauthbearer') {
    const password = buildSecret(value.MQ_SASL_PASSWORD, value.MQ_SASL_PASSWORD_FILE)
    return mechanism && username && password ? { mechanism, username, password } : null
  }
  const client = buildTokenClient(value, 'MQ_SASL_')
  const { MQ_SASL_EXTENSIONS: extensions = {} } = value
  return client && { mechanism, client, extensions }
}

type TokenVariable<Prefix extends TokenPrefix> =
  `${Prefix}${'TOKEN_URL' | 'CLIENT_ID' | 'CLIENT_SECRET' | 'CLIENT_SECRET_FILE' | 'SCOPE'}`

function buildTokenClient<Prefix extends TokenPrefix>(
  value: { readonly [Name in TokenVariable<Prefix>]?: string | undefined },
  prefix: Prefix,
) {
  const read = (name: string) => value[`${prefix}${name}` as TokenVariable<Prefix>]
  const [url, clientId, scope] = [read('TOKEN_URL'), read('CLIENT_ID'), read('SCOPE') ?? null]
  const clientSecret = buildSecret(read('CLIENT_SECRET'), read('CLIENT_SECRET_FILE'))
  return url && clientId && clientSecret ? { url, clientId, clientSecret, scope } : null
}

/** A file is read for each use. */
function buildSecret(
  text: string | undefined,
  file: string | undefined,
): { file: string } | { text: string } | null {
  if (file !== undefined) return { file }
  return text === undefined ? null : { text }
}

/** Variables that need each other. */
function incompleteSettings(set: Environment): Fault[] {
  const needed: [Variable, Variable][] = [
    ['MQ_SSL_CERT_FILE', 'MQ_SSL_KEY_FILE'],
    ['MQ_SSL_KEY_FILE', 'MQ_SSL_CERT_FILE'],
    ['POLICY_ADMIN_CERT_FILE', 'POLICY_ADMIN_KEY_FILE'],
    ['POLICY_ADMIN_KEY_FILE', 'POLICY_ADMIN_CERT_FILE'],
    ['POLICY_ADMIN_HEADER', 'POLICY_ADMIN_HEADER_FILE'],
    ['POLICY_ADMIN_HEADER_FILE', 'POLICY_ADMIN_HEADER'],
  ]
  // Otherwise nobody could access the preferences of another party.
  if (set.IDP_PARTY_CLAIM !== ANY_PARTY) needed.push(['IDP_PARTY_CLAIM', 'IDP_ADMIN_SCOPE'])
  for (const name of loginNeeds(set)) needed.push(['MQ_SASL_MECHANISM', name])
  for (const name of tokenNeeds(set, 'POLICY_ADMIN_')) needed.push(['POLICY_ADMIN_TOKEN_URL', name])
  return needed
    .filter(([given, other]) => set[given] !== undefined && set[other] === undefined)
    .map(([given, other]) => ({ path: [other], message: `is required with ${given}` }))
}

/** Refuses two credentials for look-ups: a server may read the wrong one. */
function excessSettings({ POLICY_ADMIN_HEADER: header, POLICY_ADMIN_TOKEN_URL: url }: Environment): Fault[] {
  if (header === undefined || url === undefined) return []
  const message =
    'cannot be combined with POLICY_ADMIN_HEADER: look-ups carry one credential. Remove one of the two'
  return [{ path: ['POLICY_ADMIN_TOKEN_URL'], message, isExcess: true }]
}

/** Refuses two equal ports on overlapping addresses: the second listener could not open its port. */
function samePort(set: Environment): Fault[] {
  const {
    PORT = variables.shape.PORT.def.defaultValue,
    HOST = variables.shape.HOST.def.defaultValue,
    MANAGEMENT_PORT: port,
    MANAGEMENT_HOST: host = variables.shape.MANAGEMENT_HOST.def.defaultValue,
  } = set
  const meets = HOST === host || [HOST, host].some((address) => address === '0.0.0.0' || address === '::')
  if (port === undefined || Number(port) === 0 || Number(port) !== Number(PORT) || !meets) return []
  return [{ path: ['MANAGEMENT_PORT'], message: `must differ from PORT, which is ${Number(PORT)}` }]
}

function loginNeeds(set: Environment): readonly Variable[] {
  if (set.MQ_SASL_MECHANISM?.toUpperCase() !== 'OAUTHBEARER') {
    const hasFile = set.MQ_SASL_PASSWORD_FILE !== undefined
    return ['MQ_SASL_USERNAME', ...(hasFile ? [] : ['MQ_SASL_PASSWORD' as const])]
  }
  return ['MQ_SASL_TOKEN_URL', ...tokenNeeds(set, 'MQ_SASL_')]
}

function tokenNeeds(set: Environment, prefix: TokenPrefix): readonly Variable[] {
  const hasFile = set[`${prefix}CLIENT_SECRET_FILE`] !== undefined
  return [`${prefix}CLIENT_ID`, ...(hasFile ? [] : [`${prefix}CLIENT_SECRET` as const])]
}

function withoutUnset(env: Environment): Record<string, string | undefined> {
  const given = { ...env }
  for (const name of [...PROXIES, 'NO_PROXY']) given[name] = env[name.toLowerCase()] ?? env[name]
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== ''))
}

const INPUT = { io: 'input', unrepresentable: 'any' } as const

function faultList(issues: readonly Fault[]): string {
  const faults = issues.map((issue) => {
    const name = issue.path[0] as Variable
    const { default: byDefault, example = byDefault } = z.toJSONSchema(variables.shape[name], INPUT)
    return `  ${name} ${issue.message}${issue.isExcess ? '' : `; for example ${name}=${example}`}`
  })
  return ['The configuration is not valid. Correct these environment variables:', ...faults].join('\n')
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner)
  }
  return Object.freeze(value)
}
