import type { Batch } from '../decide/attempt/batch.ts'
import type { Message } from '../decide/event/message.ts'
import type { Checkpoint, Ends, Fingerprint, TopicPartition } from '../decide/event/position.ts'
import type { Inbox } from './inbox.ts'
import { type FetchedMessage, takeFingerprint } from './records/record.ts'
import { compareLast, describeAnother, judgeRecreated } from './recreated-topic.ts'

/** The broker has another message in place of the last processed one, or ends before it. */
export class Recreated extends Error {}

/** Makes batches of the messages fetched after a checkpoint. After a failure the partition creates a new reader. */
export class BatchReader {
  readonly inbox: Inbox
  readonly #name: TopicPartition
  readonly #batchCountMax: number
  /** The last processed message, until it is compared with the broker's at that offset. */
  #uncompared: Fingerprint | null
  /** The batch in process, or the rest of one that was cut. */
  #kept: Batch | null = null
  #isStopped = false

  /** @param lastMessage the last processed message */
  constructor(name: TopicPartition, inbox: Inbox, batchCountMax: number, lastMessage: Fingerprint | null) {
    this.#name = name
    this.inbox = inbox
    this.#batchCountMax = batchCountMax
    this.#uncompared = lastMessage
  }

  /** True if there is no batch to take and no error to throw. */
  get isEmpty(): boolean {
    return this.#kept === null && this.inbox.isEmpty
  }

  /** The first message of the kept batch, or null. */
  get head(): Message | null {
    return this.#kept?.messages[0] ?? null
  }

  /** The next batch, kept until it is settled; null if all fetched messages are processed, or after `stop`. */
  async next(committed: Checkpoint): Promise<Batch | null> {
    if (this.#isStopped) return null
    this.#kept ??= await this.#take(committed)
    return this.#kept
  }

  async #take({ offset: expectedCheckpoint, lastMessage: lastBefore }: Checkpoint): Promise<Batch | null> {
    const processed = this.#uncompared
    const wasNoMessage = processed !== null && this.inbox.beginsWithNoMessageAt(processed.offset)
    const taken = await this.inbox.take(this.#batchCountMax)
    if (taken === null) return null
    this.#uncompared = null
    if (processed !== null) requireSame(processed, wasNoMessage ? 'no message' : taken.messages[0])
    const { lastOffset } = taken
    if (lastOffset <= expectedCheckpoint) return null
    const messages = taken.messages.filter(({ offset }) => offset > expectedCheckpoint)
    const last = messages.at(-1)
    const lastMessage = last === undefined ? lastBefore : takeFingerprint(last)
    return { ...this.#name, messages, expectedCheckpoint, lastOffset, lastMessage }
  }

  /** Keeps the rest of a batch that was cut: only this offset was reached. Returns the new checkpoint. */
  settle(batch: Batch, lastOffset: bigint): Checkpoint {
    const isCut = lastOffset < batch.lastOffset
    const messages = isCut ? batch.messages.filter(({ offset }) => offset > lastOffset) : []
    const last = isCut ? batch.messages.find(({ offset }) => offset === lastOffset) : undefined
    this.#kept = isCut ? { ...batch, messages, expectedCheckpoint: lastOffset } : null
    return { offset: lastOffset, lastMessage: last === undefined ? batch.lastMessage : takeFingerprint(last) }
  }

  /** True once the last processed message was compared with the broker's, or is known to be gone. */
  get isCompared(): boolean {
    return this.#uncompared === null
  }

  /**
   * Judges a partition of which fetches bring nothing: the last processed message is gone and none follows, or the topic was recreated
   * and ends before the checkpoint. Throws `Recreated`.
   */
  compareEnds(committed: Checkpoint, ends: Ends): void {
    const fault = judgeRecreated(committed, ends, null)
    if (fault !== null) throw new Recreated(fault)
    const next = committed.offset + 1n
    const hasNothingAfter = ends.end === next
    const beginsAfter = ends.earliest >= next
    // Otherwise the next fetch brings a message to compare with.
    if (this.inbox.isAnswered && (hasNothingAfter || beginsAfter)) this.#uncompared = null
  }

  /** Accepts and returns nothing more: the batch in process is the last one. */
  stop(): void {
    this.#isStopped = true
    this.inbox.stop()
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Drops what is fetched. */
  close(): void {
    this.stop()
    this.inbox.clear()
  }
}

function requireSame(processed: Fingerprint, first: FetchedMessage | 'no message' | undefined): void {
  const found = first === undefined || first === 'no message' ? (first ?? null) : takeFingerprint(first)
  if (compareLast(processed, found) === 'another') throw new Recreated(describeAnother(processed))
}
