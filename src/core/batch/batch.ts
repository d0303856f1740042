import type { Attempt } from '../attempt/attempt.ts'
import type { Message } from '../event/message.ts'
import type { Rejection } from '../event/rejection.ts'
import type { Fingerprint } from './checkpoint.ts'
import type { TopicPartition } from './topic-partition.ts'

/** A run of messages of one partition, in offset order, at most BATCH_MAX of them. */
export interface Batch extends TopicPartition {
  readonly messages: readonly Message[]
  /** The checkpoint that we believe in force; anything else means that another consumer took over. */
  readonly expectedCheckpoint: bigint
  /** The checkpoint once the batch is committed. */
  readonly nextOffset: bigint
  /** The last message at or before it; null where there was none. */
  readonly lastMessage: Fingerprint | null
  /** The fingerprint of its message at this offset, for when the batch is cut there. */
  readonly fingerprintAt?: (offset: bigint) => Fingerprint
}

/** A message that is not a valid event, and why. */
export interface RejectedMessage {
  readonly message: Message
  readonly rejection: Rejection
}

export type CommitResult =
  | {
      readonly kind: 'committed'
      /** The checkpoint now: less than `nextOffset` of the batch where it was cut. */
      readonly nextOffset: bigint
      readonly inserted: readonly Attempt[]
      readonly rejected: readonly RejectedMessage[]
    }
  /** Another consumer moved the checkpoint: nothing was written, nothing sent. */
  | { readonly kind: 'moved'; readonly checkpoint: bigint }

/** Takes one batch through the pipeline. */
export type Dispatch = (batch: Batch) => Promise<CommitResult>
