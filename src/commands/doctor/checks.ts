import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { createParties, createSenders, withBrokers } from '../../app/clients.ts'
import { readText } from '../../app/rule-files.ts'
import type { Config } from '../../config/config.ts'
import { distinctParties } from '../../core/attempt/attempt.ts'
import { DATA_FAULTS } from '../../core/event/data-fault.ts'
import { counted } from '../../core/text/count.ts'
import { didYouMean, nearest } from '../../core/text/nearest.ts'
import type { Refusal } from '../../http/auth/disagreements.ts'
import { loadKeys } from '../../http/auth/load-keys.ts'
import { tryToken } from '../../http/auth/try-token.ts'
import { type Brokers, READ_COMMITTED } from '../../kafka/brokers.ts'
import { findAdvertisedFault } from '../../kafka/consumer.ts'
import { brokerReason } from '../../kafka/patches/fetch-response.ts'
import { describeServer } from '../../postgres/connection/describe-server.ts'
import { classifyError } from '../../postgres/connection/errors.ts'
import { type DatabasePool, openPool } from '../../postgres/connection/pool.ts'
import { countFailedEntries } from '../../postgres/read/count-failed-entries.ts'
import { listLogEntries } from '../../postgres/read/list-log-entries.ts'
import { ALL_REJECTED, countRejectedMessages } from '../../postgres/read/list-rejected-messages.ts'
import { countUnfinishedErasures } from '../../postgres/retention/erasure-record.ts'
import { encodingFault } from '../../postgres/schema/encoding-fault.ts'
import { findReadinessFault } from '../../postgres/schema/find-readiness-fault.ts'
import { knownMigrations } from '../../postgres/schema/migrate.ts'
import { createLog } from '../../telemetry/log.ts'
import { checkPartitions } from './blocked-partitions.ts'
import { checkClocks } from './clocks.ts'
import { checkConsumerGroup } from './consumer-group.ts'
import { checkEnvelopeMap, readMaps, readSamples } from './newest-messages.ts'
import {
  certificateRemedies,
  Problem,
  type Remedies,
  remedyFor,
  tokenRemedies,
  type Warning,
} from './remedies.ts'

export interface Options {
  /** The file of a token to check. */
  readonly token?: string
}

export interface Check {
  readonly name: string
  /** Prefix of variables; the check is skipped if one of them is wrong. */
  readonly prefix: string
  /** Other checks; this one is skipped if one of them did not pass. */
  readonly after?: readonly string[]
  /** Resolves to the finding, or to null if not configured; rejects with the problem. */
  readonly run: (config: Config, options: Options) => Promise<string | Warning | null>
  /** Remedies for other errors than a `Problem`, which has its own. */
  readonly remedies: Remedies
  /** The code of an error whose dependency gives it none. */
  readonly readCode?: (error: Error) => string | null
}

const log = createLog('silent')
const CLIENT_ID = 'notifications-doctor'
/** Maximum time that a check waits for a server that it can do without. */
const OTHERS_MAX_MS = 4_000
/** Per topic. */
const PARTY_COUNT = 5
/** No party has this locator: 404 is as good an answer as 200. */
const PARTY_LOCATOR = 'notifications-doctor'

const RUN_AGAIN = 'check that all brokers can be reached from here, and run the command `doctor` again'
const CHECK_FILE = 'correct the variable, or the file and its permissions'
const ADVERTISED =
  'set advertised.listeners of the brokers to addresses that this machine can reach, or run the service where it can'
const REACH_BROKERS = 'check MQ_BROKERS, and that this machine can reach them'
const REACH_PROVIDER = 'check the host and port of IDP_JWKS_URI, and that this machine can reach them'
const LOG_IN = 'check MQ_SASL_MECHANISM, MQ_SASL_USERNAME and MQ_SASL_PASSWORD (or its file)'
const DATABASE_LOG_IN =
  'check the user in DATABASE_URL, and the password there or in the file of DATABASE_PASSWORD_FILE'
const CLIENT_CERTIFICATE =
  'set POLICY_ADMIN_CERT_FILE and POLICY_ADMIN_KEY_FILE to a client certificate that it accepts, and check POLICY_ADMIN_URL'
const CLOSED_CONNECTION =
  'it closed the connection without an answer. If it speaks TLS, set POLICY_ADMIN_URL to its https:// URL; else look into its log: some do so after a client certificate (POLICY_ADMIN_CERT_FILE) that they do not trust'
const POLICY_ADMIN_CA =
  'set POLICY_ADMIN_CA_FILE to the authority that signed it; if it is set, compare the host name in POLICY_ADMIN_URL'

/** The same remedy for the codes of an address that cannot be reached. */
function unreachable(remedy: string) {
  const codes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH'] as const
  return Object.fromEntries(codes.map((code) => [code, remedy]))
}

const PRIMARY = 'point DATABASE_URL at the primary, or list all hosts'
const RIGHTS =
  "name the service's role in DATABASE_URL, or run db/grants.sql as the owner of the schema: see db/README.md"
const SCHEMA =
  'run the command `migrate` with the DATABASE_URL of the owner of the schema, then db/grants.sql: see db/README.md'

const POLICY_ADMIN_REMEDIES: Remedies = {
  WRONG_PARTY:
    'set POLICY_ADMIN_ECHO to where responses name their party, or ask its owners: see src/party/README.md',
  ...tokenRemedies('POLICY_ADMIN_'),
  TLS_FILES: {
    ENOENT: CHECK_FILE,
    EACCES: CHECK_FILE,
    EISDIR: CHECK_FILE,
    other: 'compare the key with the certificate: it must be its key, without a passphrase',
  },
  SECRET_FILE: CHECK_FILE,
  HTTP_400: CLIENT_CERTIFICATE,
  HTTP_401:
    'set POLICY_ADMIN_HEADER and its file, or POLICY_ADMIN_TOKEN_URL, as its owners say; if set, check the secret, the scope and the expiry',
  HTTP_403: 'ask its owners to let this credential read parties, or correct POLICY_ADMIN_SCOPE',
  ...certificateRemedies('ask its owners to renew its certificate', POLICY_ADMIN_CA, POLICY_ADMIN_CA),
  TLS_REFUSED: CLIENT_CERTIFICATE,
  UND_ERR_SOCKET: CLOSED_CONNECTION,
  ECONNRESET: CLOSED_CONNECTION,
  NO_ADDRESS: 'set POLICY_ADMIN_EMAIL and POLICY_ADMIN_PHONE to where its responses have the addresses',
  ENCODED: 'ask its owners to heed Accept-Encoding: a proxy may compress its responses',
  HTTP_429: 'ask its owners for a higher rate limit, or lower POLICY_ADMIN_CONNECTIONS',
  TLS_EXPECTED: 'set POLICY_ADMIN_URL to its https:// URL',
  ERR_SSL_WRONG_VERSION_NUMBER: 'correct the port of POLICY_ADMIN_URL, or set its http:// URL',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'correct the port of POLICY_ADMIN_URL, or set its http:// URL',
  other: 'check POLICY_ADMIN_URL, with its path, and whether that service is up',
}

/** In the order in which they run. */
export const CHECKS: readonly Check[] = [
  {
    name: 'broker',
    prefix: 'MQ_',
    run: async ({ broker }) => {
      const { brokerCount } = await withBrokers(broker, CLIENT_ID, (brokers) => brokers.describe()).catch(
        (error) => {
          const fault = findAdvertisedFault(error, broker.connection.brokers)
          throw fault === null ? error : new Problem(fault, ADVERTISED)
        },
      )
      const { ssl, sasl } = broker.connection
      const login = sasl === null ? '' : `, logged in by ${sasl.mechanism.toUpperCase()}`
      return `${counted(brokerCount, 'broker')}, ${ssl ? 'TLS' : 'plain text'}${login}`
    },
    remedies: {
      ...tokenRemedies('MQ_SASL_'),
      TOKEN_NOT_ACCEPTED:
        'compare issuer, audience and scope of the token with what the brokers expect, and check MQ_SASL_EXTENSIONS',
      SECRET_FILE: CHECK_FILE,
      KafkaJSSASLAuthenticationError: LOG_IN,
      SASL_AUTHENTICATION_FAILED: LOG_IN,
      UNSUPPORTED_SASL_MECHANISM: LOG_IN,
      ILLEGAL_SASL_STATE: LOG_IN,
      ...certificateRemedies(
        'renew the certificates of the brokers',
        'name the brokers in MQ_BROKERS, and the brokers themselves, as their certificates do',
        'set MQ_SSL_CA_FILE to the authority of the brokers',
      ),
      ...unreachable(REACH_BROKERS),
      // Without a code: a timeout.
      KafkaJSConnectionError: REACH_BROKERS,
      other:
        'check MQ_SSL and MQ_SASL_MECHANISM: a listener drops clients that connect without its TLS or its login',
    },
  },
  {
    name: 'topics',
    prefix: 'MQ_',
    after: ['broker'],
    run: ({ broker }) =>
      withBrokers(broker, CLIENT_ID, async (brokers) => {
        const { topics } = broker
        const { topics: existing } = await brokers.describe()
        const missing = topics.filter((topic) => !existing.includes(topic))
        const faults = [
          ...missing.map((topic) => `${topic}${didYouMean(nearest(topic, existing))}`),
          ...(await findUnreadable(brokers, topics)),
        ]
        if (faults.length > 0) throw new Error(`missing or not readable: ${faults.join(', ')}`)
        return topics.join(', ')
      }),
    remedies: { other: 'create them, grant this user read access, or correct MQ_TOPICS' },
  },
  {
    name: 'envelope map',
    prefix: 'MQ_',
    after: ['topics'],
    run: checkEnvelopeMap,
    remedies: { EnvelopeMapError: 'correct rules/envelope.json', other: RUN_AGAIN },
  },
  {
    name: 'consumer group',
    prefix: 'MQ_',
    after: ['broker'],
    run: checkConsumerGroup,
    remedies: {
      GROUP_AUTHORIZATION_FAILED:
        'grant this user READ and DESCRIBE on the group, or correct MQ_GROUP_ID: see src/kafka/README.md',
      other:
        'run the command again if the cluster is new: it may still be creating the topic of group offsets; else read the log of the brokers',
    },
  },
  {
    name: 'database',
    prefix: 'DATABASE_',
    run: async ({ database }) => {
      const { version, encoding, tls, isPooled, isReadOnly, isStandby } = await describeServer(database.url)
      const fault = encodingFault(encoding)
      if (fault !== null) throw new Problem(fault, 'see `First start` in db/README.md')
      if (isReadOnly && isStandby) throw new Problem(`PostgreSQL ${version} is read-only: a standby`, PRIMARY)
      if (isReadOnly)
        throw new Problem(
          `PostgreSQL ${version} is read-only: by the setting default_transaction_read_only`,
          'set default_transaction_read_only of the server, the database or the user to off, or point DATABASE_URL at another server',
        )
      return `PostgreSQL ${version}, ${tls ? 'TLS' : 'plain text'}${isPooled ? ', through a pooler' : ''}`
    },
    readCode: classifyError,
    remedies: {
      SETTINGS_LOST: 'set pool_mode of the pooler to transaction or session: see db/README.md',
      NO_ENCRYPTION: 'add sslmode to DATABASE_URL, or remove it: see db/README.md',
      ...certificateRemedies(
        'renew the certificate of the server',
        'name the host in DATABASE_URL as its certificate does',
        'set sslrootcert in DATABASE_URL to the authority of the server',
      ),
      '42501': 'as the owner of the database, GRANT CONNECT on it to this user',
      NOT_IN_PG_HBA: "allow this user and this machine in the server's pg_hba.conf, or correct DATABASE_URL",
      POOLER_CANNOT_LOG_IN: "check the pooler's log: it cannot log in to the server",
      '28000': DATABASE_LOG_IN,
      '28P01': DATABASE_LOG_IN,
      SECRET_FILE: DATABASE_LOG_IN,
      '3D000': 'create the database, or correct its name in DATABASE_URL',
      READ_ONLY: PRIMARY,
      '53300': 'lower DATABASE_POOL_MAX, or raise max_connections of the server',
      other: 'check host and port in DATABASE_URL, and that this machine can reach them',
    },
  },
  {
    name: 'schema',
    prefix: 'DATABASE_',
    after: ['database'],
    run: (config) =>
      withPool(config, async (pool) => {
        const migrations = await knownMigrations()
        const fault = await findReadinessFault(pool, migrations)
        if (fault !== null) throw new Problem(fault.text, fault.isOfRights ? RIGHTS : SCHEMA)
        return `${counted(migrations.length, 'migration')} applied, all that this version has`
      }),
    remedies: { '42501': RIGHTS, other: SCHEMA },
  },
  {
    name: 'partitions',
    prefix: 'MQ_',
    after: ['broker', 'schema'],
    run: (config) => withPool(config, (pool) => checkPartitions(config, pool)),
    remedies: { other: RUN_AGAIN },
  },
  {
    name: 'log',
    prefix: 'RETRY_',
    after: ['schema'],
    run: (config) => withPool(config, (pool) => describeLog(config, pool)),
    remedies: { other: 'run the command `doctor` again' },
  },
  {
    name: 'event ids',
    prefix: 'DATABASE_',
    after: ['schema'],
    run: (config) => withPool(config, findConflicts),
    remedies: { other: 'run the command `doctor` again' },
  },
  {
    name: 'policy administration',
    prefix: 'POLICY_ADMIN_',
    run: async (config) => {
      const parties = createParties(config, log)
      try {
        const known = await partiesToAsk(config)
        const contacts = await parties.lookUp(known.length === 0 ? [PARTY_LOCATOR] : known)
        const found = [...contacts.values()]
        const isAnyFound = found.some(({ state }) => state === 'found')
        // One party may have an error of its own.
        for (const contact of found)
          if (contact.state === 'unresolved' && (contact.wrongParty || !isAnyFound))
            throw new Problem(contact.error, remedyFor(contact.codes ?? [], POLICY_ADMIN_REMEDIES))
        if (known.length === 0 || isAnyFound) return describeNaming(parties.namesParty())
        const url = `${config.policyAdministration.baseUrl}/internal/parties/${encodeURIComponent(known[0] ?? '')}`
        const detail = `it answers 404 for ${known.length === 1 ? 'the only party' : `all of ${known.length} parties`} that messages or the log name: GET ${url}`
        const remedy = DATA_FAULTS['not-found']
        if (known.length > 1) throw new Problem(detail, remedy)
        return { warning: detail, remedy }
      } finally {
        await parties.close()
      }
    },
    remedies: POLICY_ADMIN_REMEDIES,
  },
  {
    name: 'transports',
    prefix: 'SMTP_',
    run: async (config) => {
      const senders = Object.entries(createSenders(config, log))
      const placeholders = senders.flatMap(([channel, { isPlaceholder }]) => (isPlaceholder ? channel : []))
      return placeholders.length === 0
        ? 'no placeholder'
        : `${placeholders.join(' and ')}: recorded by placeholders, and not delivered`
    },
    remedies: { other: 'see src/senders/README.md' },
  },
  {
    name: 'identity provider',
    prefix: 'IDP_',
    run: async ({ tokens }) => {
      if (tokens === null) return null
      const { keys, foundCount } = await loadKeys(tokens.keySetUrl, new Agent())
      if (keys.length === 0)
        throw new Problem(
          `none of ${counted(foundCount, 'key')} is fit for signatures`,
          'publish a key for signatures there: see the requirements in src/http/README.md',
        )
      return `${keys.length} of ${counted(foundCount, 'key')} fit for signatures`
    },
    remedies: {
      ...certificateRemedies(
        'renew the certificate of the identity provider',
        'name the host in IDP_JWKS_URI as its certificate does',
        'set NODE_EXTRA_CA_CERTS to the authority of the identity provider',
      ),
      ...unreachable(REACH_PROVIDER),
      TimeoutError: REACH_PROVIDER,
      other: 'check IDP_JWKS_URI: it must answer 200 with a JSON Web Key Set, without redirects',
    },
  },
  {
    name: 'clocks',
    prefix: 'DATABASE_',
    after: ['database'],
    run: checkClocks,
    remedies: { other: RUN_AGAIN },
  },
  {
    name: 'collector',
    prefix: 'OTEL_',
    run: async ({ tracing }) => {
      if (tracing === null) return null
      const { tryCollector } = await import('../../telemetry/tracing.ts')
      await tryCollector(tracing)
      return 'it accepts traces'
    },
    remedies: {
      other:
        'check OTEL_ENDPOINT (OTLP over HTTP, usually port 4318) and OTEL_EXPORTER_OTLP_HEADERS; the service works without it',
    },
  },
  {
    name: 'token',
    prefix: 'IDP_',
    after: ['identity provider'],
    run: async ({ tokens }, { token: file }) => {
      if (file === undefined) return null
      if (tokens === null)
        return { warning: 'no token is checked: all routes are open', remedy: 'set IDP_JWKS_URI' }
      const { token, admin } = await tryToken((await readText(file)).trim(), tokens, log)
      if (token !== null)
        throw new Problem(describeRefusal(token), 'correct the named settings, or have another token issued')
      const name = tokens.adminScope === null ? 'IDP_ADMIN_SCOPE is not set, so it may read everything' : null
      if (admin === null) return name ?? 'accepted, with the right of administrators'
      const detail = `accepted, without the right of administrators: ${describeRefusal(admin)}`
      if (admin.disagreements.some(({ variable }) => variable === 'IDP_ADMIN_CLAIM'))
        throw new Problem(detail, 'set IDP_ADMIN_CLAIM to the place where the token has it')
      return {
        warning: detail,
        remedy: "grant the right, or correct the setting, unless the token is a member's",
      }
    },
    remedies: { other: 'name a file that contains the token alone' },
  },
]

/** Messages that need an operator: an erased one cannot be processed again. */
const UNSETTLED = { ...ALL_REJECTED, open: true, kept: true }

/** Entries that need an operator, and where to read about them. */
async function describeLog({ retry }: Config, pool: DatabasePool): Promise<string | Warning> {
  const [{ waiting, givenUp }, rejectedCount, unfinishedCount] = await Promise.all([
    countFailedEntries(pool, retry),
    countRejectedMessages(pool, UNSETTLED),
    countUnfinishedErasures(pool),
  ])
  const words = [
    `${counted(waiting, 'entry', 'entries')} FAILED and waiting for a retry`,
    `${givenUp} given up (\`log --not-told\`)`,
    `${counted(rejectedCount, 'rejected message')} not settled (\`rejected list\`)`,
  ].join(', ')
  if (unfinishedCount === 0) return words
  return {
    warning: `${words}, ${counted(unfinishedCount, 'erasure')} interrupted or under way`,
    remedy: 'run `erase` again for the parties in the table erasure whose finished_at is null',
  }
}

async function findConflicts(pool: DatabasePool): Promise<string> {
  const count = await countRejectedMessages(pool, { ...UNSETTLED, code: 'conflict' })
  if (count === 0) return 'no message has the event id of another one'
  throw new Problem(
    `${counted(count, 'message')} not settled with the event id of another one: their members are not told`,
    'correct "eventId" in rules/envelope.json or have the producer give each event its own id, then `rejected redrive --code conflict`; if they are meant, `rejected dismiss`',
  )
}

function describeRefusal({ reason, disagreements }: Refusal): string {
  const lines = disagreements.map(
    ({ claim, found, wanted, variable }) => `\n${claim}: found ${found}, wanted ${wanted} (${variable})`,
  )
  return `${reason}${lines.join('')}`
}

/** Only a response that names its party can be checked. */
function describeNaming(namesParty: boolean | null): string | Warning {
  if (namesParty === null) return 'it responds; whether it names the party will show with the first contact'
  if (namesParty) return 'it responds and names the party: each response is checked'
  return {
    warning: 'it responds without naming the party: a response for another party would go unnoticed',
    remedy:
      'ask its owners to name the party in each response, or set POLICY_ADMIN_ECHO to the name: see src/party/README.md',
  }
}

/**
 * A party that was written to, whose answer shows whether it names the party, and some that the newest messages name, else some of
 * the log. A broker or a database that does not answer has its own check.
 */
async function partiesToAsk(config: Config): Promise<readonly string[]> {
  const list = (filter: { status?: 'SENT' }, limit: number) =>
    inTime(
      withPool(config, async (pool) => {
        const { items } = await listLogEntries(pool, config.retry, filter, { limit, after: null })
        return items.flatMap(({ partyLocator }) => partyLocator ?? [])
      }),
    )
  const samples = inTime(readMaps().then((maps) => readSamples(config, maps)))
  const [told, logged, read] = await Promise.all([
    list({ status: 'SENT' }, 1),
    list({}, PARTY_COUNT),
    samples,
  ])
  const named = read.flatMap(({ events }) => distinctParties(events).slice(-PARTY_COUNT))
  return [...new Set([...told, ...(named.length > 0 ? named : logged)])]
}

/** Nothing if it takes too long, or fails. */
async function inTime<T>(found: Promise<readonly T[]>): Promise<readonly T[]> {
  return Promise.race([found.catch(() => []), sleep(OTHERS_MAX_MS, [], { ref: false })])
}

/** The topics that this user sees but may not read, which only a fetch reveals. */
async function findUnreadable(brokers: Brokers, topics: readonly string[]): Promise<string[]> {
  const unreadable: string[] = []
  const ends = [...(await brokers.readEnds(topics, READ_COMMITTED)).values()]
  for (const topic of topics) {
    const one = ends.find((found) => found.topic === topic)
    if (one === undefined) continue
    const { error } = await brokers.fetch({ ...one, from: one.earliest, bytesMax: 1 }, READ_COMMITTED)
    if (error !== null && brokerReason(error) === 'no-rights') unreadable.push(topic)
  }
  return unreadable
}

async function withPool<T>({ database }: Config, use: (pool: DatabasePool) => Promise<T>): Promise<T> {
  const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 1 })
  try {
    return await use(pool)
  } finally {
    await pool.end()
  }
}
