import kafkajs, { type Kafka, type LogEntry } from 'kafkajs'
import OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import { type BearerLogIn, bearerLogIn } from './bearer-log-in.ts'
import { type PasswordLogIn, passwordLogIn } from './password-log-in.ts'
import { patchFetchResponses } from './patches/fetch-response.ts'
import { patchMetadataErrors } from './patches/metadata-errors.ts'

const scheduleCheck = RequestQueue.prototype.scheduleCheckPendingRequests

export interface KafkaConnection extends Omit<BrokerConnection, 'sasl'> {
  readonly sasl: PasswordLogIn | BearerLogIn | null
}

/** A patched kafkajs client that writes to our log. After five tries its requests reject: the caller decides what to do then. */
export function createClient({ brokers, ssl, sasl }: KafkaConnection, clientId: string, log: Logger): Kafka {
  patchFetchResponses()
  patchGroupOffsets()
  patchMetadataErrors()
  patchRequestQueue()
  return new kafkajs.Kafka({
    clientId,
    brokers: [...brokers],
    ...(ssl && { ssl }),
    ...(sasl && { sasl: sasl.mechanism === 'oauthbearer' ? bearerLogIn(sasl) : passwordLogIn(sasl) }),
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    retry: { retries: 4, initialRetryTime: 200, maxRetryTime: 2_000 },
    logCreator: () => (entry) => write(log, entry),
  })
}

/**
 * Patches `consumer/offsetManager/index.js` of kafkajs 2.2.4: before it fetches, it asks Kafka for the group's offset of every
 * partition, and for the earliest where there is none, and an error of one partition stops all. Our offsets come from the
 * database. No partition is fetched before its offset is sought.
 */
export function patchGroupOffsets(): void {
  OffsetManager.prototype.resolveOffsets = async function resolveOffsets(): Promise<void> {
    for (const [topic, partitions] of Object.entries(this.memberAssignment)) {
      const offsets = this.committedOffsets()[topic] ?? {}
      for (const partition of partitions) offsets[partition] ??= '0'
      this.committedOffsets()[topic] = offsets
    }
  }
}

/**
 * Patches the timer of kafkajs 2.2.4 that looks for waiting requests once a millisecond on each connection, for ever
 * (https://github.com/tulios/kafkajs/issues/1704): 4 % of a core when idle, and a warning of Node, since its time-out is negative. A request that has to wait starts the timer itself.
 */
export function patchRequestQueue(): void {
  RequestQueue.prototype.scheduleCheckPendingRequests = function schedule(): void {
    if (this.pending.length > 0) scheduleCheck.call(this)
  }
}

function write(
  log: Logger,
  { level, namespace, log: { message, timestamp: _, logger: __, ...fields } }: LogEntry,
): void {
  const { ERROR, WARN, INFO } = kafkajs.logLevel
  const line = `${namespace}: ${message}`
  // kafkajs retries after its errors; the consumer logs those that it cannot recover from.
  if (level === ERROR || level === WARN) log.warn({ kafkajs: fields }, line)
  else if (level === INFO) log.debug({ kafkajs: fields }, line)
  else log.trace({ kafkajs: fields }, line)
}
