/** Reasons why a partition is blocked, with remedies. The reason is the metric's label. */
export const BLOCK_REASONS = {
  damaged: 'its next record batch is damaged: restore it, or go past it with `rejected skip`',
  undecodable: 'its next record batch cannot be decoded: go past it with `rejected skip`',
  'too-large':
    'its next record batch is larger than 256 MiB once decompressed: go past it with `rejected skip`',
  'no-rights': 'this user may not read the topic: grant it READ and DESCRIBE',
  missing: 'its topic does not exist, or this user may not see it: create it, or grant READ and DESCRIBE',
  'no-leader': 'no broker leads it: start a broker that has its replicas',
  'broker-error': 'the broker refuses to serve it: read the log of its leader',
  locked: 'another session locks its checkpoint: end that transaction (pg_stat_activity, pg_locks)',
  'not-committed': 'its next batch cannot be committed: the log says why',
  stuck: 'its next batch has been running for over a minute: find what it waits for, or restart',
} as const

export type BlockReason = keyof typeof BLOCK_REASONS

/** A blocked partition. The service retries it, with backoff, until it succeeds. */
export interface Blocked {
  readonly topic: string
  /** 0, which every topic has, if the topic is missing. */
  readonly partition: number
  readonly reason: BlockReason
  /** The first unprocessed offset; null if the topic is missing. */
  readonly offset: bigint | null
  readonly sinceMs: number
  readonly detail: string
}
