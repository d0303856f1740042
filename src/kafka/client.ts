import kafkajs, { type Kafka, type LogEntry, type Mechanism, type SASLOptions } from 'kafkajs'
import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import { accessTokensOf } from './access-token.ts'
import { bearerLogIn } from './bearer-log-in.ts'
import { mendFetchResponses } from './mends/fetch-response.ts'
import { mendGroupOffsets } from './mends/group-offsets.ts'
import { mendMetadataErrors } from './mends/metadata-errors.ts'
import { mendRequestQueue } from './mends/request-queue.ts'

/**
 * A mended kafkajs client whose log goes to ours. It gives up on a broker after a handful of tries: whoever uses it decides
 * what then.
 */
export function createClient({ brokers, ssl, sasl }: BrokerConnection, clientId: string, log: Logger): Kafka {
  mendFetchResponses()
  mendGroupOffsets()
  mendMetadataErrors()
  mendRequestQueue()
  return new kafkajs.Kafka({
    clientId,
    brokers: [...brokers],
    ...(ssl && { ssl }),
    ...(sasl && { sasl: saslOptionsOf(sasl) }),
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    retry: { retries: 4, initialRetryTime: 200, maxRetryTime: 2_000 },
    logCreator: () => (entry) => write(log, entry),
  })
}

function saslOptionsOf(sasl: NonNullable<BrokerConnection['sasl']>): SASLOptions | Mechanism {
  // A copy, since kafkajs writes into it.
  return sasl.mechanism === 'oauthbearer'
    ? bearerLogIn(accessTokensOf(sasl), sasl.extensions)
    : ({ ...sasl } as SASLOptions)
}

function write(
  log: Logger,
  { level, namespace, log: { message, timestamp: _, logger: __, ...fields } }: LogEntry,
): void {
  const { ERROR, WARN, INFO } = kafkajs.logLevel
  const line = `${namespace}: ${message}`
  // What kafkajs calls an error it also retries; what it cannot get over reaches the consumer's own log line.
  if (level === ERROR || level === WARN) log.warn({ kafkajs: fields }, line)
  else if (level === INFO) log.debug({ kafkajs: fields }, line)
  else log.trace({ kafkajs: fields }, line)
}
