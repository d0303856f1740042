import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import type { HoldReason } from '../core/batch/hold.ts'
import type { Message } from '../core/event/message.ts'
import { createClient } from './client.ts'
import { type Cluster, createCluster, type IsolationLevel, READ_COMMITTED } from './cluster.ts'
import { brokerReason } from './errors.ts'
import { type FetchedBytes, fetchedBytesOf } from './mends/fetch-response.ts'
import type { FetchedMessage } from './records/record.ts'
import { findIntact, readRecordSet, recordSetOf } from './records/record-set.ts'
import { UnreadableBatch, withoutEnd } from './records/unreadable.ts'

/** What a partition has from an offset on. */
export type Inspected =
  | { readonly kind: 'end' }
  /** The offset of the next message, or the last of a fetch without any; and where the batch begins that was found. */
  | { readonly kind: 'readable'; readonly offset: bigint; readonly begin: bigint }
  | {
      readonly kind: 'unreadable'
      readonly reason: HoldReason
      readonly detail: string
      /** The last one that is known to belong to the batch; null where that may be damaged too. */
      readonly last: bigint | null
      /** The first offset of what follows it and is not damaged; null where the broker keeps no such thing beside it. */
      readonly next: bigint | null
      /** Of the batch and what follows it, as far as the broker sent it. */
      readonly bytes: Buffer
    }

export interface PartitionInspector {
  /** What the consumer would come upon next. */
  inspect(topic: string, partition: number, from: bigint): Promise<Inspected>
  /** The message at an offset, or why there is none to be had. */
  read(topic: string, partition: number, offset: bigint): Promise<Message | string>
  close(): Promise<void>
}

const FETCH_BYTES = 1024 * 1024
/** More than brokers send at once, so that what follows a damaged batch is seen. */
const FETCH_BYTES_MAX = 64 * FETCH_BYTES
const FETCH_WAIT_MS = 500
const METADATA_AGE_MAX_MS = 10_000

/** Reads partitions without being a member of any group. */
export async function openInspector(
  connection: BrokerConnection,
  clientId: string,
  log: Logger,
): Promise<PartitionInspector> {
  const cluster = createCluster(createClient(connection, clientId, log), METADATA_AGE_MAX_MS)
  await cluster.connect()
  return {
    inspect: (topic, partition, from) =>
      inspect((bytesMax) => fetchFrom(cluster, { topic, partition, from, bytesMax }, READ_COMMITTED), from),
    // The broker sends a whole batch, however little is asked for.
    read: async (topic, partition, offset) => {
      const range = { topic, partition, from: offset, bytesMax: 1 }
      return messageAt(await fetchFrom(cluster, range, READ_COMMITTED), offset)
    },
    close: () => cluster.disconnect(),
  }
}

/** @param fetched from this offset on; null where there is nothing */
export async function messageAt(
  fetched: FetchedBytes | null,
  offset: bigint,
): Promise<FetchedMessage | string> {
  const { error, bytes, aborted } = fetched ?? NOTHING
  if (error === 'OFFSET_OUT_OF_RANGE') return 'the broker no longer has it'
  if (error !== null) return `the broker does not serve its partition: ${error}`
  const set = recordSetOf(bytes, offset, aborted)
  if (set === null) return NOTHING_THERE
  try {
    for await (const [first] of readRecordSet(set)) return first?.offset === offset ? first : NOTHING_THERE
    return NOTHING_THERE
  } catch (cause) {
    if (!(cause instanceof UnreadableBatch)) throw cause
    return `the broker has it in a batch that cannot be read: ${cause.message}`
  }
}

const NOTHING_THERE = 'the broker has no message at its offset any more'
const NOTHING: FetchedBytes = { error: null, bytes: Buffer.alloc(0), aborted: [] }

/** @param fetch fetches so many bytes from this offset on, or one whole batch; null where there is nothing */
export async function inspect(
  fetch: (bytesMax: number) => Promise<FetchedBytes | null>,
  from: bigint,
): Promise<Inspected> {
  for (let bytesMax = FETCH_BYTES; ; bytesMax *= 4) {
    const fetched = (await fetch(bytesMax)) ?? NOTHING
    const inspected = await judge(fetched, from)
    const isAll = fetched.bytes.length < bytesMax || bytesMax >= FETCH_BYTES_MAX
    if (isAll || inspected.kind !== 'unreadable' || inspected.next !== null || inspected.last !== null) {
      return inspected
    }
  }
}

async function judge({ error, bytes, aborted }: FetchedBytes, from: bigint): Promise<Inspected> {
  if (error !== null) {
    return { kind: 'unreadable', reason: brokerReason(error), detail: error, last: null, next: null, bytes }
  }
  if (bytes.length === 0) return { kind: 'end' }
  const set = recordSetOf(bytes, from, aborted)
  try {
    if (set === null) throw withoutEnd(from)
    const begin = bytes.readBigInt64BE(0)
    for await (const [first] of readRecordSet(set)) {
      if (first !== undefined) return { kind: 'readable', offset: first.offset, begin }
    }
    return { kind: 'readable', offset: set.lastOffset, begin }
  } catch (cause) {
    if (!(cause instanceof UnreadableBatch)) throw cause
    const { reason, message: detail, offsets } = cause
    // Brokers send a damaged batch for every offset that its header claims, those of the batches behind it included.
    const start = findIntact(bytes, (first) => first === from)
    if (start !== null && start.at > 0) {
      return await judge({ error, bytes: bytes.subarray(start.at), aborted }, from)
    }
    const next = findIntact(bytes, (first) => first > from)?.firstOffset ?? null
    const last = reason === 'damaged' ? null : offsets.last
    return { kind: 'unreadable', reason, detail, last, next, bytes: set?.bytes ?? bytes }
  }
}

/** Fetches so many bytes of a partition from this offset on, or one whole batch; null where there is nothing. */
export async function fetchFrom(
  cluster: Cluster,
  {
    topic,
    partition,
    from,
    bytesMax,
  }: {
    readonly topic: string
    readonly partition: number
    readonly from: bigint
    readonly bytesMax: number
  },
  isolationLevel: IsolationLevel,
): Promise<FetchedBytes | null> {
  await cluster.addMultipleTargetTopics([topic])
  const found = cluster.findTopicPartitionMetadata(topic).find(({ partitionId }) => partitionId === partition)
  if (found === undefined) throw new Error(`the broker has no partition ${partition} of topic ${topic}`)
  const leader = await cluster.findBroker({ nodeId: String(found.leader) })
  const { responses } = await leader.fetch({
    maxWaitTime: FETCH_WAIT_MS,
    maxBytes: bytesMax,
    isolationLevel,
    topics: [{ topic, partitions: [{ partition, fetchOffset: String(from), maxBytes: bytesMax }] }],
  })
  const answered = responses.flatMap(({ partitions }) => partitions)[0]
  return answered === undefined ? null : fetchedBytesOf(answered)
}
