import { setTimeout as sleep } from 'node:timers/promises'
import { bulkhead } from 'cockatiel'
import type { BrokerMetadata, Kafka, KafkaMessage, PartitionMetadata } from 'kafkajs'
import type { Logger } from 'pino'
import { type Ends, partitionKey, type TopicPartition } from '../core/event/position.ts'
import { CodedError } from '../core/text/error-codes.ts'
import { CorrectableError } from '../core/text/faults.ts'
import { createClient, type KafkaConnection } from './client.ts'
import { type DescribingBroker, describeGroup, type GroupMember } from './describe-group.ts'
import { type FetchedBytes, isStaleMetadata, readFetchedBytes } from './patches/fetch-response.ts'

export type PartitionEnds = TopicPartition & Ends

/** Isolation levels: the whole log, or only the part before the first open transaction. */
export const READ_UNCOMMITTED = 0
export const READ_COMMITTED = 1
type IsolationLevel = typeof READ_UNCOMMITTED | typeof READ_COMMITTED

/** Requests to the brokers outside the consumer group. Each rejects with kafkajs's error. */
export type Brokers = ReturnType<typeof createBrokers>

/** Private part of kafkajs 2.2.4 that its clients share: requests to a chosen broker. */
interface Cluster {
  connect(): Promise<void>
  disconnect(): Promise<void>
  /** Rejects, and forgets the topics, if one of them does not exist. */
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>
  metadata(): Promise<BrokerMetadata>
  refreshMetadata(): Promise<void>
  refreshMetadataIfNecessary(): Promise<void>
  /** From the last metadata; the leader is -1 if there is none. */
  findTopicPartitionMetadata(topic: string): PartitionMetadata[]
  findBroker(of: { nodeId: string }): Promise<Broker>
  findGroupCoordinator(of: { groupId: string }): Promise<Broker>
}

interface Broker extends DescribingBroker {
  findGroupCoordinator(request: {
    readonly groupId: string
    readonly coordinatorType: number
  }): Promise<unknown>
  heartbeat(request: {
    readonly groupId: string
    readonly groupGenerationId: number
    readonly memberId: string
  }): Promise<unknown>
  listOffsets(request: {
    readonly isolationLevel: IsolationLevel
    readonly topics: readonly {
      readonly topic: string
      readonly partitions: readonly { readonly partition: number; readonly timestamp: string }[]
    }[]
  }): Promise<{ responses: { topic: string; partitions: { partition: number; offset: string }[] }[] }>
}

const GROUP_COORDINATOR = 0
const END = '-1'
const EARLIEST = '-2'
const METADATA_AGE_MAX_MS = 10_000
const FETCH_WAIT_MS = 500
const ASK_COUNT_MAX = 10
/** More than it takes to find one of three brokers, of which two do not answer. */
const ANSWER_MAX_MS = 10_000
/** A quota may delay each of ten answers, and a batch may be large. */
const FETCH_MAX_MS = 60_000
const NOTHING: FetchedBytes = { error: null, bytes: Buffer.alloc(0), aborted: [] }

/**
 * Connects on the first request, and again on the next one after any error. A request without an answer after 10 s fails, and the
 * next ones do not wait for its connection: kafkajs would wait for 30 s, and several times.
 */
export function createBrokers(
  connection: KafkaConnection,
  clientId: string,
  log: Logger,
  answerMaxMs = ANSWER_MAX_MS,
) {
  const kafka = createClient(connection, clientId, log)
  let connecting: Promise<Cluster> | null = null
  // kafkajs 2.2.4 opens a broker's connection for fetches without a lock: two concurrent first fetches would leak a socket.
  const oneFetch = bulkhead(1, Number.POSITIVE_INFINITY)

  async function close(): Promise<void> {
    if (connecting !== null) await disconnect(connecting)
  }

  async function disconnect(cluster: Promise<Cluster>): Promise<void> {
    // Another request may have connected again meanwhile.
    if (connecting === cluster) connecting = null
    await cluster.then((connected) => connected.disconnect()).catch(() => {})
  }

  async function ask<T>(request: (cluster: Cluster) => Promise<T>, maxMs = answerMaxMs): Promise<T> {
    const answered = new AbortController()
    const late = sleep(maxMs, undefined, { signal: answered.signal }).then(() => {
      throw new CodedError('ETIMEDOUT', `no response from the brokers within ${maxMs / 1_000} s`)
    })
    connecting ??= connect(kafka)
    const cluster = connecting
    try {
      return await Promise.race([cluster.then(request), late])
    } catch (error) {
      // Not awaited: it waits for the requests that are not answered.
      void disconnect(cluster)
      throw error
    } finally {
      answered.abort()
    }
  }

  return {
    describe: () =>
      ask(async (cluster) => {
        const { brokers, topicMetadata } = await cluster.metadata()
        return { brokerCount: brokers.length, topics: topicMetadata.map(({ topic }) => topic) }
      }),
    /** The ends of every partition of these topics that has a leader, by `topic/partition`; none for a missing topic. */
    readEnds: (topics: readonly string[], isolationLevel: IsolationLevel) =>
      ask(async (cluster): Promise<ReadonlyMap<string, PartitionEnds>> => {
        const partitions = await listPartitions(cluster, topics)
        const [earliest, ends] = await Promise.all([
          listOffsets(cluster, partitions, EARLIEST, isolationLevel),
          listOffsets(cluster, partitions, END, isolationLevel),
        ])
        return new Map(
          partitions.flatMap((partition) => {
            const key = partitionKey(partition)
            const end = ends.get(key)
            return end === undefined ? [] : [[key, { ...partition, end, earliest: earliest.get(key) ?? 0n }]]
          }),
        )
      }),
    /** The first offset with a message at or after this time in ms since 1970, by `topic/partition`. */
    firstSince: (
      partitions: readonly TopicPartition[],
      timestampMs: number,
      isolationLevel: IsolationLevel,
    ) => ask((cluster) => listOffsets(cluster, partitions, String(timestampMs), isolationLevel)),
    /** The members of a group: see `describeGroup`. */
    listMembers: (groupId: string) =>
      ask(async (cluster): Promise<readonly GroupMember[]> => {
        return describeGroup(await cluster.findGroupCoordinator({ groupId }), groupId)
      }),
    /** Rejects if this user may not join the group. Does not join: the broker checks the right before the member. */
    requireGroupRight: (groupId: string) =>
      ask(async (cluster) => {
        // kafkajs's own search for the coordinator hides that the right to see the group is missing.
        const { brokers } = await cluster.metadata()
        const anyBroker = await cluster.findBroker({ nodeId: String(brokers[0]?.nodeId) })
        await anyBroker.findGroupCoordinator({ groupId, coordinatorType: GROUP_COORDINATOR })
        const coordinator = await cluster.findGroupCoordinator({ groupId })
        await coordinator
          .heartbeat({ groupId, groupGenerationId: 0, memberId: 'nobody' })
          .catch(unless('UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION'))
      }),
    /** Fetches at most `bytesMax` bytes from this offset on, or one whole batch. */
    fetch: (range: FetchRange, isolationLevel: IsolationLevel) =>
      oneFetch.execute(() => ask((cluster) => fetchBytes(cluster, range, isolationLevel), FETCH_MAX_MS)),
    close,
  }
}

type FetchRange = TopicPartition & { readonly from: bigint; readonly bytesMax: number }

async function connect(kafka: Kafka): Promise<Cluster> {
  const create = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  )
  if (create === undefined) throw new Error('this version of kafkajs is not supported: use 2.2.4')
  const options = { metadataMaxAge: METADATA_AGE_MAX_MS, allowAutoTopicCreation: false }
  const cluster: Cluster = Reflect.get(kafka, create)(options)
  await cluster.connect()
  return cluster
}

async function listPartitions(cluster: Cluster, topics: readonly string[]): Promise<TopicPartition[]> {
  await cluster.refreshMetadataIfNecessary()
  const partitions: TopicPartition[] = []
  for (const topic of topics) {
    const exists = await cluster
      .addMultipleTargetTopics([topic])
      .then(() => true, unless('UNKNOWN_TOPIC_OR_PARTITION'))
    if (!exists) continue
    for (const { partitionId, leader } of cluster.findTopicPartitionMetadata(topic))
      if (leader >= 0) partitions.push({ topic, partition: partitionId })
  }
  return partitions
}

/** Handles errors by Kafka's names: returns false for these, and rethrows any other. */
function unless(...types: readonly string[]) {
  return (error: { readonly type?: unknown }): false => {
    if (types.some((type) => type === error.type)) return false
    throw error
  }
}

async function listOffsets(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  timestamp: string,
  isolationLevel: IsolationLevel,
): Promise<ReadonlyMap<string, bigint>> {
  const byLeader = Map.groupBy(partitions, (partition) => findLeader(cluster, partition))
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
      ofTopic.map(({ partition, offset }) => [partitionKey({ topic, partition }), BigInt(offset)] as const),
    )
  return new Map(found.filter(([, offset]) => offset >= 0n))
}

function findLeader(cluster: Cluster, { topic, partition }: TopicPartition): number {
  const known = cluster.findTopicPartitionMetadata(topic).find(({ partitionId }) => partitionId === partition)
  if (known === undefined) throw new Error(`the broker has no partition ${partition} of topic ${topic}`)
  return known.leader
}

async function fetchBytes(
  cluster: Cluster,
  { topic, partition, from, bytesMax }: FetchRange,
  isolationLevel: IsolationLevel,
): Promise<FetchedBytes> {
  await cluster.addMultipleTargetTopics([topic])
  const leader = await cluster.findBroker({ nodeId: String(findLeader(cluster, { topic, partition })) })
  const fetched = await untilAnswered(async () => {
    const { responses }: { responses: { partitions: { messages: KafkaMessage[] }[] }[] } = await leader.fetch(
      {
        maxWaitTime: FETCH_WAIT_MS,
        maxBytes: bytesMax,
        isolationLevel,
        topics: [{ topic, partitions: [{ partition, fetchOffset: String(from), maxBytes: bytesMax }] }],
      },
    )
    return responses.flatMap(({ partitions }) => partitions)[0]
  }).then(readFetchedBytes)
  if (fetched === null) return NOTHING
  if (isStaleMetadata(fetched.error)) await cluster.refreshMetadata()
  return fetched
}

/**
 * Asks again if the broker answers for no partition: a quota limits this client (KIP-219). kafkajs delays the next request for as
 * long as the broker says.
 */
export async function untilAnswered<Answer>(ask: () => Promise<Answer | undefined>): Promise<Answer> {
  for (let askCount = 0; askCount < ASK_COUNT_MAX; askCount++) {
    const answer = await ask()
    if (answer !== undefined) return answer
  }
  throw new CorrectableError(
    'a quota of the broker limits this client: run it again later, or raise the quota',
  )
}
