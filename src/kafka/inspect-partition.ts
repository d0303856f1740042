import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import type { HoldReason } from '../core/batch/hold.ts'
import { createClient } from './client.ts'
import { type Cluster, createCluster } from './cluster.ts'
import { brokerReason } from './errors.ts'
import { fetchedBytesOf } from './mends/fetch-response.ts'
import { batchAfter, readRecordSet, recordSetOf } from './records/record-set.ts'
import { UnreadableBatch, withoutEnd } from './records/unreadable.ts'

/** What a partition has from an offset on. */
export type Inspected =
  | { readonly kind: 'end' }
  /** The offset of the next message, or the last of a fetch without any. */
  | { readonly kind: 'readable'; readonly offset: bigint }
  | {
      readonly kind: 'unreadable'
      readonly reason: HoldReason
      readonly detail: string
      /** Those of the batch, where there is one; they may be damaged too. */
      readonly offsets: { readonly first: bigint; readonly last: bigint } | null
      /** The first offset of what follows it; null where that is not known. */
      readonly next: bigint | null
      /** Of the batch and what follows it, as far as the broker sent it. */
      readonly bytes: Buffer
    }

export interface PartitionInspector {
  /** What the consumer would come upon next. */
  inspect(topic: string, partition: number, from: bigint): Promise<Inspected>
  close(): Promise<void>
}

const FETCH_BYTES = 1024 * 1024
const FETCH_WAIT_MS = 500
const METADATA_AGE_MAX_MS = 10_000
const READ_COMMITTED = 1

/** Reads partitions without being a member of any group. */
export async function openInspector(
  connection: BrokerConnection,
  clientId: string,
  log: Logger,
): Promise<PartitionInspector> {
  const cluster = createCluster(createClient(connection, clientId, log), METADATA_AGE_MAX_MS)
  await cluster.connect()
  return {
    inspect: async (topic, partition, from) => {
      const { error, bytes, aborted } = (await fetchFrom(cluster, topic, partition, from)) ?? NOTHING
      if (error !== null) {
        return {
          kind: 'unreadable',
          reason: brokerReason(error),
          detail: error,
          offsets: null,
          next: null,
          bytes,
        }
      }
      const set = recordSetOf(bytes, from, aborted)
      if (set === null && bytes.length === 0) return { kind: 'end' }
      try {
        if (set === null) throw withoutEnd(from)
        for await (const [first] of readRecordSet(set)) {
          if (first !== undefined) return { kind: 'readable', offset: first.offset }
        }
        return { kind: 'readable', offset: set.lastOffset }
      } catch (cause) {
        if (!(cause instanceof UnreadableBatch)) throw cause
        const { reason, message: detail, offsets } = cause
        const next = set && batchAfter(set, offsets.first)
        return { kind: 'unreadable', reason, detail, offsets, next, bytes: set?.bytes ?? bytes }
      }
    },
    close: () => cluster.disconnect(),
  }
}

const NOTHING = { error: null, bytes: Buffer.alloc(0), aborted: [] }

async function fetchFrom(cluster: Cluster, topic: string, partition: number, from: bigint) {
  await cluster.addMultipleTargetTopics([topic])
  const found = cluster.findTopicPartitionMetadata(topic).find(({ partitionId }) => partitionId === partition)
  if (found === undefined) throw new Error(`the broker has no partition ${partition} of topic ${topic}`)
  const leader = await cluster.findBroker({ nodeId: String(found.leader) })
  const { responses } = await leader.fetch({
    maxWaitTime: FETCH_WAIT_MS,
    maxBytes: FETCH_BYTES,
    isolationLevel: READ_COMMITTED,
    topics: [{ topic, partitions: [{ partition, fetchOffset: String(from), maxBytes: FETCH_BYTES }] }],
  })
  const answered = responses.flatMap(({ partitions }) => partitions)[0]
  return answered === undefined ? null : fetchedBytesOf(answered)
}
