import { RETRIED_EVERY } from '../decide/attempt/retry-pause.ts'
import { ANY_PARTY } from '../model/party-claim.ts'
import { nearest } from '../text/nearest.ts'
import { isLoopback } from './loopback.ts'
import { type Values, variables } from './variables.ts'

/** Values of the variables that are set. */
export type Environment = Readonly<Record<string, string | undefined>>

type Case = (value: Values) => unknown

interface WithoutEffect {
  readonly names: RegExp
  readonly reason: string
  readonly when: Case
  /** Reported only if faulty: others may set it for their own use, as Kubernetes does for a Service named smtp. */
  readonly onlyIfFaulty?: true
}

const WITHOUT_EFFECT: readonly WithoutEffect[] = [
  { names: /^RETRY_INTERVAL$/, reason: `: ${RETRIED_EVERY}`, when: () => true },
  { names: /^MQ_SSL_\w+_FILE$/, reason: ': MQ_SSL is not true', when: (value) => !value.MQ_SSL },
  {
    names: /^MQ_SASL_(?!MECHANISM)/,
    reason: ': MQ_SASL_MECHANISM is not set',
    when: (value) => !value.MQ_SASL_MECHANISM,
  },
  {
    names: /^MQ_SASL_(USERNAME|PASSWORD(_FILE)?)$/,
    reason: ' with MQ_SASL_MECHANISM=OAUTHBEARER',
    when: isByToken,
  },
  {
    names: /^MQ_SASL_(TOKEN|CLIENT|SCOPE|EXTENSIONS)/,
    reason: ' without MQ_SASL_MECHANISM=OAUTHBEARER',
    when: (value) => value.MQ_SASL_MECHANISM && !isByToken(value),
  },
  {
    names: /^MQ_SASL_PASSWORD$/,
    reason: ' with MQ_SASL_PASSWORD_FILE',
    when: (value) => value.MQ_SASL_PASSWORD_FILE,
  },
  {
    names: /^MQ_SASL_CLIENT_SECRET$/,
    reason: ' with MQ_SASL_CLIENT_SECRET_FILE',
    when: (value) => isByToken(value) && value.MQ_SASL_CLIENT_SECRET_FILE,
  },
  {
    names: /^POLICY_ADMIN_(CA|CERT|KEY)_FILE$/,
    reason: ': POLICY_ADMIN_URL is an http:// URL',
    when: areLookUpsPlain,
  },
  {
    names: /^POLICY_ADMIN_(CLIENT_|SCOPE$)/,
    reason: ': POLICY_ADMIN_TOKEN_URL is not set',
    when: (value) => !value.POLICY_ADMIN_TOKEN_URL,
  },
  {
    names: /^POLICY_ADMIN_CLIENT_SECRET$/,
    reason: ' with POLICY_ADMIN_CLIENT_SECRET_FILE',
    when: (value) => value.POLICY_ADMIN_TOKEN_URL && value.POLICY_ADMIN_CLIENT_SECRET_FILE,
  },
  {
    names: /^IDP_(ISSUER|AUDIENCE|ADMIN_SCOPE|OPERATOR_SCOPE|PARTY_CLAIM)$/,
    reason: ': without IDP_JWKS_URI all routes are open',
    when: (value) => !value.IDP_JWKS_URI,
  },
  {
    names: /^CONSOLE_CLIENT_ID$/,
    reason: ': it needs MANAGEMENT_PORT, IDP_JWKS_URI, and a URL in IDP_ISSUER',
    when: (value) =>
      value.MANAGEMENT_PORT === undefined || !value.IDP_JWKS_URI || !URL.canParse(value.IDP_ISSUER ?? ''),
  },
  {
    names: /^IDP_ADMIN_CLAIM$/,
    reason: ': neither IDP_ADMIN_SCOPE nor IDP_OPERATOR_SCOPE is set',
    when: (value) => value.IDP_JWKS_URI && !value.IDP_ADMIN_SCOPE && !value.IDP_OPERATOR_SCOPE,
  },
  { names: /^SMTP_/, reason: ': no mail server is contacted', when: () => true, onlyIfFaulty: true },
  {
    names: /^IDP_ADMIN_CLAIM$/,
    reason: ': neither IDP_ADMIN_SCOPE nor IDP_OPERATOR_SCOPE is set',
    when: (value) => !value.IDP_ADMIN_SCOPE && !value.IDP_OPERATOR_SCOPE,
    onlyIfFaulty: true,
  },
  {
    names: /^OTEL_EXPORTER_OTLP_ENDPOINT$/,
    reason: ' with OTEL_ENDPOINT',
    when: (value) => value.OTEL_ENDPOINT,
    onlyIfFaulty: true,
  },
  {
    names: /^OTEL_TRACES_/,
    reason: ': OTEL_ENDPOINT is not set',
    when: (value) => !(value.OTEL_ENDPOINT ?? value.OTEL_EXPORTER_OTLP_ENDPOINT),
    onlyIfFaulty: true,
  },
  {
    names: /^MANAGEMENT_(HOST|ALLOWED_HOSTS)$/,
    reason: ': MANAGEMENT_PORT is not set',
    when: (value) => !value.MANAGEMENT_PORT,
    onlyIfFaulty: true,
  },
]

/** Settings that protect less or delay more than an operator may expect. */
const RISKS: readonly (readonly [warning: string, when: Case])[] = [
  [
    'MQ_SASL_MECHANISM=OAUTHBEARER without MQ_SSL=true sends tokens in plain text over the network',
    (value) => isByToken(value) && !value.MQ_SSL,
  ],
  [
    'MQ_SASL_MECHANISM=PLAIN without MQ_SSL=true sends the password in plain text over the network',
    (value) => value.MQ_SASL_MECHANISM === 'plain' && !value.MQ_SSL,
  ],
  [
    'MQ_SASL_TOKEN_URL is an http:// URL: the secret of the client is sent in plain text. Use https://',
    (value) => isByToken(value) && isPlain(value.MQ_SASL_TOKEN_URL),
  ],
  [
    'POLICY_ADMIN_URL is an http:// URL: credentials are sent in plain text. Use https://',
    (value) => areLookUpsPlain(value) && (value.POLICY_ADMIN_HEADER ?? value.POLICY_ADMIN_TOKEN_URL),
  ],
  [
    'POLICY_ADMIN_TOKEN_URL is an http:// URL: the secret of the client is sent in plain text. Use https://',
    (value) => isPlain(value.POLICY_ADMIN_TOKEN_URL),
  ],
  [
    'IDP_JWKS_URI is an http:// URL: anyone who can change its responses can sign tokens. Use https://',
    (value) => isPlain(value.IDP_JWKS_URI),
  ],
  [
    'IDP_AUDIENCE is not set: tokens that the identity provider issued for other services are valid here',
    (value) => value.IDP_JWKS_URI && !value.IDP_AUDIENCE,
  ],
  [
    'IDP_ISSUER is not set: tokens of every issuer whose keys are in the key set are valid here',
    (value) => value.IDP_JWKS_URI && !value.IDP_ISSUER,
  ],
  [
    'IDP_PARTY_CLAIM is not set: the tokens of members are refused. Set it to the claim that names the party of a token; ' +
      'or to none, and any valid token reads and changes the preferences of every party',
    (value) => value.IDP_JWKS_URI && value.IDP_ADMIN_SCOPE && !value.IDP_PARTY_CLAIM,
  ],
  [
    'IDP_PARTY_CLAIM is none: any valid token reads and changes the preferences of every party',
    (value) => value.IDP_JWKS_URI && value.IDP_PARTY_CLAIM === ANY_PARTY,
  ],
  [
    'MANAGEMENT_HOST lets other machines in, and IDP_JWKS_URI is not set: anyone who reaches it can read the whole log',
    (value) =>
      value.MANAGEMENT_PORT !== undefined && !value.IDP_JWKS_URI && !isLoopback(value.MANAGEMENT_HOST),
  ],
  [
    "IDP_ADMIN_SCOPE is not set: any valid token reads the whole log and everyone's preferences",
    (value) => value.IDP_JWKS_URI && !value.IDP_ADMIN_SCOPE,
  ],
  [
    'IDP_ADMIN_CLAIM has a dot, but is read as the name of one claim. For a path write a JSON Pointer such as /insurer/roles; ' +
      'for a name with a dot, write /insurer.roles',
    (value) => value.IDP_JWKS_URI && /^[^/:]*\.[^/:]*$/.test(value.IDP_ADMIN_CLAIM),
  ],
  [
    'DATABASE_POOL_MAX is too small: metrics or the retry must wait for the partitions. ' +
      'Set it to at least MQ_PARTITIONS_AT_ONCE + 2, or lower MQ_PARTITIONS_AT_ONCE',
    // A partition uses a connection while it commits; the retry needs one, and so do metrics.
    (value) => value.DATABASE_POOL_MAX < value.MQ_PARTITIONS_AT_ONCE + 2,
  ],
]

/** Kubernetes kills a pod after this time, unless its manifest sets another. */
const POD_GRACE_MS = 30_000
const POD_GRACE =
  'SHUTDOWN_GRACE is longer than the 30 s after which Kubernetes kills a pod: set terminationGracePeriodSeconds above the sum of SHUTDOWN_GRACE and preStop'

/** Prefixes of our variables. OTEL_* as a whole belongs to OpenTelemetry. */
const OURS = /^(DATABASE|MQ|BATCH|POLICY_ADMIN|SMTP|IDP|MANAGEMENT|RETRY|SHUTDOWN)_|^OTEL_END/

/** Variables that are misspelt, have no effect or leave something unprotected. Contains their names, never their values. */
export function findWarnings(set: Environment, values: Values): readonly string[] {
  const names = Object.keys(set)
  return [
    ...names.filter((name) => OURS.test(name) && !Object.hasOwn(variables.shape, name)).map(unknown),
    ...WITHOUT_EFFECT.filter(({ when, onlyIfFaulty }) => !onlyIfFaulty && when(values)).flatMap((rule) =>
      names.filter((name) => rule.names.test(name)).map((name) => `${name} has no effect${rule.reason}`),
    ),
    ...RISKS.filter(([, when]) => when(values)).map(([warning]) => warning),
    ...(set.KUBERNETES_SERVICE_HOST !== undefined && values.SHUTDOWN_GRACE > POD_GRACE_MS ? [POD_GRACE] : []),
  ]
}

/** The warning about a faulty value that has no effect; null if it has one. */
export function ignoredFault(name: string, values: Values): string | null {
  const found = WITHOUT_EFFECT.find(({ names, when }) => names.test(name) && when(values))
  return found === undefined ? null : `${name} is not valid, and has no effect${found.reason}`
}

function unknown(name: string): string {
  const meant = nearest(name, Object.keys(variables.shape))
  return `${name} is not a variable of this service${meant === null ? '' : `: did you mean ${meant}?`}`
}

function isByToken({ MQ_SASL_MECHANISM }: Values): boolean {
  return MQ_SASL_MECHANISM === 'oauthbearer'
}

function areLookUpsPlain({ POLICY_ADMIN_URL }: Values): boolean {
  return isPlain(POLICY_ADMIN_URL)
}

function isPlain(url: string | undefined): boolean {
  return url?.startsWith('http:') ?? false
}
