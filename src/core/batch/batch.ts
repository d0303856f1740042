import type { Attempt } from '../attempt/attempt.ts'
import type { Message } from '../event/message.ts'
import type { Rejection } from '../event/rejection.ts'
import type { Fingerprint, TopicPartition } from './position.ts'

/** A run of messages of one partition, in offset order, at most BATCH_MAX of them. */
export interface Batch extends TopicPartition {
  readonly messages: readonly Message[]
  /** The checkpoint that we believe in force. If another is in force, another consumer took over. */
  readonly expectedCheckpoint: bigint
  /** The last offset that the batch processes, which becomes the checkpoint; its message may be aborted or missing. */
  readonly lastOffset: bigint
  /** The last message at or before `lastOffset`; null where there was none. */
  readonly lastMessage: Fingerprint | null
}

export interface RejectedMessage {
  readonly message: Message
  readonly rejection: Rejection
}

export type CommitResult =
  | {
      readonly kind: 'committed'
      /** The checkpoint now, lower than the batch's `lastOffset` where the batch was cut. */
      readonly lastOffset: bigint
      readonly inserted: readonly Attempt[]
      readonly rejected: readonly RejectedMessage[]
      readonly tombstoneCount: number
    }
  /** Another consumer moved the checkpoint: nothing was written, nothing sent. */
  | { readonly kind: 'moved'; readonly checkpoint: bigint }

export type Dispatch = (batch: Batch) => Promise<CommitResult>
