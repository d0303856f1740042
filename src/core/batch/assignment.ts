/** What this process owns as a member of the consumer group. */
export interface Assignment {
  /** Partition numbers by topic. */
  readonly partitions: Readonly<Record<string, readonly number[]>>
  /** Whether it is this member that deals out the partitions. */
  readonly isLeader: boolean
}
