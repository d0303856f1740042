import { sizeOf } from '../core/event/message.ts'
import type { FetchedMessage } from './records/record.ts'
import { holdsNoMessageAt, type RecordSet, readRecordSet } from './records/record-set.ts'

/** The content of one batch. */
export interface Taken {
  readonly messages: readonly FetchedMessage[]
  /** All offsets up to this one are taken, including aborted messages, markers and gaps. */
  readonly through: bigint
}

/** Limits one transaction: a compressed record batch of 1 MB can hold hundreds of times as much. */
const BATCH_BYTES_MAX = 8 * 1024 * 1024

/**
 * Fetched record sets of one partition, in order and without a gap, decoded as batches are taken from them. An error, such as a
 * set that cannot be read, is thrown once everything before it is taken, and from then on.
 */
export class Queue {
  readonly #onBytes: (change: number) => void
  #sets: RecordSet[] = []
  #bytes = 0
  /** Reads the first set. */
  #reader: ReturnType<typeof readRecordSet> | null = null
  #ready: readonly FetchedMessage[] = []
  #readyIndex = 0
  /** The first set cannot be read. */
  #broken: { readonly error: unknown } | null = null
  /** Thrown after all sets. */
  #ending: { readonly error: unknown } | null = null

  /** @param onBytes called with each change of the queued bytes */
  constructor(onBytes: (change: number) => void) {
    this.#onBytes = onBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Whether there is nothing to take, and nothing to throw. */
  get isEmpty(): boolean {
    const hasMessages = this.#readyIndex < this.#ready.length || this.#sets.length > 0
    return !hasMessages && this.#broken === null && this.#ending === null
  }

  /** When the first message was written, in ms since 1970; null where there is none. */
  get oldestMs(): number | null {
    const timestampMs = this.#ready[this.#readyIndex]?.timestampMs ?? this.#sets[0]?.firstTimestampMs
    return timestampMs === undefined ? null : Number(timestampMs)
  }

  get isEnded(): boolean {
    return this.#ending !== null
  }

  /** Whether the first set begins at this offset, with what was never a message. */
  beginsWithNoMessageAt(offset: bigint): boolean {
    const [set] = this.#sets
    return set !== undefined && holdsNoMessageAt(set, offset)
  }

  push(set: RecordSet): void {
    this.#sets.push(set)
    this.#count(set.bytes.length)
  }

  /** Nothing is pushed after it. */
  end(error: unknown): void {
    this.#ending = { error }
  }

  clear(): void {
    this.#sets = []
    // Releases the stream that decompresses.
    void this.#reader?.return(undefined).catch(() => {})
    this.#reader = null
    this.#ready = []
    this.#readyIndex = 0
    this.#broken = null
    this.#ending = null
    this.#count(-this.#bytes)
  }

  /** Takes at most this many messages, of about 8 MB; null where there is nothing. */
  async take(countMax: number): Promise<Taken | null> {
    const messages: FetchedMessage[] = []
    let through: bigint | null = null
    for (let size = 0; messages.length < countMax; ) {
      const message = this.#ready[this.#readyIndex]
      if (message !== undefined) {
        size += sizeOf(message)
        if (size > BATCH_BYTES_MAX && messages.length > 0) break
        messages.push(message)
        through = message.offset
        this.#readyIndex++
        continue
      }
      try {
        const set = this.#sets[0]
        const hasMore = await this.#read()
        if (set === undefined) break
        if (!hasMore) through = set.lastOffset
      } catch (error) {
        if (through === null) throw error
        break
      }
    }
    return through === null ? null : { messages, through }
  }

  /** Decodes some messages of the first set; false once it has no more and is dropped. */
  async #read(): Promise<boolean> {
    if (this.#broken !== null) throw this.#broken.error
    const [set] = this.#sets
    if (set === undefined) {
      if (this.#ending !== null) throw this.#ending.error
      return false
    }
    this.#reader ??= readRecordSet(set)
    try {
      const { value, done } = await this.#reader.next()
      if (!done) {
        this.#ready = value
        this.#readyIndex = 0
        return true
      }
    } catch (error) {
      // Asked again, the reader would only say that it is done.
      this.#broken = { error }
      throw error
    }
    this.#reader = null
    this.#sets.shift()
    this.#count(-set.bytes.length)
    return false
  }

  #count(change: number): void {
    this.#bytes += change
    this.#onBytes(change)
  }
}
