interface BlockKind {
  readonly remedy: string
  /** `rejected skip` may pass over the next record batch. */
  readonly isSkippable?: true
  /** The next record batch has a sound header, from which its end follows. */
  readonly isLengthTrusted?: true
}

function kinds<Reason extends string>(byReason: Readonly<Record<Reason, BlockKind>>) {
  return byReason
}

/** Reasons why a partition is blocked. The reason is the metric's label. */
export const BLOCK_REASONS = kinds({
  damaged: {
    remedy: 'its next record batch is damaged: restore it, or go past it with `rejected skip`',
    isSkippable: true,
  },
  undecodable: {
    remedy: 'its next record batch cannot be decoded: go past it with `rejected skip`',
    isSkippable: true,
    isLengthTrusted: true,
  },
  'too-large': {
    remedy: 'its next record batch is larger than 256 MiB once decompressed: go past it with `rejected skip`',
    isSkippable: true,
    isLengthTrusted: true,
  },
  'no-rights': { remedy: 'this user may not read the topic: grant it READ and DESCRIBE' },
  missing: {
    remedy: 'its topic does not exist, or this user may not see it: create it, or grant READ and DESCRIBE',
  },
  'no-leader': { remedy: 'no broker leads it: start a broker that has its replicas' },
  'no-answer': {
    remedy:
      'the broker that leads it does not answer: start it, or repair the network between it and this process',
  },
  'broker-error': { remedy: 'the broker refuses to serve it: read the log of its leader' },
  locked: {
    remedy: 'another transaction holds the lock of its checkpoint: end that transaction',
  },
  'not-committed': { remedy: 'its next batch cannot be committed: the log has the cause' },
  held: { remedy: 'people hold its topic: once the cause is fixed, end the hold with the command `resume`' },
  stuck: {
    remedy: 'its next batch has waited or run for over a minute: find what it waits for, or restart',
  },
})

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
