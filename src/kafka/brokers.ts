import { bulkhead } from 'cockatiel'
import kafkajs from 'kafkajs'
import type { Logger } from 'pino'
import type { Ends } from '../core/batch/position.ts'
import type { TopicPartition } from '../core/batch/topic-partition.ts'
import { createClient, type KafkaConnection } from './client.ts'
import { type Cluster, createCluster, type IsolationLevel } from './cluster.ts'
import { type FetchedBytes, fetchedBytesOf, isStaleMetadata } from './patches/fetch-response.ts'

export type PartitionEnds = TopicPartition & Ends

/** Requests to the brokers beside the consumer group. Each rejects with the error of kafkajs. */
export interface Brokers {
  /** The number of brokers, and the topics that this user may see. */
  describe(): Promise<{ readonly brokerCount: number; readonly topics: readonly string[] }>
  /** The ends of every partition of these topics that has a leader, by `topic/partition`. Topics that do not exist have none. */
  endsOf(
    topics: readonly string[],
    isolationLevel: IsolationLevel,
  ): Promise<ReadonlyMap<string, PartitionEnds>>
  /** The first offset whose message is not older than this, in ms since 1970, by `topic/partition`. */
  firstSince(
    partitions: readonly TopicPartition[],
    timestampMs: number,
    isolationLevel: IsolationLevel,
  ): Promise<ReadonlyMap<string, bigint>>
  /** The partitions that the members of the group own, as `topic/partition`. */
  ownedByGroup(groupId: string): Promise<ReadonlySet<string>>
  /** At most `bytesMax` bytes from this offset on, or one whole batch. */
  fetch(
    range: TopicPartition & { readonly from: bigint; readonly bytesMax: number },
    isolationLevel: IsolationLevel,
  ): Promise<FetchedBytes>
  close(): Promise<void>
}

const END = '-1'
const EARLIEST = '-2'
const METADATA_AGE_MAX_MS = 10_000
const FETCH_WAIT_MS = 500
const NOTHING: FetchedBytes = { error: null, bytes: Buffer.alloc(0), aborted: [] }

/** Connects with the first request, and anew with the next one after any error. */
export function createBrokers(connection: KafkaConnection, clientId: string, log: Logger): Brokers {
  const kafka = createClient(connection, clientId, log)
  let connecting: Promise<Cluster> | null = null
  // kafkajs 2.2.4 opens a broker's connection for fetches without a lock: two first ones would leave a socket open.
  const oneFetch = bulkhead(1, Number.POSITIVE_INFINITY)

  async function connect(): Promise<Cluster> {
    const cluster = createCluster(kafka, METADATA_AGE_MAX_MS)
    await cluster.connect()
    return cluster
  }

  async function close(): Promise<void> {
    const closing = connecting
    connecting = null
    await closing?.then((cluster) => cluster.disconnect()).catch(() => {})
  }

  async function ask<T>(request: (cluster: Cluster) => Promise<T>): Promise<T> {
    try {
      connecting ??= connect()
      return await request(await connecting)
    } catch (error) {
      await close()
      throw error
    }
  }

  return {
    describe: () =>
      ask(async (cluster) => {
        const { brokers, topicMetadata } = await cluster.metadata()
        return { brokerCount: brokers.length, topics: topicMetadata.map(({ topic }) => topic) }
      }),
    endsOf: (topics, isolationLevel) =>
      ask(async (cluster) => {
        const partitions = await partitionsOf(cluster, topics)
        const [earliest, ends] = await Promise.all([
          listOffsets(cluster, partitions, EARLIEST, isolationLevel),
          listOffsets(cluster, partitions, END, isolationLevel),
        ])
        return joinEnds(partitions, earliest, ends)
      }),
    firstSince: (partitions, timestampMs, isolationLevel) =>
      ask((cluster) => listOffsets(cluster, partitions, String(timestampMs), isolationLevel)),
    ownedByGroup: (groupId) =>
      ask(async (cluster) => {
        const coordinator = await cluster.findGroupCoordinator({ groupId })
        const { groups } = await coordinator.describeGroups({ groupIds: [groupId] })
        const members = groups.flatMap((group) => group.members)
        return new Set(members.flatMap(({ memberAssignment }) => partitionsIn(memberAssignment)))
      }),
    fetch: (range, isolationLevel) =>
      oneFetch.execute(() => ask((cluster) => fetch(cluster, range, isolationLevel))),
    close,
  }
}

export function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`
}

async function partitionsOf(cluster: Cluster, topics: readonly string[]): Promise<TopicPartition[]> {
  await cluster.refreshMetadataIfNecessary()
  const partitions: TopicPartition[] = []
  for (const topic of topics) {
    const exists = await cluster.addMultipleTargetTopics([topic]).then(() => true, isUnknownTopic)
    if (!exists) continue
    for (const { partitionId, leader } of cluster.findTopicPartitionMetadata(topic))
      if (leader >= 0) partitions.push({ topic, partition: partitionId })
  }
  return partitions
}

/** False where that is the error; throws any other. */
function isUnknownTopic(error: { readonly type?: unknown }): false {
  if (error.type === 'UNKNOWN_TOPIC_OR_PARTITION') return false
  throw error
}

function joinEnds(
  partitions: readonly TopicPartition[],
  earliest: ReadonlyMap<string, bigint>,
  ends: ReadonlyMap<string, bigint>,
): ReadonlyMap<string, PartitionEnds> {
  return new Map(
    partitions.flatMap((partition) => {
      const key = keyOf(partition)
      const end = ends.get(key)
      return end === undefined ? [] : [[key, { ...partition, end, earliest: earliest.get(key) ?? 0n }]]
    }),
  )
}

/** One request to each leader. */
async function listOffsets(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  timestamp: string,
  isolationLevel: IsolationLevel,
): Promise<ReadonlyMap<string, bigint>> {
  const byLeader = Map.groupBy(partitions, (partition) => leaderOf(cluster, partition))
  const responses = [...byLeader].map(async ([nodeId, ofLeader]) => {
    if (nodeId < 0) return []
    const broker = await cluster.findBroker({ nodeId: String(nodeId) })
    const byTopic = Map.groupBy(ofLeader, ({ topic }) => topic)
    const topics = [...byTopic].map(([topic, ofTopic]) => ({
      topic,
      partitions: ofTopic.map(({ partition }) => ({ partition, timestamp })),
    }))
    return (await broker.listOffsets({ isolationLevel, topics })).responses
  })
  const found = (await Promise.all(responses))
    .flat()
    .flatMap(({ topic, partitions: ofTopic }) =>
      ofTopic.map(({ partition, offset }) => [keyOf({ topic, partition }), BigInt(offset)] as const),
    )
  return new Map(found.filter(([, offset]) => offset >= 0n))
}

/** -1 where no broker leads it. */
function leaderOf(cluster: Cluster, { topic, partition }: TopicPartition): number {
  const known = cluster.findTopicPartitionMetadata(topic).find(({ partitionId }) => partitionId === partition)
  if (known === undefined) throw new Error(`the broker has no partition ${partition} of topic ${topic}`)
  return known.leader
}

async function fetch(
  cluster: Cluster,
  { topic, partition, from, bytesMax }: Parameters<Brokers['fetch']>[0],
  isolationLevel: IsolationLevel,
): Promise<FetchedBytes> {
  await cluster.addMultipleTargetTopics([topic])
  const leader = await cluster.findBroker({ nodeId: String(leaderOf(cluster, { topic, partition })) })
  const { responses } = await leader.fetch({
    maxWaitTime: FETCH_WAIT_MS,
    maxBytes: bytesMax,
    isolationLevel,
    topics: [{ topic, partitions: [{ partition, fetchOffset: String(from), maxBytes: bytesMax }] }],
  })
  const [answered] = responses.flatMap(({ partitions }) => partitions)
  const fetched = (answered && fetchedBytesOf(answered)) ?? NOTHING
  if (isStaleMetadata(fetched.error)) await cluster.refreshMetadata()
  return fetched
}

function partitionsIn(memberAssignment: Buffer): string[] {
  const assignment = kafkajs.AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment ?? {}
  return Object.entries(assignment).flatMap(([topic, partitions]) =>
    partitions.map((partition) => keyOf({ topic, partition })),
  )
}
