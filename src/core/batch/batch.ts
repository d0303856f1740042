import type { Attempt } from '../attempt/attempt.ts'
import type { Pruned } from '../decision/skip-pruned.ts'
import type { LoggedRow } from '../event/conflict.ts'
import type { Message } from '../event/message.ts'
import type { Fingerprint, TopicPartition } from '../event/position.ts'
import type { RejectedMessage } from '../event/rejected-message.ts'

/** Consecutive messages of one partition, in offset order, at most BATCH_MAX. */
export interface Batch extends TopicPartition {
  readonly messages: readonly Message[]
  /** The checkpoint believed to be in force. If another one is, another consumer took over. */
  readonly expectedCheckpoint: bigint
  /** The last offset that the batch processes, which becomes the checkpoint. Its message may be aborted or missing. */
  readonly lastOffset: bigint
  /** The last message at or before `lastOffset`; null if there is none. */
  readonly lastMessage: Fingerprint | null
}

/** Ids of events of one partition. */
export interface PartitionEvents extends TopicPartition {
  readonly eventIds: readonly string[]
}

/** What the log has of the events of a partition. */
export interface LoggedEvents {
  /** By event id. */
  readonly rows: ReadonlyMap<string, LoggedRow>
  /** Prunings that may have removed rows. */
  readonly pruned: readonly Pruned[]
}

export type FindLogged = (events: PartitionEvents) => Promise<LoggedEvents>

export type CommitResult =
  | {
      readonly kind: 'committed'
      /** The new checkpoint, lower than the batch's `lastOffset` if the batch was cut. */
      readonly lastOffset: bigint
      readonly inserted: readonly Attempt[]
      readonly rejected: readonly RejectedMessage[]
      readonly tombstoneCount: number
    }
  /** Another consumer moved the checkpoint: nothing was written or sent. */
  | { readonly kind: 'moved'; readonly checkpoint: bigint }

export type Dispatch = (batch: Batch) => Promise<CommitResult>
