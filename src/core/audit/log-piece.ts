import type { TopicPartition } from '../batch/topic-partition.ts'
import type { Message } from '../event/message.ts'

/** Offsets of a partition, without `end`. */
export interface OffsetRange extends TopicPartition {
  readonly from: bigint
  readonly end: bigint
}

/** The end of a message's transaction; `open` where the log holds none. */
export type Fate = 'committed' | 'aborted' | 'open'

/** Part of a partition's log, in the order of the offsets. */
export type LogPiece =
  | { readonly kind: 'messages'; readonly fate: Fate; readonly messages: readonly Message[] }
  /** Record batches that cannot be read, and their offsets, `last` included. */
  | { readonly kind: 'unreadable'; readonly first: bigint; readonly last: bigint; readonly detail: string }
  /** Offsets that retention removed, `last` included. */
  | { readonly kind: 'removed'; readonly first: bigint; readonly last: bigint }
