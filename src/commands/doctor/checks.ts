import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { createParties, createSenders, withBrokers } from '../../app/clients.ts'
import type { Config } from '../../config/config.ts'
import type { TokenPrefix } from '../../config/variables.ts'
import { counted } from '../../core/text/count.ts'
import { didYouMean, nearest } from '../../core/text/nearest.ts'
import { loadKeys } from '../../http/auth/load-keys.ts'
import { ONE_GROUP_PER_LIST } from '../../kafka/assigner.ts'
import { type Brokers, READ_COMMITTED } from '../../kafka/brokers.ts'
import { brokerReason } from '../../kafka/patches/fetch-response.ts'
import { describeServer } from '../../postgres/connection/describe-server.ts'
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
import { checkConsumerGroup } from './consumer-group.ts'
import { checkEnvelopeMap } from './newest-messages.ts'

export interface Check {
  readonly name: string
  /** Prefix of variables; the check is skipped if one of them is wrong. */
  readonly prefix: string
  /** Other checks; this one is skipped if one of them did not pass. */
  readonly after?: readonly string[]
  /** Resolves to the finding, or to null if not configured; rejects with the problem. */
  readonly run: (config: Config) => Promise<string | { warning: string } | null>
  /** Remedies by a regular expression on the text of the error. The first match counts, and the last one always matches. */
  readonly remedies: Readonly<Record<string, string>>
}

export function findRemedy({ remedies }: Pick<Check, 'remedies'>, detail: string): string | null {
  return Object.entries(remedies).find(([words]) => new RegExp(words).test(detail))?.[1] ?? null
}

const log = createLog('silent')
const CLIENT_ID = 'notifications-doctor'
const DATABASE_MAX_MS = 2_000
/** No party has this locator: 404 is as good an answer as 200. */
const PARTY_LOCATOR = 'notifications-doctor'

function tokenRemedies(prefix: TokenPrefix): Check['remedies'] {
  return {
    'token endpoint refuses': `check ${prefix}CLIENT_ID, ${prefix}CLIENT_SECRET (or its file) and ${prefix}SCOPE at the identity provider`,
    'token endpoint.*expired': `renew the certificate of the host in ${prefix}TOKEN_URL`,
    'token endpoint.*altnames': `name the host in ${prefix}TOKEN_URL as its certificate does`,
    'token endpoint.*(certificate|self-signed|issuer)':
      'set NODE_EXTRA_CA_CERTS to the authority of the token endpoint',
    'token endpoint': `check ${prefix}TOKEN_URL, and that this machine can reach it`,
  }
}

/** In the order in which they run. */
export const CHECKS: readonly Check[] = [
  {
    name: 'broker',
    prefix: 'MQ_',
    run: async ({ broker }) => {
      const { brokerCount } = await withBrokers(broker, CLIENT_ID, (brokers) => brokers.describe())
      const { ssl, sasl } = broker.connection
      const login = sasl === null ? '' : `, logged in by ${sasl.mechanism.toUpperCase()}`
      return `${counted(brokerCount, 'broker')}, ${ssl ? 'TLS' : 'plain text'}${login}`
    },
    remedies: {
      ...tokenRemedies('MQ_SASL_'),
      'OAUTHBEARER authentication failed':
        'compare issuer, audience and scope of the token with what the brokers expect, and check MQ_SASL_EXTENSIONS',
      '_FILE (cannot be|is empty)': 'correct the variable, or the file and its permissions',
      '(?i:authentication|SASL)':
        'check MQ_SASL_MECHANISM, MQ_SASL_USERNAME and MQ_SASL_PASSWORD (or its file)',
      'certificate.*expired': 'renew the certificates of the brokers',
      altnames: 'name the brokers in MQ_BROKERS, and the brokers themselves, as their certificates do',
      '(?i:certificate|self-signed|issuer)': 'set MQ_SSL_CA_FILE to the authority of the brokers',
      'ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|Connection timeout|no response':
        'check MQ_BROKERS, and that this machine can reach them',
      '.': 'check MQ_SSL and MQ_SASL_MECHANISM: a listener drops clients that connect without its TLS or its login',
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
    remedies: { '.': 'create them, grant this user read access, or correct MQ_TOPICS' },
  },
  {
    name: 'envelope map',
    prefix: 'MQ_',
    after: ['topics'],
    run: checkEnvelopeMap,
    remedies: {
      newest:
        'compare rules/envelope.json with what producers publish, before these events are skipped for good or rejected: see src/kafka/README.md',
      'envelope map has': 'correct rules/envelope.json',
      '.': 'check that all brokers can be reached from here, and run the command `doctor` again',
    },
  },
  {
    name: 'consumer group',
    prefix: 'MQ_',
    after: ['broker'],
    run: checkConsumerGroup,
    remedies: {
      '^(unread|different topics): ': `${ONE_GROUP_PER_LIST}: see src/kafka/README.md`,
      '(?i:authorized)':
        'grant this user READ and DESCRIBE on the group, or correct MQ_GROUP_ID: see src/kafka/README.md',
      '.': 'run the command again if the cluster is new: it may still be creating the topic of group offsets; else read the log of the brokers',
    },
  },
  {
    name: 'database',
    prefix: 'DATABASE_',
    run: async ({ database }) => {
      const { version, encoding, tls, isPooled, isReadOnly, isStandby } = await describeServer(database.url)
      const fault = encodingFault(encoding)
      if (fault !== null) throw new Error(fault)
      const because = isStandby ? 'a standby' : 'by the setting default_transaction_read_only'
      if (isReadOnly) throw new Error(`PostgreSQL ${version} is read-only: ${because}`)
      return `PostgreSQL ${version}, ${tls ? 'TLS' : 'plain text'}${isPooled ? ', through a pooler' : ''}`
    },
    remedies: {
      '^the encoding': 'see `First start` in db/README.md',
      'by the setting':
        'set default_transaction_read_only of the server, the database or the user to off, or point DATABASE_URL at another server',
      'settings do not hold': 'set pool_mode of the pooler to transaction or session: see db/README.md',
      '(?i:no encryption|SSL off|does not support SSL)':
        'add sslmode to DATABASE_URL, or remove it: see db/README.md',
      'certificate.*expired': 'renew the certificate of the server',
      altnames: 'name the host in DATABASE_URL as its certificate does',
      '(?i:certificate|self-signed|issuer)': 'set sslrootcert in DATABASE_URL to the authority of the server',
      'permission denied for database': 'as the owner of the database, GRANT CONNECT on it to this user',
      'no pg_hba.conf entry':
        "allow this user and this machine in the server's pg_hba.conf, or correct DATABASE_URL",
      'server login has been failing': "check the pooler's log: it cannot log in to the server",
      '(?i:password|authentication|role .* does not exist|no such user)':
        'check the user in DATABASE_URL, and the password there or in the file of DATABASE_PASSWORD_FILE',
      '(?i:database .* does not exist|no such database)':
        'create the database, or correct its name in DATABASE_URL',
      'is read-only': 'point DATABASE_URL at the primary, or list all hosts',
      '(?i:too many|remaining connection slots|no more connections|query_wait_timeout)':
        'lower DATABASE_POOL_MAX, or raise max_connections of the server',
      '.': 'check host and port in DATABASE_URL, and that this machine can reach them',
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
        if (fault !== null) throw new Error(fault)
        return `${counted(migrations.length, 'migration')} applied, all that this version has`
      }),
    remedies: {
      'permission denied|lacks (SELECT|INSERT|UPDATE|DELETE)':
        "name the service's role in DATABASE_URL, or run db/grants.sql as the owner of the schema: see db/README.md",
      '.': 'run the command `migrate` with the DATABASE_URL of the owner of the schema, then db/grants.sql: see db/README.md',
    },
  },
  {
    name: 'partitions',
    prefix: 'MQ_',
    after: ['broker', 'schema'],
    run: (config) => withPool(config, (pool) => checkPartitions(config, pool)),
    remedies: {
      '^blocked: ': 'see NotificationsPartitionBlocked in src/telemetry/README.md',
      '^no checkpoint':
        "if members must not be told of these events any more, set the checkpoints before the start: see 'First start' in db/README.md",
      '^open transactions':
        'if they stay open, their producer hangs: find it with `kafka-transactions.sh find-hanging`, and abort its transaction',
      '.': 'check that all brokers can be reached from here, and run the command `doctor` again',
    },
  },
  {
    name: 'log',
    prefix: 'RETRY_',
    after: ['schema'],
    run: (config) => withPool(config, (pool) => describeLog(config, pool)),
    remedies: {
      erasure: 'run `erase` again for the parties in the table erasure whose finished_at is null',
      '.': 'run the command `doctor` again',
    },
  },
  {
    name: 'policy administration',
    prefix: 'POLICY_ADMIN_',
    run: async (config) => {
      const parties = createParties(config, log)
      try {
        const locator = await partyToAsk(config)
        const contact = (await parties.lookUp([locator])).get(locator)
        if (contact?.state === 'unresolved') throw new Error(contact.error)
        return describeNaming(parties.namesParty())
      } finally {
        await parties.close()
      }
    },
    remedies: {
      'answered for another party':
        'set POLICY_ADMIN_ECHO to where responses name their party, or ask its owners: see src/party/README.md',
      'without naming the party':
        'ask its owners to name the party in each response, or set POLICY_ADMIN_ECHO to the name: see src/party/README.md',
      ...tokenRemedies('POLICY_ADMIN_'),
      '_KEY_FILE cannot be used: (?!E[A-Z]+:)':
        'compare the key with the certificate: it must be its key, without a passphrase',
      '_FILE (cannot be|is empty|contains)': 'correct the variable, or the file and its permissions',
      'answered 401':
        'set POLICY_ADMIN_HEADER and its file, or POLICY_ADMIN_TOKEN_URL, as its owners say; if set, check the secret, the scope and the expiry',
      'answered 403': 'ask its owners to let this credential read parties, or correct POLICY_ADMIN_SCOPE',
      CERT_HAS_EXPIRED: 'ask its owners to renew its certificate',
      'certificate that is not trusted':
        'set POLICY_ADMIN_CA_FILE to the authority that signed it; if it is set, compare the host name in POLICY_ADMIN_URL',
      'refused the TLS connection|answered 400':
        'set POLICY_ADMIN_CERT_FILE and POLICY_ADMIN_KEY_FILE to a client certificate that it accepts, and check POLICY_ADMIN_URL',
      'UND_ERR_SOCKET|ECONNRESET':
        'look into the log of that service: it closed the connection, as some do after a client certificate (POLICY_ADMIN_CERT_FILE) that they do not trust',
      '.': 'check POLICY_ADMIN_URL, with its path, and whether that service is up',
    },
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
    remedies: { '.': 'see src/senders/README.md' },
  },
  {
    name: 'identity provider',
    prefix: 'IDP_',
    run: async ({ tokens }) => {
      if (tokens === null) return null
      const { keys, foundCount } = await loadKeys(tokens.keySetUrl, new Agent())
      if (keys.length === 0) throw new Error(`none of ${counted(foundCount, 'key')} is fit for signatures`)
      return `${keys.length} of ${counted(foundCount, 'key')} fit for signatures`
    },
    remedies: {
      'fit for signatures': 'publish a key for signatures there: see the requirements in src/http/README.md',
      'certificate.*expired': 'renew the certificate of the identity provider',
      altnames: 'name the host in IDP_JWKS_URI as its certificate does',
      '(?i:certificate|self-signed|issuer)':
        'set NODE_EXTRA_CA_CERTS to the authority of the identity provider',
      '(?i:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|timeout)':
        'check the host and port of IDP_JWKS_URI, and that this machine can reach them',
      '.': 'check IDP_JWKS_URI: it must answer 200 with a JSON Web Key Set, without redirects',
    },
  },
]

/** Entries that need an operator, and where to read about them. */
async function describeLog({ retry }: Config, pool: DatabasePool): Promise<string | { warning: string }> {
  const [{ waiting, givenUp }, rejectedCount, unfinishedCount] = await Promise.all([
    countFailedEntries(pool, retry),
    countRejectedMessages(pool, { ...ALL_REJECTED, open: true }),
    countUnfinishedErasures(pool),
  ])
  const words = [
    `${counted(waiting, 'entry', 'entries')} FAILED and waiting for a retry`,
    `${givenUp} given up (\`log --not-told\`)`,
    `${counted(rejectedCount, 'rejected message')} not settled (\`rejected list\`)`,
  ].join(', ')
  if (unfinishedCount === 0) return words
  return { warning: `${words}, ${counted(unfinishedCount, 'erasure')} interrupted or under way` }
}

/** Only a response that names its party can be checked. */
function describeNaming(namesParty: boolean | null): string | { warning: string } {
  if (namesParty === null) return 'it responds; whether it names the party will show with the first contact'
  if (namesParty) return 'it responds and names the party: each response is checked'
  return { warning: 'it responds without naming the party: a response for another party would go unnoticed' }
}

/** Returns a party with a contact, whose response shows whether it names the party; otherwise an unused locator. */
async function partyToAsk(config: Config): Promise<string> {
  const newest = { limit: 1, after: null }
  const found = withPool(config, (pool) => listLogEntries(pool, config.retry, { status: 'SENT' }, newest))
  const asked = found.then(
    ({ items }) => items[0]?.partyLocator ?? PARTY_LOCATOR,
    () => PARTY_LOCATOR,
  )
  // A database that does not answer has its own check.
  return Promise.race([asked, sleep(DATABASE_MAX_MS, PARTY_LOCATOR, { ref: false })])
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
