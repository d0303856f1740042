/** The partitions of this member of the consumer group. */
export interface Assignment {
  /** Partition numbers by topic. */
  readonly partitions: Readonly<Record<string, readonly number[]>>
  /** True if this member is the leader, which assigns the partitions. */
  readonly isLeader: boolean
}
