import { partitionKey, type TopicPartition } from '../decide/event/position.ts'
import type { Cluster } from './cluster.ts'

/** A database of the service, as the offsets in Kafka name it. */
export interface DatabaseName {
  /** See migration 0029. */
  readonly id: string
  /** Host, port and name; empty if unknown. */
  readonly place: string
}

/** The offset of a consumer group's next message in a partition. */
export interface NextOffset extends TopicPartition {
  readonly next: bigint
}

/** As the group has committed it to Kafka. */
export interface CommittedOffset extends NextOffset {
  /** The database that has the checkpoint; null if another program or an earlier version committed. */
  readonly database: DatabaseName | null
}

/** A broker keeps at most 4,096 bytes beside an offset. */
const PLACE_LENGTH_MAX = 200

/** @internal The text that Kafka keeps beside each offset; `at` comes last, since a name may hold anything. */
export function encodeDatabase({ id, place }: DatabaseName): string {
  return `database=${id} at=${place.slice(0, PLACE_LENGTH_MAX)}`
}

/** @internal */
export function decodeDatabase(metadata: string | null): DatabaseName | null {
  const [, id, place = ''] = /^database=([\da-f-]{36})(?:.*? at=(.*))?/.exec(metadata ?? '') ?? []
  return id === undefined ? null : { id, place }
}

/** The offsets that the group has committed for the partitions of these topics. Changes nothing. */
export async function readCommitted(
  cluster: Pick<Cluster, 'topics' | 'findCoordinator' | 'ask'>,
  groupId: string,
  topics: readonly string[],
): Promise<readonly CommittedOffset[]> {
  const [found, coordinator] = await Promise.all([cluster.topics(topics), cluster.findCoordinator(groupId)])
  const asked = topics.map((topic) => ({
    topic,
    partitions: [...(found.get(topic)?.leaders.keys() ?? [])].map((partition) => ({ partition })),
  }))
  const request = { groupId, topics: asked.filter(({ partitions }) => partitions.length > 0) }
  const { responses } = await cluster.ask(coordinator, (broker) => broker.offsetFetch(request))
  return responses
    .flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset, metadata }) => ({
        topic,
        partition,
        next: BigInt(offset),
        database: decodeDatabase(metadata),
      })),
    )
    .filter(({ next }) => next >= 0n)
}

/** Offsets by topic, in the form of the protocol. */
export function encodeOffsets(offsets: readonly NextOffset[], database: DatabaseName) {
  const metadata = encodeDatabase(database)
  return [...Map.groupBy(offsets, ({ topic }) => topic)].map(([topic, some]) => ({
    topic,
    partitions: some.map(({ partition, next }) => ({ partition, offset: String(next), metadata })),
  }))
}

/** Each commit to Kafka costs the broker as much as a hundred events; tools that show the lag poll less often. */
const COMMIT_INTERVAL_MS = 1_000

/**
 * Commits offsets to Kafka for tools that show the group's lag, and for `judgeCommitted`. A failure does no harm, since the
 * database decides. All partitions that moved within a second share one request.
 */
export function createOffsetCommits(commit: (offsets: readonly NextOffset[]) => Promise<void>) {
  const waiting = new Map<string, NextOffset>()
  let timer: NodeJS.Timeout | undefined
  let committed = Promise.resolve()

  /** Resolves once all added offsets are committed, or their commit has failed. */
  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const offsets = [...waiting.values()]
    waiting.clear()
    if (offsets.length > 0) committed = committed.then(() => commit(offsets))
    return committed
  }

  return {
    flush,
    add(next: NextOffset): void {
      waiting.set(partitionKey(next), next)
      timer ??= setTimeout(flush, COMMIT_INTERVAL_MS).unref()
    },
  }
}
