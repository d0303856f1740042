import type { TopicPartition } from './position.ts'

export interface FailedRows {
  /** Still to be retried. */
  readonly waiting: number
  /** Too old, or tried too often. */
  readonly givenUp: number
}

export interface PartitionLag extends TopicPartition {
  /** Messages that the broker has and the checkpoint does not cover. */
  readonly messageCount: number
  /** Age of the oldest one that is fetched; while none is, how long the checkpoint has stood still. 0 where there is none. */
  readonly oldestAgeS: number
}

export interface Backlog {
  /** Null: this process is no member of the consumer group. */
  readonly assignedCount: number | null
  readonly brokerReachable: boolean
  readonly databaseReachable: boolean
  /** Partitions that this process owns, and those that it reports because nobody owns them; none without the broker. */
  readonly partitions: readonly PartitionLag[]
  /** A minute old at most; null if the database did not answer. */
  readonly failedRows: FailedRows | null
}
