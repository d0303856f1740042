import type { EachBatchPayload } from 'kafkajs'
import type { Assignment } from '../core/batch/assignment.ts'
import type { Head } from '../core/batch/head.ts'
import type { Held } from '../core/batch/hold.ts'
import { fetchedBytesOf } from './mends/fetch-response.ts'
import { PartitionConsumer, type PartitionNeeds } from './partition.ts'

export interface AssignedPartitionsNeeds extends Omit<PartitionNeeds, 'controls'> {
  readonly controlsOf: (topic: string, partition: number) => PartitionNeeds['controls']
  /** The last consumer of each partition, by `topic/partition`; of earlier memberships, too. */
  readonly latest: Map<string, PartitionConsumer>
}

/** The partitions that one membership in the group owns, each consumed by itself. */
export function createAssignedPartitions(needs: AssignedPartitionsNeeds) {
  let consumers = new Map<string, PartitionConsumer>()

  /** None of them is ours any more. */
  function end(): void {
    for (const consumer of consumers.values()) consumer.end()
    consumers = new Map()
  }

  function start(topic: string, partition: number): void {
    const controls = needs.controlsOf(topic, partition)
    // Until its checkpoint says from where; kafkajs keeps partitions paused over a join, too.
    controls.pause()
    const key = `${topic}/${partition}`
    const before = needs.latest.get(key) ?? null
    const consumer = new PartitionConsumer(topic, partition, { ...needs, controls }, before)
    consumers.set(key, consumer)
    needs.latest.set(key, consumer)
    void consumer.run()
  }

  return {
    end,
    /** The group was joined: others may have moved the checkpoints, so what we knew of them is forgotten. */
    onJoin: (partitions: Assignment['partitions']): void => {
      end()
      for (const [topic, numbers] of Object.entries(partitions)) {
        for (const partition of numbers) start(topic, partition)
      }
    },
    /** A quiet partition would not notice that the database has lost its last commits: it has nothing to commit. */
    compareCheckpoints: async (topics: readonly string[]): Promise<void> => {
      // Before the database is asked, so that what is committed meanwhile does not count.
      const committed = new Map([...consumers].map(([key, consumer]) => [key, consumer.committed]))
      const found = await needs.listCheckpoints(topics)
      const checkpoints = new Map(
        found.map(({ topic, partition, offset }) => [`${topic}/${partition}`, offset]),
      )
      for (const [key, consumer] of consumers) {
        const checkpoint = checkpoints.get(key) ?? -1n
        if (checkpoint < (committed.get(key) ?? -1n) && checkpoint < consumer.committed)
          consumer.rewind(checkpoint)
      }
    },
    /** kafkajs's `eachBatch`: queues what was fetched, and does not wait for its processing. Never rejects. */
    eachBatch: async ({ batch, resolveOffset }: EachBatchPayload): Promise<void> => {
      const { topic, partition } = batch
      const fetched = fetchedBytesOf(batch)
      // kafkajs delivers what it had asked for before the group was joined again.
      const consumer = consumers.get(`${topic}/${partition}`)
      if (fetched === null || consumer === undefined) return
      const { fetchedOffset } = batch as typeof batch & { fetchedOffset: string | { toString(): string } }
      const resolve = (offset: bigint) => resolveOffset(String(offset))
      try {
        consumer.offer({ ...fetched, from: BigInt(String(fetchedOffset)), resolve })
      } catch (error) {
        // In the middle of a join kafkajs may not know the partition any more. It begins anew after that.
        needs.log.warn({ err: error, topic, partition }, 'a fetch could not be queued')
      }
    },
    /** Also those that are not ours any more, while a batch of theirs is stuck. */
    held: (): Held[] => [...needs.latest.values()].flatMap((consumer) => consumer.held() ?? []),
    headOf: (topic: string, partition: number): Head | null =>
      consumers.get(`${topic}/${partition}`)?.head() ?? null,
  }
}

/** Resolves when nothing of these is under way. */
export async function allFinished(consumers: ReadonlyMap<string, PartitionConsumer>): Promise<void> {
  await Promise.all([...consumers.values()].map(({ finished }) => finished))
}
