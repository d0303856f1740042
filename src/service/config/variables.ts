import { z } from 'zod'
import { RETRIED_EVERY } from '../decide/attempt/retry-pause.ts'
import { ADDRESS_KINDS, ADDRESSES, type Address, addressVariable } from '../decide/party/channel.ts'
import {
  baseUrl,
  brokers,
  choice,
  claim,
  duration,
  headerName,
  host,
  hostNames,
  integer,
  jsonPointersOrNone,
  matching,
  pemFile,
  pemPath,
  port,
  postgresUrl,
  proxyUrl,
  ratio,
  readablePath,
  saslExtensions,
  secret,
  topics,
  traceUrl,
  trueOrFalse,
  urlWithoutFragment,
} from './parsers.ts'

/** Values of `OTEL_TRACES_SAMPLER` from the OpenTelemetry specification that this service supports. */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

/** Variables for the places of addresses in policy administration's answers. */
function addressPlaces() {
  const place = (address: Address) =>
    jsonPointersOrNone()
      .prefault(`/${address}`)
      .meta({
        description: `Where a response has the ${ADDRESS_KINDS[address].noun}: JSON Pointers, of which the first that is not null counts; \`none\`: it has none`,
        example: `/contact/${address}`,
      })
  const places = ADDRESSES.map((address) => [addressVariable(address), place(address)])
  return Object.fromEntries(places) as Record<`POLICY_ADMIN_${Uppercase<Address>}`, ReturnType<typeof place>>
}

const SASL_MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'] as const
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

const NAME = matching(/^.{1,255}$/, '1 to 255 characters').optional()
const SECRET = secret().optional()
const SCOPES = matching(/^[!-~]+( [!-~]+)*$/, 'scopes separated by single spaces').optional()
const SCOPE = matching(
  /^[!#-[\]-~]{1,255}$/,
  'one OAuth scope (printable characters without spaces, quotes and backslashes)',
).optional()
const PRINTABLE = matching(/^[ -~]{1,255}$/, '1 to 255 printable characters').optional()

/**
 * Every variable: its type, and in `meta()` its description and, unless the default is one, an example of a good value. Defaults
 * are in environment syntax. `z.toJSONSchema(variables, { io: 'input' })` lists everything.
 */
export const variables = z.object({
  DATABASE_URL: postgresUrl().meta({
    description: 'PostgreSQL database with the schema `notifications`; `sslmode` in it turns TLS on',
    example: 'postgres://notifications:secret@localhost:5432/notifications',
  }),
  DATABASE_PASSWORD_FILE: readablePath().optional().meta({
    description: 'File of the password, instead of one in the URL',
    example: '/run/secrets/database-password',
  }),
  DATABASE_POOL_MAX: integer(1, 1_000)
    .prefault('10')
    .describe('Database connections for dispatch and retries, at most'),
  DATABASE_HTTP_POOL_MAX: integer(2, 1_000)
    .prefault('4')
    .describe('Database connections for HTTP requests, at most; half of them for lists and counts'),
  MQ_BROKERS: brokers().meta({
    description: 'Kafka bootstrap brokers',
    example: 'kafka-1:9092,kafka-2:9092',
  }),
  MQ_SSL: trueOrFalse().prefault('false').meta({
    description: 'TLS to the brokers; certificates are always verified',
    example: 'true',
  }),
  MQ_SSL_CA_FILE: pemFile().optional().meta({
    description: 'Authorities of the brokers; default: those of Node.js',
    example: '/etc/kafka/ca.pem',
  }),
  MQ_SSL_CERT_FILE: pemFile().optional().meta({
    description: 'Client certificate for the brokers',
    example: '/etc/kafka/client.pem',
  }),
  MQ_SSL_KEY_FILE: pemFile().optional().meta({
    description: 'Key of the client certificate, without a passphrase',
    example: '/etc/kafka/client.key',
  }),
  MQ_SASL_MECHANISM: choice(SASL_MECHANISMS)
    .transform((name) => name.toLowerCase() as Lowercase<typeof name>)
    .optional()
    .meta({
      description: 'How to log in to the brokers; unset: not at all',
      example: 'SCRAM-SHA-512',
    }),
  MQ_SASL_USERNAME: NAME.meta({ description: 'User name for the brokers', example: 'notifications' }),
  MQ_SASL_PASSWORD: SECRET.meta({ description: 'Password for the brokers', example: 'secret' }),
  MQ_SASL_PASSWORD_FILE: readablePath().optional().meta({
    description: 'File of that password, instead',
    example: '/run/secrets/mq-sasl-password',
  }),
  MQ_SASL_TOKEN_URL: urlWithoutFragment().optional().meta({
    description: 'OAUTHBEARER: token endpoint (client credentials grant)',
    example: 'https://identity.example/oauth2/token',
  }),
  MQ_SASL_CLIENT_ID: NAME.meta({
    description: 'OAUTHBEARER: client id',
    example: 'notifications',
  }),
  MQ_SASL_CLIENT_SECRET: SECRET.meta({ description: 'OAUTHBEARER: client secret', example: 'secret' }),
  MQ_SASL_CLIENT_SECRET_FILE: readablePath().optional().meta({
    description: 'OAUTHBEARER: file of the secret, instead',
    example: '/run/secrets/kafka-client-secret',
  }),
  MQ_SASL_SCOPE: SCOPES.meta({
    description: 'OAUTHBEARER: scope to request',
    example: 'https://events.example/.default',
  }),
  MQ_SASL_EXTENSIONS: saslExtensions().optional().meta({
    description: 'OAUTHBEARER: extensions sent with each token',
    example: 'logicalCluster=lkc-abc123,identityPoolId=pool-1',
  }),
  MQ_TOPICS: topics().prefault('claims,billing,enrollment').describe('Kafka topics to consume'),
  MQ_GROUP_ID: matching(/^[!-~]{1,255}$/, '1 to 255 printable characters without spaces')
    .prefault('notifications-service')
    .describe('Kafka consumer group'),
  MQ_SESSION_TIMEOUT: duration('6s', '5m', '30s').describe(
    'Kafka reassigns partitions after so long without a heartbeat',
  ),
  MQ_PARTITIONS_AT_ONCE: integer(1, 100).prefault('8').describe('Partitions processed at the same time'),
  BATCH_MAX: integer(1, 5_000).prefault('1000').describe('Messages in a batch (one transaction), at most'),
  POLICY_ADMIN_URL: baseUrl().meta({
    description: 'Base URL of policy administration; may have a path',
    example: 'http://policy-admin:4001',
  }),
  POLICY_ADMIN_CONNECTIONS: integer(1, 1_000)
    .prefault('32')
    .describe('Connections to policy administration, at most'),
  ...addressPlaces(),
  POLICY_ADMIN_ECHO: jsonPointersOrNone().prefault('/partyLocator,/locator').meta({
    description:
      'Where a response names its party: JSON Pointers, of which the first with a string counts; `none`: not checked',
    example: '/party/locator',
  }),
  POLICY_ADMIN_DEADLINE: duration('100ms', '1m', '5s').describe('Time limit for one contact look-up'),
  POLICY_ADMIN_CA_FILE: pemPath().optional().meta({
    description: 'Authorities of policy administration; default: those of Node.js',
    example: '/etc/policy-admin/ca.pem',
  }),
  POLICY_ADMIN_CERT_FILE: pemPath().optional().meta({
    description: 'Client certificate for it',
    example: '/etc/policy-admin/client.pem',
  }),
  POLICY_ADMIN_KEY_FILE: pemPath().optional().meta({
    description: 'Key of the client certificate, without a passphrase',
    example: '/etc/policy-admin/client.key',
  }),
  POLICY_ADMIN_HEADER: headerName().optional().meta({
    description: 'Header that authenticates look-ups; not together with `POLICY_ADMIN_TOKEN_URL`',
    example: 'X-Api-Key',
  }),
  POLICY_ADMIN_HEADER_FILE: readablePath().optional().meta({
    description: 'File of its whole value',
    example: '/run/secrets/policy-admin-key',
  }),
  POLICY_ADMIN_TOKEN_URL: urlWithoutFragment().optional().meta({
    description: 'Token endpoint (client credentials grant) of the bearer token of look-ups; unset: no token',
    example: 'https://identity.example/oauth2/token',
  }),
  POLICY_ADMIN_CLIENT_ID: NAME.meta({
    description: 'Client id there',
    example: 'notifications',
  }),
  POLICY_ADMIN_CLIENT_SECRET: SECRET.meta({ description: 'Client secret', example: 'secret' }),
  POLICY_ADMIN_CLIENT_SECRET_FILE: readablePath().optional().meta({
    description: 'File of the secret, instead',
    example: '/run/secrets/policy-admin-client-secret',
  }),
  POLICY_ADMIN_SCOPE: SCOPES.meta({
    description: 'Scope to request',
    example: 'api://policy-admin/.default',
  }),
  SMTP_HOST: host().prefault('localhost').describe('Mail server; never contacted'),
  SMTP_PORT: port(1).prefault('25').describe('Port of the mail server; never contacted'),
  IDP_JWKS_URI: urlWithoutFragment().optional().meta({
    description: 'JSON Web Key Set of the identity provider; unset: all routes are open',
    example: 'https://identity.example/jwks',
  }),
  IDP_ISSUER: PRINTABLE.meta({
    description: 'Exact `iss` of tokens; unset: any',
    example: 'https://identity.example/',
  }),
  IDP_AUDIENCE: PRINTABLE.meta({
    description: '`aud` of tokens, alone or among others; unset: any',
    example: 'notifications-service',
  }),
  IDP_ADMIN_SCOPE: SCOPE.meta({
    description: 'Scope or role for reading all data; unset: any valid token',
    example: 'notifications:admin',
  }),
  IDP_OPERATOR_SCOPE: SCOPE.meta({
    description:
      'Scope or role for requests to the service, besides `IDP_ADMIN_SCOPE` for reading; unset: nobody may ask',
    example: 'notifications:operator',
  }),
  CONSOLE_CLIENT_ID: PRINTABLE.meta({
    description:
      'Public client (code flow with PKCE) of the console at `IDP_ISSUER`; unset: administrators paste a token',
    example: 'notifications-console',
  }),
  IDP_ADMIN_CLAIM: claim().prefault('scope').meta({
    description:
      'Claim that holds these scopes, by name or JSON Pointer: words separated by spaces, or a list of strings',
    example: '/realm_access/roles',
  }),
  IDP_PARTY_CLAIM: PRINTABLE.meta({
    description:
      'Claim with the party whose preferences a token may use without the admin scope; `none`: those of any party; unset: no such token',
    example: 'party_locator',
  }),
  OTEL_ENDPOINT: baseUrl().optional().meta({
    description: 'Tracing collector (OTLP over HTTP); unset: no tracing',
    example: 'http://localhost:4318',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: baseUrl().optional().meta({
    description: 'The same by the name of the standard; `OTEL_ENDPOINT` wins',
    example: 'http://localhost:4318',
  }),
  OTEL_TRACES_SAMPLER: choice(SAMPLERS)
    .prefault('parentbased_always_on')
    .meta({ description: 'Sampler that selects the batches to trace', example: 'parentbased_traceidratio' }),
  OTEL_TRACES_SAMPLER_ARG: ratio()
    .prefault('1')
    .meta({ description: 'Fraction of batches that a ratio sampler traces', example: '0.05' }),
  NODE_EXTRA_CA_CERTS: z.string().optional().meta({
    description: 'File of further authorities for all HTTPS servers that the service calls',
    example: '/etc/notifications-service/ca/ca.pem',
  }),
  HTTPS_PROXY: proxyUrl().optional().meta({
    description:
      'Proxy for https:// URLs of policy administration, token endpoints, key set and collector; unset: `HTTP_PROXY`; `https_proxy` wins',
    example: 'http://proxy.example:3128',
  }),
  HTTP_PROXY: proxyUrl().optional().meta({
    description: 'Proxy for their http:// URLs; `http_proxy` wins',
    example: 'http://proxy.example:3128',
  }),
  NO_PROXY: z.string().optional().meta({
    description: 'Hosts without a proxy, with their subdomains; `no_proxy` wins',
    example: 'localhost,.svc,.cluster.local',
  }),
  RETRY_INTERVAL: z
    .string()
    .optional()
    .meta({
      description: `No effect: ${RETRIED_EVERY}`,
      example: '60s',
    }),
  RETRY_MAX_AGE: duration('1m', '3650d', '24h').describe('Only younger failed rows are retried'),
  RETRY_MAX_ATTEMPTS: integer(0, 1_000)
    .prefault('3')
    .describe('Only failed rows with fewer send attempts are retried'),
  HOST: host().prefault('0.0.0.0').describe('Address to listen on'),
  PORT: port(0).prefault('4006').describe('Port to listen on; 0 picks a free port'),
  MANAGEMENT_HOST: host().prefault('127.0.0.1').describe('Address of the management listener'),
  HTTP_REQUESTS_MAX: integer(1, 10_000)
    .prefault('32')
    .describe('Requests at once on each listener, of parties and of administrators each; more get 503'),
  MANAGEMENT_PORT: port(0).optional().meta({
    description: 'Port of the management listener; 0 picks a free port; unset: no listener',
    example: '4007',
  }),
  MANAGEMENT_ALLOWED_HOSTS: hostNames().optional().meta({
    description: 'Host names of the management listener, besides `MANAGEMENT_HOST` and `localhost`',
    example: 'notifications.internal',
  }),
  LOG_LEVEL: choice(LOG_LEVELS).prefault('info').describe('Minimum level of log lines'),
  GIT_COMMIT: matching(/^[0-9a-f]{7,64}$/i, '7 to 64 hexadecimal digits')
    .optional()
    .meta({
      description: 'Commit of the running source, recorded with each rule table',
      example: '1f0a9c2e5b7d4a6f8c3e1d2b4a5f6e7d8c9b0a1f',
    }),
  GIT_SUBJECT: matching(/^[^\r\n]{1,500}$/, 'one line')
    .optional()
    .meta({
      description: 'First line of its message; the workbench shows it',
      example: 'Tell app members of paid invoices (#123)',
    }),
  REPOSITORY_URL: baseUrl().optional().meta({
    description: 'Web page of the repository, on GitHub or GitLab; the workbench links to its upload page',
    example: 'https://github.com/insurer/notifications-service',
  }),
  TRACE_URL: traceUrl().optional().meta({
    description: 'Web page of a trace, with `{traceId}` in it',
    example: 'https://jaeger.example/trace/{traceId}',
  }),
  SHUTDOWN_GRACE: duration('1s', '10m', '20s').describe(
    'Time allowed for an orderly stop; allow the process more, as by `terminationGracePeriodSeconds`',
  ),
})
export type Variable = keyof typeof variables.shape
/** Prefixes of the variables of an OAuth 2 client. */
export type TokenPrefix = 'MQ_SASL_' | 'POLICY_ADMIN_'
export type Values = z.output<typeof variables>
