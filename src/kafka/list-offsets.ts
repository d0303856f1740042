import kafkajs from 'kafkajs'
import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import type { Ends } from '../core/batch/position.ts'
import type { TopicPartition } from '../core/batch/topic-partition.ts'
import { createClient } from './client.ts'
import { type Cluster, type IsolationLevel, READ_COMMITTED } from './cluster.ts'
import { createReconnectingCluster } from './reconnecting-cluster.ts'

export interface EndsReader {
  /** Of every partition of these topics that has a leader, by `topic/partition`. */
  endsOf(topics: readonly string[]): Promise<ReadonlyMap<string, TopicPartition & Ends>>
  /** The first offset of a message that is not older than this, by `topic/partition`; none where there is no such message. */
  firstSince(
    wanted: readonly (TopicPartition & { readonly timestampMs: number })[],
  ): Promise<ReadonlyMap<string, bigint>>
  /** The partitions that the members of the group own, as `topic/partition`. */
  ownedByGroup(): Promise<ReadonlySet<string>>
  close(): Promise<void>
}

export const END = '-1'
export const EARLIEST = '-2'
/** What retention has removed matters only to what lags far behind. */
const EARLIEST_VALID_MS = 60_000
const METADATA_AGE_MAX_MS = 10_000

/**
 * Asks the brokers how far their partitions reach, each all of its partitions at once, on connections of its own, opened by
 * the first question.
 */
export function createEndsReader(
  connection: BrokerConnection,
  groupId: string,
  log: Logger,
  nowMs: () => number,
): EndsReader {
  // Whatever prevents an answer also stops the consumer, which logs it.
  const kafka = createClient(connection, groupId, log.child({}, { level: 'error' }))
  const { ask, close } = createReconnectingCluster(kafka, METADATA_AGE_MAX_MS)
  const earliestOf = rememberEarliest(nowMs)
  return {
    endsOf: (topics) =>
      ask(async ({ cluster, known }) => {
        const partitions = await partitionsOf(cluster, known, topics)
        const ends = await listOffsets(cluster, partitions, () => END)
        return joinEnds(partitions, ends, await earliestOf(cluster, partitions))
      }),
    firstSince: (wanted) =>
      ask(({ cluster }) => listOffsets(cluster, wanted, ({ timestampMs }) => String(timestampMs))),
    ownedByGroup: () =>
      ask(async ({ cluster }) => {
        const coordinator = await cluster.findGroupCoordinator({ groupId })
        const { groups } = await coordinator.describeGroups({ groupIds: [groupId] })
        const members = groups.flatMap((group) => group.members)
        return new Set(members.flatMap(({ memberAssignment }) => partitionsIn(memberAssignment)))
      }),
    close,
  }
}

/** Those that have a leader. Topics that are found to exist are added to `known`. */
async function partitionsOf(
  cluster: Cluster,
  known: Set<string>,
  topics: readonly string[],
): Promise<TopicPartition[]> {
  for (const topic of topics) {
    if (known.has(topic)) continue
    const added = cluster.addMultipleTargetTopics([topic])
    if (await added.then(() => true).catch(isUnknownTopic)) known.add(topic)
  }
  await cluster.refreshMetadataIfNecessary()
  return topics
    .filter((topic) => known.has(topic))
    .flatMap((topic) =>
      cluster
        .findTopicPartitionMetadata(topic)
        .filter(({ leader }) => leader >= 0)
        .map(({ partitionId }) => ({ topic, partition: partitionId })),
    )
}

/** The earliest offsets by `topic/partition`, read again once they are too old or one is missing. */
function rememberEarliest(nowMs: () => number) {
  let read: { readonly offsets: ReadonlyMap<string, bigint>; readonly readAtMs: number } | null = null
  return async (cluster: Cluster, partitions: readonly TopicPartition[]) => {
    const isValid = read !== null && nowMs() - read.readAtMs < EARLIEST_VALID_MS
    const isKnown = partitions.every((partition) => read?.offsets.has(keyOf(partition)))
    if (!isValid || !isKnown || read === null) {
      read = { offsets: await listOffsets(cluster, partitions, () => EARLIEST), readAtMs: nowMs() }
    }
    return read.offsets
  }
}

function joinEnds(
  partitions: readonly TopicPartition[],
  ends: ReadonlyMap<string, bigint>,
  earliest: ReadonlyMap<string, bigint>,
): ReadonlyMap<string, TopicPartition & Ends> {
  return new Map(
    partitions.flatMap((partition) => {
      const key = keyOf(partition)
      const end = ends.get(key)
      const first = earliest.get(key) ?? 0n
      // A topic that was created anew may end before what was its first offset.
      return end === undefined ? [] : [[key, { ...partition, end, earliest: first > end ? 0n : first }]]
    }),
  )
}

/** False where that is the error; throws any other. */
export function isUnknownTopic(error: unknown): false {
  if ((error as { type?: unknown }).type === 'UNKNOWN_TOPIC_OR_PARTITION') return false
  throw error
}

function partitionsIn(memberAssignment: Buffer): string[] {
  const assignment = kafkajs.AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment ?? {}
  return Object.entries(assignment).flatMap(([topic, partitions]) =>
    partitions.map((partition) => keyOf({ topic, partition })),
  )
}

/** One request to each broker. By default what belongs to an open transaction is left out, and all behind it. */
export async function listOffsets<P extends TopicPartition>(
  cluster: Cluster,
  partitions: readonly P[],
  timestampOf: (partition: P) => string,
  isolationLevel: IsolationLevel = READ_COMMITTED,
): Promise<Map<string, bigint>> {
  const byTopic = Map.groupBy(partitions, ({ topic }) => topic)
  const byBroker = new Map<number, Map<string, P[]>>()
  for (const [topic, ofTopic] of byTopic) {
    const leaders = new Map(
      cluster.findTopicPartitionMetadata(topic).map(({ partitionId, leader }) => [partitionId, leader]),
    )
    for (const topicPartition of ofTopic) {
      const leader = leaders.get(topicPartition.partition) ?? -1
      if (leader < 0) continue
      const ofBroker = byBroker.get(leader) ?? new Map<string, P[]>()
      byBroker.set(leader, ofBroker.set(topic, [...(ofBroker.get(topic) ?? []), topicPartition]))
    }
  }
  const answers = [...byBroker].map(async ([nodeId, topics]) => {
    const broker = await cluster.findBroker({ nodeId: String(nodeId) })
    const { responses } = await broker.listOffsets({
      isolationLevel,
      topics: [...topics].map(([topic, ofTopic]) => ({
        topic,
        partitions: ofTopic.map((topicPartition) => ({
          partition: topicPartition.partition,
          timestamp: timestampOf(topicPartition),
        })),
      })),
    })
    return responses.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset }) => [keyOf({ topic, partition }), BigInt(offset)] as const),
    )
  })
  const found = (await Promise.all(answers)).flat()
  return new Map(found.filter(([, offset]) => offset >= 0n))
}

export function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`
}
