import type { TopicPartition } from '../batch/topic-partition.ts'
import type { Message } from '../event/message.ts'

/** Of a partition: from the first offset to before the end. */
export interface OffsetRange extends TopicPartition {
  readonly from: bigint
  readonly end: bigint
}

/** What the end of its transaction says of a message. `open`: there is no end of it yet, or none that can be read. */
export type Fate = 'committed' | 'aborted' | 'open'

/** What the log of a partition holds, piece by piece in the order of the offsets. */
export type LogPiece =
  | { readonly kind: 'messages'; readonly fate: Fate; readonly messages: readonly Message[] }
  /** One record that is no message: the end of a transaction, for example. */
  | { readonly kind: 'control'; readonly offset: bigint }
  /** Record batches that cannot be read, and the offsets they take up. */
  | { readonly kind: 'unreadable'; readonly first: bigint; readonly last: bigint; readonly detail: string }
  /** Messages of an aborted transaction that nobody can unpack. */
  | { readonly kind: 'aborted-rest'; readonly first: bigint; readonly last: bigint }
  /** Offsets that retention removed while the partition was read. */
  | { readonly kind: 'removed'; readonly first: bigint; readonly last: bigint }
