import type { PrunedPart } from '../decision/skip-pruned.ts'
import type { LoggedRow } from '../event/conflict.ts'
import type { Message } from '../event/message.ts'
import type { Fingerprint, TopicPartition } from '../event/position.ts'
import type { RejectedMessage } from '../event/rejected-message.ts'
import type { Attempt } from './attempt.ts'

/** Consecutive messages of one partition, in offset order, at most BATCH_MAX. */
export interface Batch extends TopicPartition {
  readonly messages: readonly Message[]
  /** The checkpoint that this consumer last read or wrote. If the database has another one, another consumer took over. */
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

/** The log rows of a partition's events. */
export interface LoggedEvents {
  /** By event id. */
  readonly rows: ReadonlyMap<string, LoggedRow>
  /** Prunings that may have deleted rows. */
  readonly pruned: readonly PrunedPart[]
}

/** Returns the log rows and prunings of each partition, in order. */
export type FindLogged = (events: readonly PartitionEvents[]) => Promise<readonly LoggedEvents[]>

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

/** A partition with messages to process. */
export interface WaitingPartition {
  /** Bytes fetched and not yet processed. */
  readonly bytes: number
  /** It must not share a transaction. */
  readonly isAlone: boolean
  /** Takes the next batch; null if none is left. */
  readonly take: () => Promise<Batch | null>
}

export type BatchResult = CommitResult & {
  /** Its last transaction was slow. */
  readonly wasSlow: boolean
}

export interface ProcessedBatch {
  readonly batch: Batch
  readonly result: BatchResult
}

/** Takes the next batch of a partition when a group starts with it, and commits it; null if there was none. */
export type ProcessNext = (partition: WaitingPartition) => Promise<ProcessedBatch | null>

/** A batch of the group that starts. */
export interface GroupedBatch extends Pick<WaitingPartition, 'isAlone'> {
  readonly batch: Batch
}

/** Commits batches of different partitions. Returns a result for each, in order. */
export type Dispatch = (group: readonly GroupedBatch[]) => readonly Promise<BatchResult>[]
