import { type Assignment, listPartitions, partitionKey } from '../decide/event/position.ts'
import type { Fetcher } from './fetcher.ts'
import type { CommittedOffset } from './group-offsets.ts'
import { PartitionConsumer, type PartitionNeeds } from './partition.ts'

/** The partitions that this member of the group owns now. */
export class AssignedPartitions {
  readonly #needs: PartitionNeeds
  readonly #fetcher: Pick<Fetcher, 'setPartitions'>
  readonly #consumers = new Map<string, PartitionConsumer>()
  /** The last consumer of each partition that was ever owned. */
  readonly #latest = new Map<string, PartitionConsumer>()

  constructor(needs: PartitionNeeds, fetcher: Pick<Fetcher, 'setPartitions'>) {
    this.#needs = needs
    this.#fetcher = fetcher
  }

  /**
   * Consumes these partitions. Restarts those that stay, because other members may have moved their checkpoints.
   *
   * @param committed the group's committed offsets, as far as they are known
   */
  assign(partitions: Assignment, committed: readonly CommittedOffset[]): void {
    this.end()
    const committedByKey = new Map(committed.map((offset) => [partitionKey(offset), offset]))
    for (const name of listPartitions(partitions)) {
      const key = partitionKey(name)
      const before = this.#latest.get(key) ?? null
      const consumer = new PartitionConsumer(name, this.#needs, committedByKey.get(key) ?? null, before)
      this.#consumers.set(key, consumer)
      this.#latest.set(key, consumer)
    }
    this.#fetcher.setPartitions(this.#consumers.values())
  }

  end(): void {
    for (const consumer of this.#consumers.values()) consumer.end()
    this.#consumers.clear()
    this.#fetcher.setPartitions([])
  }

  /** Resolves when no batch of any assignment is running. */
  async finished(): Promise<void> {
    await Promise.all([...this.#latest.values()].map(({ finished }) => finished))
  }

  /** Also partitions of earlier assignments whose last batch is stuck. */
  blocked() {
    return [...this.#latest.values()].flatMap((consumer) => consumer.blocked() ?? [])
  }

  /** Time of the oldest fetched and unprocessed message, in ms since 1970, or null. */
  oldestMs(topic: string, partition: number): number | null {
    return this.#consumers.get(partitionKey({ topic, partition }))?.oldestMs() ?? null
  }

  /** Rewinds partitions whose last commits the database has lost. A quiet one would not notice: it commits nothing. */
  async rewindLost(topics: readonly string[]): Promise<void> {
    // Read before the database is queried, so that a concurrent commit does not count.
    const before = new Map([...this.#consumers].map(([key, consumer]) => [key, consumer.checkpoint]))
    const checkpoints = new Map(
      (await this.#needs.listCheckpoints(topics)).map((found) => [partitionKey(found), found.offset]),
    )
    for (const [key, consumer] of this.#consumers) {
      const checkpoint = checkpoints.get(key) ?? -1n
      if (checkpoint < (before.get(key) ?? -1n) && checkpoint < consumer.checkpoint) consumer.rewind()
    }
  }
}
