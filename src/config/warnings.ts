import { nearest } from '../core/text/nearest.ts'
import { type TokenPrefix, type Values, variables } from './variables.ts'

/** The variables that are set. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Prefixes of our variables. OTEL_* as a whole belongs to OpenTelemetry. */
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

/** Variables that are misspelt, have no effect or leave something unprotected. Contains their names, never their values. */
export function warningsOf(set: Environment, values: Values): readonly string[] {
  return [
    ...namesWithoutEffect(set),
    ...brokerWarnings(set, values),
    ...policyAdministrationWarnings(set, values),
    ...tokenWarnings(values),
    ...poolWarnings(values),
  ]
}

function namesWithoutEffect(set: Environment): readonly string[] {
  const names = Object.keys(set)
  const known = Object.keys(variables.shape)
  const all: string[] = []
  if (names.includes('RETRY_INTERVAL')) {
    all.push('RETRY_INTERVAL has no effect: failed rows are retried every 60 seconds')
  }
  if (!names.includes('IDP_JWKS_URI')) {
    for (const name of ['IDP_ISSUER', 'IDP_AUDIENCE', 'IDP_ADMIN_SCOPE', 'IDP_PARTY_CLAIM']) {
      if (names.includes(name)) all.push(`${name} has no effect: without IDP_JWKS_URI all routes are open`)
    }
  } else if (names.includes('IDP_ADMIN_CLAIM') && !names.includes('IDP_ADMIN_SCOPE')) {
    all.push('IDP_ADMIN_CLAIM has no effect: IDP_ADMIN_SCOPE is not set')
  }
  for (const name of names) {
    if (known.includes(name) || !OUR_PREFIXES.some((prefix) => name.startsWith(prefix))) continue
    const meant = nearest(name, known)
    all.push(`${name} is not a variable of this service${meant === null ? '' : `: did you mean ${meant}?`}`)
  }
  return all
}

/** Settings that protect less than an operator may expect. */
function brokerWarnings(set: Environment, value: Values): readonly string[] {
  const all: string[] = []
  for (const name of ['MQ_SSL_CA_FILE', 'MQ_SSL_CERT_FILE', 'MQ_SSL_KEY_FILE']) {
    if (!value.MQ_SSL && set[name] !== undefined) all.push(`${name} has no effect: MQ_SSL is not true`)
  }
  const { MQ_SASL_MECHANISM: mechanism } = set
  const isToken = mechanism === 'OAUTHBEARER'
  for (const name of Object.keys(set).filter((name) => /^MQ_SASL_(?!MECHANISM)/.test(name))) {
    const isOfToken = !/_(USERNAME|PASSWORD|PASSWORD_FILE)$/.test(name)
    if (mechanism === undefined) all.push(`${name} has no effect: MQ_SASL_MECHANISM is not set`)
    else if (isOfToken !== isToken) all.push(`${name} has no effect with MQ_SASL_MECHANISM=${mechanism}`)
  }
  if (value.MQ_SASL_PASSWORD !== undefined && value.MQ_SASL_PASSWORD_FILE !== undefined) {
    all.push('MQ_SASL_PASSWORD has no effect with MQ_SASL_PASSWORD_FILE')
  }
  if (isToken && !value.MQ_SSL) {
    all.push('MQ_SASL_MECHANISM=OAUTHBEARER without MQ_SSL=true sends tokens in plain text over the network')
  }
  if (isToken) all.push(...tokenClientWarnings(value, 'MQ_SASL_'))
  if (value.MQ_SASL_MECHANISM === 'plain' && !value.MQ_SSL) {
    all.push('MQ_SASL_MECHANISM=PLAIN without MQ_SSL=true sends the password in plain text over the network')
  }
  return all
}

function policyAdministrationWarnings(set: Environment, value: Values): readonly string[] {
  const all: string[] = []
  const isPlain = value.POLICY_ADMIN_URL.startsWith('http:')
  for (const name of ['POLICY_ADMIN_CA_FILE', 'POLICY_ADMIN_CERT_FILE', 'POLICY_ADMIN_KEY_FILE']) {
    if (isPlain && set[name] !== undefined)
      all.push(`${name} has no effect: POLICY_ADMIN_URL is an http:// URL`)
  }
  const { POLICY_ADMIN_HEADER: header, POLICY_ADMIN_TOKEN_URL: tokenUrl } = value
  if (isPlain && (header ?? tokenUrl) !== undefined) {
    all.push('POLICY_ADMIN_URL is an http:// URL: credentials are sent in plain text. Use https://')
  }
  if (tokenUrl !== undefined) return [...all, ...tokenClientWarnings(value, 'POLICY_ADMIN_')]
  for (const name of Object.keys(set).filter((name) => /^POLICY_ADMIN_(CLIENT_|SCOPE$)/.test(name)))
    all.push(`${name} has no effect: POLICY_ADMIN_TOKEN_URL is not set`)
  return all
}

function tokenClientWarnings(value: Values, prefix: TokenPrefix): readonly string[] {
  const all: string[] = []
  const [text, file] = [`${prefix}CLIENT_SECRET`, `${prefix}CLIENT_SECRET_FILE`] as const
  if (value[text] !== undefined && value[file] !== undefined) all.push(`${text} has no effect with ${file}`)
  if (value[`${prefix}TOKEN_URL`]?.startsWith('http:')) {
    all.push(
      `${prefix}TOKEN_URL is an http:// URL: the secret of the client is sent in plain text. Use https://`,
    )
  }
  return all
}

/** Token settings that leave routes more open than an operator may expect. */
function tokenWarnings(value: Values): readonly string[] {
  const { IDP_JWKS_URI, IDP_AUDIENCE, IDP_ADMIN_SCOPE, IDP_ADMIN_CLAIM } = value
  if (IDP_JWKS_URI === undefined) return []
  const all: string[] = []
  if (IDP_JWKS_URI.startsWith('http:')) {
    all.push('IDP_JWKS_URI is an http:// URL: whoever can change its responses can sign tokens. Use https://')
  }
  if (IDP_AUDIENCE === undefined) {
    all.push(
      'IDP_AUDIENCE is not set: tokens that the identity provider issued for other services are valid here',
    )
  }
  if (IDP_ADMIN_SCOPE === undefined) {
    all.push("IDP_ADMIN_SCOPE is not set: any valid token reads the whole log and everyone's preferences")
  }
  if (/^[^/:]*\.[^/:]*$/.test(IDP_ADMIN_CLAIM)) {
    all.push(
      'IDP_ADMIN_CLAIM has a dot, and is the name of one claim. For a path write a JSON Pointer such as /insurer/roles; ' +
        'for a name with a dot, write /insurer.roles',
    )
  }
  return all
}

/** A partition uses a connection while it commits; the retry needs one, and so do metrics. */
function poolWarnings(value: Values): readonly string[] {
  if (value.DATABASE_POOL_MAX >= value.MQ_PARTITIONS_AT_ONCE + 2) return []
  return [
    'DATABASE_POOL_MAX is too small: metrics or the retry must wait for the partitions. ' +
      'Set it to at least MQ_PARTITIONS_AT_ONCE + 2, or lower MQ_PARTITIONS_AT_ONCE',
  ]
}
