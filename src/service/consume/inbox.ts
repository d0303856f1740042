import { messageBytes } from '../decide/event/message.ts'
import type { BlockReason } from '../model/block-reasons.ts'
import { Condition } from './condition-variable.ts'
import { brokerReason, type FetchedBytes } from './fetch-request.ts'
import { afterDamage } from './records/batches.ts'
import type { FetchedMessage } from './records/record.ts'
import { findRecordSet, holdsNoMessageAt, type RecordSet, readRecordSet } from './records/record-set.ts'
import { withoutEnd } from './records/unreadable.ts'

/** The broker does not serve the partition. `code` is Kafka's name of the error. */
export class BrokerError extends Error {
  readonly code: string
  readonly reason: BlockReason
  readonly from: bigint

  constructor(code: string, from: bigint) {
    super(code)
    this.code = code
    this.reason = brokerReason(code)
    this.from = from
  }
}

/** Queued bytes at which a partition is not fetched any more, until half of them are processed. */
const INBOX_BYTES_MAX = 4 * 1024 * 1024
/** Limits one transaction: a compressed record batch of 1 MB can contain hundreds of times as much. */
const BATCH_BYTES_MAX = 8 * 1024 * 1024

/**
 * Counts the bytes in the inboxes of all partitions. Above the limit, only partitions with an empty inbox are fetched, so that
 * slow partitions do not block the others. At four times the limit, none is.
 */
export type Budget = ReturnType<typeof createBudget>

/** @param fetchable notified when bytes are processed */
export function createBudget(bytesMax: number, fetchable: Condition) {
  let usedBytes = 0
  return {
    /** @param ownBytes bytes of the partition that asks */
    isFull: (ownBytes: number): boolean => usedBytes >= (ownBytes > 0 ? bytesMax : 4 * bytesMax),
    /** @param bytes negative if taken from an inbox */
    add(bytes: number): void {
      usedBytes += bytes
      if (bytes < 0) fetchable.notify()
    },
  }
}

/**
 * The fetched and unprocessed record sets of one partition, in order and without a gap; records are decoded when they are
 * taken. It accepts only the fetch that begins where the previous one ended, whichever broker answers.
 */
export class Inbox {
  readonly #budget: Budget
  /** Notified when there may be something to take, or nothing will come any more. */
  readonly changed = new Condition()
  /** The offset at which the next fetch must begin; null while none is accepted. */
  #expected: bigint | null
  #isFull = false
  #sets: RecordSet[] = []
  #bytes = 0
  #decoding: ReturnType<typeof readRecordSet> | null = null
  #ready: readonly FetchedMessage[] = []
  #readyIndex = 0
  #isAnswered = false
  /** Thrown once everything before it is taken. */
  #error: Error | null = null

  /** @param from the offset at which the first fetch must begin */
  constructor(budget: Budget, from: bigint) {
    this.#budget = budget
    this.#expected = from
  }

  /** True if there is nothing to take and no error to throw. */
  get isEmpty(): boolean {
    return this.#readyIndex >= this.#ready.length && this.#sets.length === 0 && this.#error === null
  }

  /** True once the broker has answered a fetch. */
  get isAnswered(): boolean {
    return this.#isAnswered
  }

  /** Fetched bytes that are not yet all taken. */
  get bytes(): number {
    return this.#bytes
  }

  get oldestMs(): number | null {
    const timestampMs = this.#ready[this.#readyIndex]?.timestampMs ?? this.#sets[0]?.firstTimestampMs
    return timestampMs === undefined ? null : Number(timestampMs)
  }

  /** The offset to fetch from; null while nothing is to be fetched. */
  get wanted(): bigint | null {
    return this.#isFull || this.#budget.isFull(this.#bytes) ? null : this.#expected
  }

  /** Accepts nothing more. */
  stop(): void {
    this.#expected = null
    this.changed.notify()
  }

  /** Drops everything. */
  clear(): void {
    // Releases the decompression stream.
    void this.#decoding?.return(undefined).catch(() => {})
    this.#drop(this.#sets.length)
    this.#error = null
  }

  /** @param from the requested offset */
  offer({ error, bytes, aborted }: FetchedBytes, from: bigint): void {
    // The answer to a request from before a restart, or a second one, from the former leader.
    if (from !== this.#expected) return
    this.#isAnswered = true
    if (error === null && bytes.length === 0) return
    const set = error === null ? findRecordSet(afterDamage(bytes, from), from, aborted) : null
    if (set === null) this.#fail(error === null ? withoutEnd(from) : new BrokerError(error, from))
    else this.#push(set)
    this.changed.notify()
  }

  /** True if the first set begins at this offset with a record that never was a message. Call it before the first `take`. */
  beginsWithNoMessageAt(offset: bigint): boolean {
    const [set] = this.#sets
    return set !== undefined && holdsNoMessageAt(set, offset)
  }

  /**
   * Takes at most this many messages, of about 8 MB, and the offset up to which everything is taken, including aborted messages,
   * markers and gaps; null if there is nothing. Throws the error that stopped the fetches, or `UnreadableBatch`, once everything
   * before it is taken.
   */
  async take(countMax: number): Promise<{ messages: readonly FetchedMessage[]; lastOffset: bigint } | null> {
    const messages: FetchedMessage[] = []
    let lastOffset: bigint | null = null
    for (let size = 0; messages.length < countMax; ) {
      const message = this.#ready[this.#readyIndex]
      if (message !== undefined) {
        size += messageBytes(message)
        if (size > BATCH_BYTES_MAX && messages.length > 0) break
        messages.push(message)
        lastOffset = message.offset
        this.#readyIndex++
        continue
      }
      const [set] = this.#sets
      if (set === undefined) break
      lastOffset = (await this.#decode(set)) ?? lastOffset
    }
    if (lastOffset !== null) return { messages, lastOffset }
    if (this.#error !== null) throw this.#error
    return null
  }

  #push(set: RecordSet): void {
    this.#expected = set.lastOffset + 1n
    this.#sets.push(set)
    this.#count(set.bytes.length)
  }

  /** Keeps the queued sets, since the broker may no longer have it. */
  #fail(error: Error): void {
    this.#error = error
    this.#expected = null
  }

  /** Decodes some messages of the first set. Returns the set's last offset once it is exhausted and dropped, otherwise null. */
  async #decode(set: RecordSet): Promise<bigint | null> {
    this.#decoding ??= readRecordSet(set)
    try {
      const { value, done } = await this.#decoding.next()
      if (done) this.#drop(1)
      else this.#ready = value
      this.#readyIndex = 0
      return done ? set.lastOffset : null
    } catch (error) {
      this.#fail(error as Error)
      // The sets after an unreadable one cannot be processed before it.
      this.#drop(this.#sets.length)
      return null
    }
  }

  #drop(setCount: number): void {
    this.#decoding = null
    this.#ready = []
    for (const { bytes } of this.#sets.splice(0, setCount)) this.#count(-bytes.length)
  }

  #count(change: number): void {
    this.#bytes += change
    if (this.#bytes >= INBOX_BYTES_MAX) this.#isFull = true
    else if (this.#bytes <= INBOX_BYTES_MAX / 2) this.#isFull = false
    this.#budget.add(change)
  }
}
