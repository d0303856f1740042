import type Broker from 'kafkajs/src/broker/index.js'
import Decoder from 'kafkajs/src/protocol/decoder.js'
import errors from 'kafkajs/src/protocol/error.js'
import apiKeys from 'kafkajs/src/protocol/requests/apiKeys.js'
import requests from 'kafkajs/src/protocol/requests/index.js'
import type { TopicPartition } from '../decide/event/position.ts'
import type { BlockReason } from '../model/block-reasons.ts'
import type { AbortedTransaction } from './records/aborted-transactions.ts'

/** Isolation levels: the whole log, or only the part before the first open transaction. */
export const READ_UNCOMMITTED = 0
export const READ_COMMITTED = 1
export type IsolationLevel = typeof READ_UNCOMMITTED | typeof READ_COMMITTED

export interface FetchRequest {
  readonly isolationLevel: IsolationLevel
  /** Time that the broker waits for a first message. */
  readonly maxWaitMs: number
  readonly bytesMax: number
  readonly partitionBytesMax: number
  /** Brokers fill their answer in this order. */
  readonly partitions: readonly (TopicPartition & { readonly from: bigint })[]
}

/** A broker's answer for a partition. */
export interface FetchedBytes {
  /** Kafka's name of the error, or null. */
  readonly error: string | null
  /** Record batches in their own memory. The last one may be cut off. */
  readonly bytes: Buffer
  readonly aborted: readonly AbortedTransaction[]
}

export type FetchedPartition = TopicPartition & FetchedBytes

/** Errors after which another broker may lead the partition. */
const STALE_METADATA = [
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'UNKNOWN_TOPIC_OR_PARTITION',
]

const LOG_START_VERSION = 5
const SESSION_VERSION = 7
/** Since this version the client throttles itself, and the broker answers at once. */
const CLIENT_THROTTLE_VERSION = 8
const READ_REPLICA_VERSION = 11

/** True if the error means that another broker leads the partition, or that no leader is known. */
export function isStaleMetadata(error: string | null): boolean {
  return error !== null && STALE_METADATA.includes(error)
}

export function brokerReason(error: string): BlockReason {
  return error === 'TOPIC_AUTHORIZATION_FAILED' ? 'no-rights' : 'broker-error'
}

/**
 * Fetches undecoded bytes, or the error, of each partition that the broker answers for: none if a quota limits this client. One
 * request at a time: kafkajs opens the connection for fetches without a lock. Its own decoder reads every record of a response at
 * once, in time quadratic in its headers, checks no checksum, lets events of aborted transactions through, and drops the whole
 * response for an error of one partition.
 */
export async function fetchFrom(broker: Broker, wanted: FetchRequest): Promise<FetchedPartition[]> {
  const protocol = broker.lookupRequest(apiKeys.Fetch, requests.requests.Fetch)
  const { request } = protocol({
    isolationLevel: wanted.isolationLevel,
    maxWaitTime: wanted.maxWaitMs,
    minBytes: 1,
    maxBytes: wanted.bytesMax,
    topics: wanted.partitions.map(({ topic, partition, from }) => ({
      topic,
      partitions: [{ partition, fetchOffset: String(from), maxBytes: wanted.partitionBytesMax }],
    })),
  })
  const { responses } = await broker.connectionPool.send({
    request,
    response: {
      decode: async (bytes) => decodeFetchResponse(bytes, request.apiVersion),
      parse: async (decoded: ReturnType<typeof decodeFetchResponse>) => decoded,
    },
  })
  return responses
}

/** @internal kafkajs waits for `clientSideThrottleTime` before it sends the next request. */
export function decodeFetchResponse(bytes: Buffer, version: number) {
  try {
    const decoder = new Decoder(bytes)
    const throttleTime = decoder.readInt32()
    if (version >= SESSION_VERSION) {
      decoder.readInt16()
      decoder.readInt32()
    }
    const responses = decoder
      .readArray(() => {
        const topic = decoder.readString()
        return decoder.readArray(() => ({ topic, ...decodePartition(decoder, version) }))
      })
      .flat()
    return { clientSideThrottleTime: version < CLIENT_THROTTLE_VERSION ? 0 : throttleTime, responses }
  } catch (cause) {
    throw new Error("a broker's response cannot be read", { cause })
  }
}

function decodePartition(decoder: Decoder, version: number): Omit<FetchedPartition, 'topic'> {
  const partition = decoder.readInt32()
  const errorCode = decoder.readInt16()
  decoder.readInt64()
  decoder.readInt64()
  if (version >= LOG_START_VERSION) decoder.readInt64()
  const aborted = decoder.readArray(() => ({
    producerId: decoder.readInt64(),
    firstOffset: decoder.readInt64(),
  }))
  if (version >= READ_REPLICA_VERSION) decoder.readInt32()
  const bytes = decoder.readBytes()
  const error = errorCode === 0 ? null : errors.createErrorFromCode(errorCode).type
  // A copy: a slice would keep the whole response in memory while it is queued.
  return { partition, error, bytes: Buffer.from(bytes ?? []), aborted }
}
