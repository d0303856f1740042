import {
  type Assignment,
  type Ends,
  listPartitions,
  partitionKey,
  type TopicPartition,
} from '../decide/event/position.ts'
import type { Backlog, FailedRows, PartitionLag } from '../model/backlog.ts'
import { share } from '../time/share.ts'
import { withTimeout } from '../time/with-timeout.ts'

export interface BacklogSources {
  /** Time at which the oldest fetched and unprocessed message was written, in ms since 1970; null if there is none. */
  readonly oldestMs: (topic: string, partition: number) => number | null
  /** Null: this process is not a member of the consumer group. */
  readonly assignment: () => Assignment | null
  /** The ends of every partition, by `topic/partition`. Rejects if the broker does not answer. */
  readonly ends: () => Promise<ReadonlyMap<string, TopicPartition & Ends>>
  /** Partitions that any member of the group reads, as `topic/partition`. */
  readonly ownedByGroup: () => Promise<ReadonlySet<string>>
  /** The last processed offset of each partition that has one. */
  readonly checkpoints: () => Promise<readonly (TopicPartition & { readonly offset: bigint })[]>
  readonly failedRows: () => Promise<FailedRows>
  readonly wallMs: () => number
  readonly monotonicMs: () => number
}

/** Well below Prometheus's default timeout of 10 s. */
const DEADLINE_MS = 3_000
/**
 * Failed rows change once per retry interval, and there may be very many: counting them may take as long as a statement may. A scrape
 * that does not wait for it has none of them.
 */
const FAILED_ROWS_SHARED = { validMs: 60_000, deadlineMs: 15_000 }

/**
 * Compares the database's checkpoints with the ends of the partitions. Asks both each time, even if nothing is being consumed,
 * and waits at most 3 s for each. While the database does not answer nothing can be processed, so the last known checkpoints stay
 * valid.
 */
export function createBacklog(sources: BacklogSources): () => Promise<Backlog> {
  const checkpoints = new Map<string, bigint>()
  /** When the next offset last changed, by `monotonicMs`, for partitions whose messages are not fetched. */
  const unmovedSince = new Map<string, { readonly next: bigint; readonly sinceMs: number }>()
  const failedRows = share(() => sources.failedRows(), FAILED_ROWS_SHARED, sources.monotonicMs)

  const readDatabase = inTime(async () => {
    for (const { topic, partition, offset } of await sources.checkpoints()) {
      checkpoints.set(partitionKey({ topic, partition }), offset)
    }
    return true
  }, sources.monotonicMs)
  const readFailedRows = inTime(failedRows, sources.monotonicMs)

  const readBroker = inTime(async () => {
    const ends = await sources.ends()
    const owned = new Set(listPartitions(sources.assignment() ?? {}).map(partitionKey))
    const ofOthers = await ofOtherMembers([...ends.keys()].filter((key) => !owned.has(key)))
    const waitingByPartition = new Map<string, number>()
    const waitingByTopic = new Map<string, number>()
    const count = (key: string, found: TopicPartition & Ends) => {
      const next = nextOffset(checkpoints.get(key) ?? -1n, found)
      const messageCount = Number(found.end - next)
      waitingByPartition.set(key, messageCount)
      waitingByTopic.set(found.topic, (waitingByTopic.get(found.topic) ?? 0) + messageCount)
      return { key, ...found, next, messageCount }
    }
    const partitions = [...ends]
      .map((partition) => count(...partition))
      .filter(({ key }) => !ofOthers.has(key))
      .map(({ key, topic, partition, next, messageCount }): PartitionLag => {
        const unmoved = unmovedSince.get(key)
        const sinceMs = messageCount > 0 && unmoved?.next === next ? unmoved.sinceMs : sources.monotonicMs()
        if (messageCount > 0) unmovedSince.set(key, { next, sinceMs })
        else unmovedSince.delete(key)
        const oldestMs = messageCount > 0 ? sources.oldestMs(topic, partition) : null
        const ageMs = oldestMs === null ? sources.monotonicMs() - sinceMs : sources.wallMs() - oldestMs
        return { topic, partition, messageCount, oldestAgeS: Math.max(0, ageMs) / 1_000 }
      })
    return { partitions, waitingByPartition, waitingByTopic }
  }, sources.monotonicMs)

  /** Every process reports unowned partitions: the leader of the group may not consume their topic. */
  async function ofOtherMembers(others: readonly string[]): Promise<ReadonlySet<string>> {
    if (others.length === 0) return new Set()
    // Without the right to see the group, or a coordinator, every process reports them, too.
    const ownedByGroup = await sources.ownedByGroup().catch(() => new Set())
    return new Set(others.filter((key) => ownedByGroup.has(key)))
  }

  return async () => {
    const [isReached, rows] = await Promise.all([readDatabase(), readFailedRows()])
    const found = await readBroker()
    const assignment = sources.assignment()
    return {
      assignedCount: assignment === null ? null : Object.values(assignment).flat().length,
      brokerReachable: found !== null,
      databaseReachable: isReached !== null,
      partitions: found?.partitions ?? [],
      waitingByPartition: found?.waitingByPartition ?? new Map(),
      waitingByTopic: found?.waitingByTopic ?? new Map(),
      failedRows: rows,
    }
  }
}

/** The next offset to consume. Messages that retention removed do not count. */
function nextOffset(checkpoint: bigint, { earliest, end }: Ends): bigint {
  const next = checkpoint + 1n
  // Before the first message, or beyond the end of a recreated topic.
  return next < earliest || next > end ? earliest : next
}

/** Resolves to null if the read fails or takes too long. */
function inTime<T>(read: () => Promise<T>, monotonicMs: () => number): () => Promise<T | null> {
  const shared = share(read, { validMs: 0, deadlineMs: DEADLINE_MS }, monotonicMs)
  return () =>
    withTimeout(
      DEADLINE_MS,
      shared().catch(() => null),
      () => null,
    )
}
