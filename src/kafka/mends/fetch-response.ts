import type { Batch as KafkajsBatch } from 'kafkajs'
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import Decoder from 'kafkajs/src/protocol/decoder.js'
import errors from 'kafkajs/src/protocol/error.js'
import requests from 'kafkajs/src/protocol/requests/index.js'
import { isStaleMetadata } from '../errors.ts'
import type { AbortedTransaction } from '../records/aborted-transactions.ts'

/** What a broker answered about one partition. */
export interface FetchedBytes {
  /** Kafka's name of what is wrong with this partition alone; null: nothing. */
  readonly error: string | null
  /** Its record batches, the last perhaps cut off, in memory of their own. */
  readonly bytes: Buffer
  /** Transactions among them that were aborted. */
  readonly aborted: readonly AbortedTransaction[]
}

/** The first version whose partitions list aborted transactions. */
const VERSION_MIN = 4
const LOG_START_VERSION = 5
const SESSION_VERSION = 7
/** From here on the client has to hold back when it is told to, and the broker answers at once. */
const CLIENT_THROTTLE_VERSION = 8
const READ_REPLICA_VERSION = 11
/** Larger than any: kafkajs leaves out what lies before the offset that it asked for. */
const OFFSET_MAX = '9223372036854775807'
let mended = false

/**
 * Mends `protocol/requests/fetch/v4…v11/response.js` of kafkajs 2.2.4, `protocol/recordBatch` and
 * `consumer/filterAbortedMessages.js`. They decode every record of a response at once, in time quadratic in its headers;
 * overflow the stack over a batch of 110,000; check no CRC; let events of aborted transactions through; and throw the whole
 * response away for one partition. With this, kafkajs hands on the bytes of each partition, or its error, in place of its
 * messages: `fetchedBytesOf`. Every consumer of the process is concerned. Where another broker leads a partition,
 * `consumer/consumerGroup.js` joins the group again; with this, it only learns who leads.
 */
export function mendFetchResponses(): void {
  if (mended) return
  mended = true
  const { versions, protocol } = requests.requests.Fetch
  for (const version of versions.filter((name) => Number(name) >= VERSION_MIN)) {
    const { response } = protocol({ version })({ topics: [] })
    response.decode = async (bytes) => {
      try {
        return decode(bytes, Number(version))
      } catch (cause) {
        // kafkajs takes a RangeError for final.
        throw new Error("a broker's response cannot be read", { cause })
      }
    }
    response.parse = async (decoded: ReturnType<typeof decode>) => decoded
  }
  const { fetch } = ConsumerGroup.prototype
  ConsumerGroup.prototype.fetch = async function fetchAndRefresh(nodeId) {
    const batches = await fetch.call(this, nodeId)
    const isStale = batches.some((batch) => isStaleMetadata(fetchedBytesOf(batch)?.error ?? ''))
    // Not waited for, since the others are to be handed on; what is wrong with it is met by a later fetch.
    if (isStale) void this.cluster.refreshMetadata().catch(() => {})
    return batches
  }
}

/** What was fetched of a partition; null where there was nothing. */
export function fetchedBytesOf({ messages: [message] }: Pick<KafkajsBatch, 'messages'>): FetchedBytes | null {
  return (message as { fetched?: FetchedBytes } | undefined)?.fetched ?? null
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
  // A part of the response would keep all of it in memory for as long as it is queued.
  const fetched: FetchedBytes = { error, bytes: Buffer.from(bytes ?? []), aborted }
  return {
    partition,
    highWatermark,
    preferredReadReplica,
    abortedTransactions: [],
    messages: isEmpty ? [] : [{ offset: OFFSET_MAX, isControlRecord: false, batchContext: {}, fetched }],
  }
}
