import type { Message } from '../event/message.ts'
import type { Rejection } from '../event/rejection.ts'
import type { Entry } from '../log/compose-entry.ts'
import type { PreferencesByParty } from '../party/preferences.ts'
import type { Fingerprint } from './checkpoint.ts'
import type { TopicPartition } from './topic-partition.ts'

/** A run of messages of one partition, in offset order, at most BATCH_MAX of them. */
export interface Batch extends BatchRange {
  readonly messages: readonly Message[]
  /** Of its message at this offset, for when the batch is cut behind it. Without it the checkpoint keeps none then. */
  readonly fingerprintAt?: (offset: bigint) => Fingerprint
}

interface BatchRange extends TopicPartition {
  /** The checkpoint that we believe in force; anything else means that another consumer took over. */
  readonly heldOffset: bigint
  /** The checkpoint once the batch is committed. */
  readonly nextOffset: bigint
  /** The last message at or before it; null where there was none. */
  readonly lastMessage: Fingerprint | null
}

/** A message that is not a valid event, and why. */
export interface RejectedMessage {
  readonly message: Message
  readonly rejection: Rejection
}

interface BatchContent extends BatchRange {
  readonly ruleTableRevision: string
  /** Of the map by which its messages were read. */
  readonly envelopeMapRevision: string
  readonly rejected: readonly RejectedMessage[]
  /** The messages of the batch that are this event, the one behind its entry first, in case the database refuses its row. */
  readonly messagesOf: (eventId: string) => readonly Message[]
}

/**
 * A batch that lacks nothing but its parties' preferences. They are read in the transaction that writes it, so that an
 * opt-out which was answered before is heeded, however long the look-ups took.
 */
export interface PreparedBatch extends BatchContent {
  readonly partyLocators: readonly string[]
  /** Pure. Returns the rows ordered by event id, each event id once. */
  readonly decide: (preferences: PreferencesByParty) => readonly Entry[]
}

/** A batch whose events are decided, ready to be written. */
export interface DecidedBatch extends BatchContent {
  /** Ordered by event id, each event id once. */
  readonly entries: readonly Entry[]
}

export type CommitResult =
  | {
      readonly kind: 'committed'
      /** The checkpoint now: less than was asked for where the batch was cut. */
      readonly nextOffset: bigint
      readonly inserted: readonly Entry[]
      readonly rejected: readonly RejectedMessage[]
    }
  /** Another consumer moved the checkpoint: nothing was written, nothing sent. */
  | { readonly kind: 'moved'; readonly checkpoint: bigint }

/** Takes one batch through the pipeline. */
export type Dispatch = (batch: Batch) => Promise<CommitResult>
