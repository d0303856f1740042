import type { TopicPartition } from '../decide/event/position.ts'

export interface FailedRows {
  readonly waiting: number
  /** Rows that are too old, or have had all their attempts. */
  readonly givenUp: number
  /** Rows that became too old within the last hour, with attempts left. */
  readonly expired: number
}

export interface PartitionLag extends TopicPartition {
  /** Messages at the broker that the checkpoint does not cover. */
  readonly messageCount: number
  /** Age of the oldest fetched message; if none is fetched, the time since the checkpoint last moved. 0 if there is no message. */
  readonly oldestAgeS: number
}

export interface Backlog {
  /** Null: this process is not a member of the consumer group. */
  readonly assignedCount: number | null
  readonly brokerReachable: boolean
  readonly databaseReachable: boolean
  /** Partitions that this process owns, and unowned ones that it reports. Empty if the broker does not answer. */
  readonly partitions: readonly PartitionLag[]
  /** Messages that no checkpoint covers, by `topic/partition`, for all replicas. */
  readonly waitingByPartition: ReadonlyMap<string, number>
  /** The same, summed by topic. */
  readonly waitingByTopic: ReadonlyMap<string, number>
  /** At most a minute old; null if the database did not answer. */
  readonly failedRows: FailedRows | null
}
