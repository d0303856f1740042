import { withBrokers } from '../../service/app/clients.ts'
import type { Brokers } from '../../service/consume/brokers.ts'
import { findAdvertisedFault } from '../../service/consume/describe-outage.ts'
import { brokerReason, READ_COMMITTED } from '../../service/consume/fetch-request.ts'
import { counted } from '../../service/text/count.ts'
import { didYouMean, nearest } from '../../service/text/nearest.ts'
import {
  CHECK_FILE,
  type Check,
  certificateRemedies,
  Problem,
  tokenRemedies,
  unreachable,
} from './remedies.ts'

const CLIENT_ID = 'notifications-doctor'
const ADVERTISED =
  'set advertised.listeners of the brokers to addresses that this machine can reach, or run the service where it can'
const REACH_BROKERS = 'check MQ_BROKERS, and that this machine can reach them'
const LOG_IN = 'check MQ_SASL_MECHANISM, MQ_SASL_USERNAME and MQ_SASL_PASSWORD (or its file)'

export const brokerCheck: Check = {
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
    ILLEGAL_SASL_STATE:
      'this listener asks for no login: unset MQ_SASL_MECHANISM, or name the port of one that does in MQ_BROKERS',
    ...certificateRemedies(
      'renew the certificates of the brokers',
      'name the brokers in MQ_BROKERS, and the brokers themselves, as their certificates do',
      'set MQ_SSL_CA_FILE to the authority of the brokers',
    ),
    ...unreachable(REACH_BROKERS),
    // Timeouts have no code.
    KafkaJSConnectionError: REACH_BROKERS,
    other:
      'check MQ_SSL and MQ_SASL_MECHANISM: a listener drops clients that connect without its TLS or its login',
  },
}

export const topicsCheck: Check = {
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
        ...(await findTopicsWithoutRights(brokers, topics)),
      ]
      if (faults.length > 0) throw new Error(`missing or not readable: ${faults.join(', ')}`)
      return [topics.join(', '), ...describeOthers(existing.filter((topic) => !topics.includes(topic)))].join(
        '\n',
      )
    }),
  remedies: { other: 'create them, grant this user read access, or correct MQ_TOPICS' },
}

const PER_LINE = 10

/** Names all topics missing from MQ_TOPICS, except those of Kafka and its tools: nothing else reveals a forgotten one. */
function describeOthers(topics: readonly string[]): string[] {
  const unread = topics.filter((topic) => !topic.startsWith('_')).sort()
  const lines = Array.from({ length: Math.ceil(unread.length / PER_LINE) }, (_, i) =>
    unread.slice(i * PER_LINE, (i + 1) * PER_LINE).join(', '),
  )
  return lines.length === 0 ? [] : [`not in MQ_TOPICS, and not read: ${lines.join(',\n')}`]
}

/** The topics that this user sees but may not read, which only a fetch reveals. */
async function findTopicsWithoutRights(brokers: Brokers, topics: readonly string[]): Promise<string[]> {
  const unreadable: string[] = []
  const ends = [...(await brokers.readEnds(topics, READ_COMMITTED)).values()]
  for (const topic of topics) {
    const partition = ends.find((found) => found.topic === topic)
    if (partition === undefined) continue
    const { error } = await brokers.fetch(
      { ...partition, from: partition.earliest, bytesMax: 1 },
      READ_COMMITTED,
    )
    if (error !== null && brokerReason(error) === 'no-rights') unreadable.push(topic)
  }
  return unreadable
}
