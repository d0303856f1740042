import { setTimeout as sleep } from 'node:timers/promises'
import type { Batch as KafkajsBatch } from 'kafkajs'
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import Decoder from 'kafkajs/src/protocol/decoder.js'
import errors from 'kafkajs/src/protocol/error.js'
import requests from 'kafkajs/src/protocol/requests/index.js'
import type { BlockReason } from '../../core/batch/block-reasons.ts'
import type { AbortedTransaction } from '../records/aborted-transactions.ts'

export interface FetchedBytes {
  readonly error: string | null
  /** Record batches in their own memory. The last one may be cut off. */
  readonly bytes: Buffer
  readonly aborted: readonly AbortedTransaction[]
}

const STALE_METADATA = [
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'UNKNOWN_TOPIC_OR_PARTITION',
]

const UNREACHABLE = ['KafkaJSConnectionError', 'KafkaJSConnectionClosedError', 'KafkaJSRequestTimeoutError']
/** Longer than a cluster takes to replace a broker. */
const UNREACHABLE_MAX_MS = 30_000
/** Time of the first of the last failures of each broker, by its id, in ms since 1970. */
const unreachableSince = new WeakMap<ConsumerGroup, Map<string, number>>()

/** The first version whose partitions list aborted transactions. */
const VERSION_MIN = 4
const LOG_START_VERSION = 5
const SESSION_VERSION = 7
/** Since this version the client throttles itself, and the broker answers at once. */
const CLIENT_THROTTLE_VERSION = 8
const READ_REPLICA_VERSION = 11
/** kafkajs drops messages before the offset that it requested. */
const OFFSET_MAX = '9223372036854775807'
const originalFetch = ConsumerGroup.prototype.fetch

/**
 * Patches kafkajs 2.2.4 for all consumers of the process: it passes on the bytes or the error of each partition, which
 * `readFetchedBytes` returns. Unpatched, it decodes every record of a response at once, in time quadratic in its headers,
 * checks no CRC, lets events of aborted transactions through, and drops the whole response for an error of one partition. For a
 * partition that another broker leads it then only looks up the leaders, and for a broker that does not answer it fetches on
 * from the others.
 */
export function patchFetchResponses(): void {
  const { versions, protocol } = requests.requests.Fetch
  for (const version of versions.filter((name) => Number(name) >= VERSION_MIN)) {
    const { response } = protocol({ version })({ topics: [] })
    response.decode = async (bytes) => {
      try {
        return decode(bytes, Number(version))
      } catch (cause) {
        // kafkajs treats a RangeError as fatal.
        throw new Error("a broker's response cannot be read", { cause })
      }
    }
    response.parse = async (decoded: ReturnType<typeof decode>) => decoded
  }
  ConsumerGroup.prototype.fetch = async function fetchAndRefresh(nodeId) {
    const batches = await originalFetch.call(this, nodeId).then(
      (fetched) => {
        unreachableTimes(this).delete(nodeId)
        // kafkajs would handle partitions without records too, at a cost for each.
        return fetched.filter((batch) => readFetchedBytes(batch) !== null)
      },
      (error) => withoutBroker(this, nodeId, error),
    )
    const isStale = batches.some((batch) => isStaleMetadata(readFetchedBytes(batch)?.error ?? null))
    // Not awaited: the other partitions are passed on now, and a later fetch meets any error.
    if (isStale) void this.cluster.refreshMetadata().catch(() => {})
    return batches
  }
}

/**
 * Returns no batches if a broker does not answer, after a pause. Rejects if no broker does, or if this one has not for so long that
 * no other will take its place: then the membership fails, which is reported.
 */
async function withoutBroker(group: ConsumerGroup, nodeId: string, error: Error): Promise<KafkajsBatch[]> {
  if (!UNREACHABLE.includes(error.name)) throw error
  const sinceMs = unreachableTimes(group).get(nodeId) ?? Date.now()
  unreachableTimes(group).set(nodeId, sinceMs)
  if (Date.now() - sinceMs > UNREACHABLE_MAX_MS) throw error
  await group.cluster.refreshMetadata()
  await sleep(group.maxWaitTime)
  return []
}

function unreachableTimes(group: ConsumerGroup): Map<string, number> {
  const sinces = unreachableSince.get(group) ?? new Map<string, number>()
  unreachableSince.set(group, sinces)
  return sinces
}

export function readFetchedBytes({
  messages: [message],
}: Pick<KafkajsBatch, 'messages'>): FetchedBytes | null {
  return (message as { fetched?: FetchedBytes } | undefined)?.fetched ?? null
}

/** True if the error means that another broker leads the partition, or that no leader is known. */
export function isStaleMetadata(error: string | null): boolean {
  return error !== null && STALE_METADATA.includes(error)
}

export function brokerReason(error: string): BlockReason {
  return error === 'TOPIC_AUTHORIZATION_FAILED' ? 'no-rights' : 'broker-error'
}

function decode(bytes: Buffer, version: number) {
  const decoder = new Decoder(bytes)
  const throttleTime = decoder.readInt32()
  if (version >= SESSION_VERSION) {
    decoder.readInt16()
    decoder.readInt32()
  }
  const responses = decoder.readArray(() => ({
    topicName: decoder.readString(),
    partitions: decoder.readArray(() => decodePartition(decoder, version)),
  }))
  return version < CLIENT_THROTTLE_VERSION
    ? { throttleTime, responses }
    : { throttleTime: 0, clientSideThrottleTime: throttleTime, responses }
}

function decodePartition(decoder: Decoder, version: number) {
  const partition = decoder.readInt32()
  const errorCode = decoder.readInt16()
  const highWatermark = String(decoder.readInt64())
  decoder.readInt64()
  if (version >= LOG_START_VERSION) decoder.readInt64()
  const aborted = decoder.readArray(() => ({
    producerId: decoder.readInt64(),
    firstOffset: decoder.readInt64(),
  }))
  const preferredReadReplica = version >= READ_REPLICA_VERSION ? decoder.readInt32() : -1
  const bytes = decoder.readBytes()
  const error = errorCode === 0 ? null : errors.createErrorFromCode(errorCode).type
  const isEmpty = error === null && (bytes === null || bytes.length === 0)
  // A copy: a slice would keep the whole response in memory while it is queued.
  const fetched: FetchedBytes = { error, bytes: Buffer.from(bytes ?? []), aborted }
  return {
    partition,
    highWatermark,
    preferredReadReplica,
    messages: isEmpty ? [] : [{ offset: OFFSET_MAX, fetched }],
  }
}
