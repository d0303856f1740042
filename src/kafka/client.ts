import kafkajs, { type Kafka, type LogEntry, type SASLOptions } from 'kafkajs'
import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import { type BearerLogIn, bearerLogIn } from './bearer-log-in.ts'
import { mendFetchResponses } from './mends/fetch-response.ts'
import { mendGroupOffsets } from './mends/group-offsets.ts'
import { mendMetadataErrors } from './mends/metadata-errors.ts'
import { mendRequestQueue } from './mends/request-queue.ts'

export interface KafkaConnection extends Omit<BrokerConnection, 'sasl'> {
  readonly sasl: Exclude<BrokerConnection['sasl'], { readonly mechanism: 'oauthbearer' }> | BearerLogIn
}

/**
 * A mended kafkajs client whose log goes to ours. It gives up on a broker after a handful of tries: whoever uses it decides
 * what then.
 */
export function createClient({ brokers, ssl, sasl }: KafkaConnection, clientId: string, log: Logger): Kafka {
  mendFetchResponses()
  mendGroupOffsets()
  mendMetadataErrors()
  mendRequestQueue()
  return new kafkajs.Kafka({
    clientId,
    brokers: [...brokers],
    ...(ssl && { ssl }),
    // A copy, since kafkajs writes into it.
    ...(sasl && {
      sasl: sasl.mechanism === 'oauthbearer' ? bearerLogIn(sasl) : ({ ...sasl } as SASLOptions),
    }),
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    retry: { retries: 4, initialRetryTime: 200, maxRetryTime: 2_000 },
    logCreator: () => (entry) => write(log, entry),
  })
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
