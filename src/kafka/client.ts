import kafkajs, { type Kafka, type LogEntry } from 'kafkajs'
import OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import { type BearerLogIn, bearerLogIn, type PasswordLogIn, passwordLogIn } from './log-in.ts'
import { patchFetchResponses } from './patches/fetch-response.ts'
import { patchGathering } from './patches/gather.ts'
import { patchMembership } from './patches/membership.ts'
import { patchMetadataErrors } from './patches/metadata-errors.ts'

const scheduleCheck = RequestQueue.prototype.scheduleCheckPendingRequests

export interface KafkaConnection extends Omit<BrokerConnection, 'sasl'> {
  readonly sasl: PasswordLogIn | BearerLogIn | null
}

/** A patched kafkajs client that writes to our log. It sends a request five times at most; then its caller decides what to do. */
export function createClient({ brokers, ssl, sasl }: KafkaConnection, clientId: string, log: Logger): Kafka {
  patchFetchResponses()
  patchGathering()
  patchGroupOffsets()
  patchMembership()
  patchMetadataErrors()
  patchRequestQueue()
  return new kafkajs.Kafka({
    clientId,
    brokers: [...brokers],
    ...(ssl && { ssl }),
    ...(sasl && { sasl: sasl.mechanism === 'oauthbearer' ? bearerLogIn(sasl) : passwordLogIn(sasl) }),
    connectionTimeout: 3_000,
    requestTimeout: 15_000,
    retry: { retries: 4, initialRetryTime: 200, maxRetryTime: 2_000 },
    logCreator: () => (entry) => write(log, entry),
  })
}

/**
 * Patches `consumer/offsetManager/index.js` of kafkajs 2.2.4. Before it fetches, it asks Kafka for the group's offset of every
 * partition, and for the earliest if there is none; an error of one partition stops all. Our offsets come from the database, and
 * no partition is fetched before its offset is set.
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
 * Patches the timer of kafkajs 2.2.4 that looks for waiting requests every millisecond on each connection, forever
 * (https://github.com/tulios/kafkajs/issues/1704). It takes 4 % of an idle core, and makes Node warn of its negative timeout. A
 * request that has to wait starts the timer itself.
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
  const { ERROR, WARN, DEBUG } = kafkajs.logLevel
  const line = `${namespace}: ${message}`
  // Each attempt to connect fails with the same two lines and a stack: the consumer logs the outage, and its remedy, once.
  const isConnection = namespace === 'Connection' || namespace === 'BrokerPool'
  // Every heartbeat and commit during a rebalance is refused: the consumer logs its join.
  const isRebalance = /rebalanc/.test(String(fields.error))
  // kafkajs retries after its errors; the consumer logs fatal ones.
  if ((level === ERROR || level === WARN) && !isRebalance && !isConnection)
    log.warn({ kafkajs: fields }, line)
  else if (level !== DEBUG) log.debug({ kafkajs: fields }, line)
  else log.trace({ kafkajs: fields }, line)
}
