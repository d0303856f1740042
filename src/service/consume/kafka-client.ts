import kafkajs, { type LogEntry } from 'kafkajs'
import Broker from 'kafkajs/src/broker/index.js'
import loggers from 'kafkajs/src/loggers/index.js'
import ConnectionPool from 'kafkajs/src/network/connectionPool.js'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import createSocketFactory from 'kafkajs/src/network/socketFactory.js'
import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import { type BearerLogIn, bearerLogIn, type PasswordLogIn, passwordLogIn } from './log-in.ts'

export interface KafkaConnection extends Omit<BrokerConnection, 'sasl'> {
  readonly sasl: PasswordLogIn | BearerLogIn | null
}

export interface Address {
  readonly host: string
  readonly port: number
}

const CONNECTION_TIMEOUT_MS = 3_000

/** Returns the function that creates a kafkajs broker that is not connected yet, with our log-in and our log. */
export function createClient(
  { ssl, sasl }: KafkaConnection,
  clientId: string,
  log: Logger,
): (address: Address) => Broker {
  patchRequestQueue()
  const logger = loggers.createLogger({
    level: kafkajs.logLevel.INFO,
    logCreator: () => (entry) => write(log, entry),
  })
  const options = {
    logger,
    clientId,
    ...(ssl && { ssl }),
    ...(sasl && { sasl: sasl.mechanism === 'oauthbearer' ? bearerLogIn(sasl) : passwordLogIn(sasl) }),
    socketFactory: createSocketFactory(),
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    // Each caller has its own limit. kafkajs would also limit what takes longer by nature: a large answer on a slow line, a join.
    enforceRequestTimeout: false,
  }
  return (address) => new Broker({ connectionPool: new ConnectionPool({ ...options, ...address }), logger })
}

/** Kafka's name of the error with which a broker refused a request; null for any other error. */
export function errorType(error: unknown): string | null {
  return error instanceof kafkajs.KafkaJSProtocolError ? error.type : null
}

const scheduleCheck = RequestQueue.prototype.scheduleCheckPendingRequests

/**
 * @internal Patches the timer of kafkajs 2.2.4 that looks for waiting requests every millisecond on each connection, forever
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
  // Each attempt to connect fails with a line and a stack: the consumer logs the outage, and its remedy, once.
  const isConnection = namespace === 'Connection'
  if ((level === ERROR || level === WARN) && !isConnection) log.warn({ kafkajs: fields }, line)
  else if (level !== DEBUG) log.debug({ kafkajs: fields }, line)
  else log.trace({ kafkajs: fields }, line)
}
