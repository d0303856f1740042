import type { BlockReason } from '../core/batch/blocked.ts'
import { ILLEGAL_SASL_STATE } from './bearer-log-in.ts'

/** kafkajs treats these as final, yet they mean a broker that went away or did not answer in time. */
const PASSING_ERRORS = ['KafkaJSGroupCoordinatorNotFound', 'KafkaJSTimeout', 'KafkaJSLockTimeout']
const STALE_METADATA = new Set([
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'UNKNOWN_TOPIC_OR_PARTITION',
])

/** Whether an error of kafkajs, or what caused it, passes by itself although kafkajs says that it does not. */
export function isPassing(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (PASSING_ERRORS.includes(cause.name)) return true
    if ((cause as { type?: unknown }).type === ILLEGAL_SASL_STATE) return true
  }
  return false
}

/** The reason why a partition is blocked, by Kafka's name of the broker's error. */
export function brokerReason(name: string): BlockReason {
  return name === 'TOPIC_AUTHORIZATION_FAILED' ? 'no-rights' : 'broker-error'
}

/** By Kafka's name of the error: another broker leads the partition now, or none that we know of. */
export function isStaleMetadata(name: string): boolean {
  return STALE_METADATA.has(name)
}
