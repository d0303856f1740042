import type { Logger } from 'pino'
import { type Ends, partitionKey, type TopicPartition } from '../decide/event/position.ts'
import { CorrectableError } from '../text/faults.ts'
import { Cluster } from './cluster.ts'
import { describeGroup, type GroupMember } from './describe-group.ts'
import {
  type FetchedBytes,
  type FetchedPartition,
  fetchFrom,
  type IsolationLevel,
  isStaleMetadata,
  READ_COMMITTED,
} from './fetch-request.ts'
import { type DatabaseName, encodeOffsets, type NextOffset, readCommitted } from './group-offsets.ts'
import { errorType, type KafkaConnection } from './kafka-client.ts'

export type PartitionEnds = TopicPartition & Ends

/** Requests to the brokers outside the consumer group. Each rejects with kafkajs's error, or ETIMEDOUT. */
export type Brokers = ReturnType<typeof createBrokers>

const END = '-1'
const EARLIEST = '-2'
const FETCH_WAIT_MS = 500
const ASK_COUNT_MAX = 10
const REACHABLE_MAX_MS = 2_000
/** As Java's consumer. An answer of 1 MB, the largest batch that brokers take by default, needs a line of 35 kB/s. */
export const FETCH_MAX_MS = 30_000

/**
 * Connects on the first request, and again on the next one after any error.
 *
 * @param answerMaxMs time after which a request without an answer fails; 10 s by default
 */
export function createBrokers(
  connection: KafkaConnection,
  clientId: string,
  log: Logger,
  answerMaxMs?: number,
) {
  const cluster = new Cluster(connection, clientId, log, answerMaxMs)

  return {
    describe: () => cluster.describe(),
    /** The ends of every partition of these topics that has a leader, by `topic/partition`; none for a missing topic. */
    readEnds: (topics: readonly string[], isolationLevel: IsolationLevel) =>
      readEnds(cluster, topics, isolationLevel),
    /** The same, without partitions whose leaders do not answer within 2 s. Rejects if none does. */
    readReachableEnds: (topics: readonly string[], isolationLevel: IsolationLevel) =>
      readEnds(cluster, topics, isolationLevel, REACHABLE_MAX_MS),
    /** The first offset with a message at or after this time in ms since 1970, by `topic/partition`. */
    firstSince: async (
      partitions: readonly TopicPartition[],
      timestampMs: number,
      isolationLevel: IsolationLevel,
    ) => {
      await cluster.topics([...new Set(partitions.map(({ topic }) => topic))])
      return listOffsets(cluster, partitions, String(timestampMs), isolationLevel)
    },
    /** The members of a group: see `describeGroup`. */
    listMembers: async (groupId: string): Promise<readonly GroupMember[]> =>
      cluster.ask(await cluster.findCoordinator(groupId), (broker) => describeGroup(broker, groupId)),
    /** The offsets that a group has committed: see `readCommitted`. */
    readCommitted: (groupId: string, topics: readonly string[]) => readCommitted(cluster, groupId, topics),
    /** Commits offsets of a group that has no members. Rejects if it has one. */
    commitOffsets: async (groupId: string, offsets: readonly NextOffset[], database: DatabaseName) => {
      const nobody = { groupId, groupGenerationId: -1, memberId: '' }
      const request = { ...nobody, topics: encodeOffsets(offsets, database) }
      await cluster.ask(await cluster.findCoordinator(groupId), (broker) => broker.offsetCommit(request))
    },
    /** Rejects if this user may not join the group. Does not join: the broker checks the right before the member. */
    requireGroupRight: async (groupId: string) => {
      const coordinator = await cluster.findCoordinator(groupId)
      const heartbeat = { groupId, groupGenerationId: 0, memberId: 'nobody' }
      await cluster
        .ask(coordinator, (broker) => broker.heartbeat(heartbeat))
        .catch((error) => {
          if (!['UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION'].includes(errorType(error) ?? '')) throw error
        })
    },
    /** Fetches at most `bytesMax` bytes from this offset on, or one whole batch. */
    fetch: createFetch(cluster),
    /** The reason, by the last metadata, why nothing of a partition can be fetched, or null. */
    unservedReason: (partition: TopicPartition) => cluster.unservedReason(partition),
    /** Topics and partitions that the last metadata did not serve, by `topic` or `topic/partition`. */
    listUnserved: (topics: readonly string[]) => cluster.listUnserved(topics),
    close: async () => cluster.close(),
  }
}

type FetchRange = TopicPartition & { readonly from: bigint; readonly bytesMax: number }

/** @param reachableMaxMs leaves out the partitions whose leaders do not answer within this time */
async function readEnds(
  cluster: Cluster,
  topics: readonly string[],
  isolationLevel: IsolationLevel,
  reachableMaxMs?: number,
): Promise<ReadonlyMap<string, PartitionEnds>> {
  const found = await cluster.topics(topics)
  const partitions = topics.flatMap((topic) =>
    [...(found.get(topic)?.leaders ?? [])].flatMap(([partition, leader]) =>
      leader < 0 ? [] : [{ topic, partition }],
    ),
  )
  return listEnds(cluster, partitions, isolationLevel, reachableMaxMs)
}

async function listEnds(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  isolationLevel: IsolationLevel,
  reachableMaxMs?: number,
): Promise<ReadonlyMap<string, PartitionEnds>> {
  const [earliest, ends] = await Promise.all([
    listOffsets(cluster, partitions, EARLIEST, isolationLevel, reachableMaxMs),
    listOffsets(cluster, partitions, END, isolationLevel, reachableMaxMs),
  ])
  return new Map(
    partitions.flatMap((partition) => {
      const key = partitionKey(partition)
      const end = ends.get(key)
      return end === undefined ? [] : [[key, { ...partition, end, earliest: earliest.get(key) ?? 0n }]]
    }),
  )
}

/** Rejects if no broker leads the partition, or most brokers name another leader than the one that gives these ends. */
export async function readPartitionEnds(cluster: Cluster, partition: TopicPartition): Promise<Ends> {
  const key = partitionKey(partition)
  await cluster.topics([partition.topic])
  const leader = cluster.leaderOf(partition) ?? -1
  if (leader < 0) throw new Error(`no broker leads ${key}`)
  const ends = (await listEnds(cluster, [partition], READ_COMMITTED)).get(key)
  if (ends === undefined) throw new Error(`the leader of ${key} gives no ends`)
  await cluster.requireAgreedLeader(partition, leader)
  return ends
}

async function listOffsets(
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  timestamp: string,
  isolationLevel: IsolationLevel,
  reachableMaxMs?: number,
): Promise<ReadonlyMap<string, bigint>> {
  const byLeader = Map.groupBy(partitions, (partition) => requireLeader(cluster, partition))
  const responses = [...byLeader].map(async ([nodeId, ofLeader]) => {
    if (nodeId < 0) return []
    const byTopic = Map.groupBy(ofLeader, ({ topic }) => topic)
    const topics = [...byTopic].map(([topic, ofTopic]) => ({
      topic,
      partitions: ofTopic.map(({ partition }) => ({ partition, timestamp })),
    }))
    const request = { isolationLevel, topics }
    const answer = cluster.ask(nodeId, (broker) => broker.listOffsets(request), reachableMaxMs)
    return (await answer.catch((error) => failStale(cluster, error))).responses
  })
  const answered = reachableMaxMs === undefined ? Promise.all(responses) : listFulfilled(responses)
  const found = (await answered)
    .flat()
    .flatMap(({ topic, partitions: ofTopic }) =>
      ofTopic.map(({ partition, offset }) => [partitionKey({ topic, partition }), BigInt(offset)] as const),
    )
  return new Map(found.filter(([, offset]) => offset >= 0n))
}

/** The results of those that do not fail. Rejects with the first error if all fail. */
async function listFulfilled<T>(promises: readonly Promise<T>[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(promises)
  const fulfilled = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failed = settled.find((result) => result.status === 'rejected')
  if (fulfilled.length === 0 && failed !== undefined) throw failed.reason
  return fulfilled
}

function requireLeader(cluster: Pick<Cluster, 'leaderOf'>, partition: TopicPartition): number {
  const leader = cluster.leaderOf(partition)
  if (leader === undefined)
    throw new Error(`the broker has no partition ${partition.partition} of topic ${partition.topic}`)
  return leader
}

/** The next request then finds the new leader. */
function failStale(cluster: Cluster, error: unknown): never {
  if (isStaleMetadata(errorType(error))) void cluster.refresh().catch(() => {})
  throw error
}

/** @internal Fetches one at a time from each broker, see `fetchFrom`: a broker that stands still holds up no other. */
export function createFetch(cluster: Pick<Cluster, 'ask' | 'leaderOf' | 'refresh' | 'topics'>) {
  const last = new Map<number, Promise<unknown>>()
  return async (
    { topic, partition, from, bytesMax }: FetchRange,
    isolationLevel: IsolationLevel,
  ): Promise<FetchedBytes> => {
    await cluster.topics([topic])
    const leader = requireLeader(cluster, { topic, partition })
    if (leader < 0) throw new Error(`no broker leads partition ${partition} of topic ${topic}`)
    const request = {
      isolationLevel,
      maxWaitMs: FETCH_WAIT_MS,
      bytesMax,
      partitionBytesMax: bytesMax,
      partitions: [{ topic, partition, from }],
    }
    const ask = async () => {
      const [answer] = await cluster.ask(leader, (broker) => fetchFrom(broker, request), FETCH_MAX_MS)
      return answer
    }
    const next = (last.get(leader) ?? Promise.resolve()).then(() => untilAnswered(ask))
    last.set(
      leader,
      next.catch(() => {}),
    )
    const fetched = await next
    if (isStaleMetadata(fetched.error)) await cluster.refresh()
    return fetched
  }
}

/**
 * @internal Asks again if the broker answers for no partition: a quota limits this client (KIP-219). kafkajs delays the next request for as
 * long as the broker says.
 */
export async function untilAnswered(
  ask: () => Promise<FetchedPartition | undefined>,
): Promise<FetchedPartition> {
  for (let askCount = 0; askCount < ASK_COUNT_MAX; askCount++) {
    const answer = await ask()
    if (answer !== undefined) return answer
  }
  throw new CorrectableError(
    'a quota of the broker limits this client: run it again later, or raise the quota',
  )
}
