import type { FetchedBytes } from './patches/fetch-response.ts'
import { Queue, type Taken } from './queue.ts'
import { type RecordSet, recordSetOf } from './records/record-set.ts'
import { withoutEnd } from './records/unreadable.ts'

/** A fetch of one partition. */
export interface Fetched extends FetchedBytes {
  /** The requested offset. */
  readonly from: bigint
  /** Tells kafkajs to fetch on after this offset. */
  readonly resolve: (offset: bigint) => void
}

/** Controls what kafkajs fetches of a partition. */
export interface FetchControls {
  /** Fetches on from this offset, once the partition is not paused. */
  readonly seek: (offset: bigint) => void
  readonly pause: () => void
  readonly resume: () => void
}

/** The broker does not serve the partition; the message is Kafka's name of the error. */
export class BrokerError extends Error {
  readonly asked: bigint

  constructor(name: string, asked: bigint) {
    super(name)
    this.asked = asked
  }
}

/** Queued bytes at which the fetches of a partition pause until half of them are processed. */
const QUEUE_BYTES_MAX = 4 * 1024 * 1024

/**
 * Bytes in the queues of all partitions. Above the limit, only partitions with an empty queue are fetched, so that slow
 * partitions leave the others their turn; far above it, none is.
 */
export interface Budget {
  /** @param ownBytes of the asking partition */
  isFull(ownBytes: number): boolean
  /** @param bytes negative where they were taken from a queue */
  add(bytes: number): void
  /** Calls `resume` whenever there is room, until it returns true. */
  onRoom(resume: () => boolean): void
}

const FAR_ABOVE = 4

export function createBudget(bytesMax: number): Budget {
  const waiting = new Set<() => boolean>()
  let usedBytes = 0
  return {
    isFull: (ownBytes) => usedBytes >= (ownBytes > 0 ? bytesMax : FAR_ABOVE * bytesMax),
    add: (bytes) => {
      usedBytes += bytes
      if (bytes > 0) return
      for (const resume of waiting) if (resume()) waiting.delete(resume)
    },
    onRoom: (resume) => waiting.add(resume),
  }
}

/**
 * The fetched and unprocessed part of one partition. kafkajs is told to go on as soon as a fetch is queued: otherwise it would
 * fetch the same in a loop. So the inbox itself ensures that no offset is left out: it queues only the fetch that begins where
 * the one before ended.
 */
export class Inbox {
  readonly #controls: FetchControls
  readonly #budget: Budget
  readonly #queue: Queue
  /** The offset at which the next fetch must begin; null while none is wanted. */
  #expected: bigint | null = null
  #isPaused = true
  #wake = () => {}

  constructor(controls: FetchControls, budget: Budget) {
    this.#controls = controls
    this.#budget = budget
    this.#queue = new Queue(budget.add)
  }

  get isEmpty(): boolean {
    return this.#queue.isEmpty
  }

  /** When the first queued message was written, in ms since 1970; null where nothing is queued. */
  get oldestMs(): number | null {
    return this.#queue.oldestMs
  }

  /** Drops the queue and fetches the partition from this offset on. */
  open(offset: bigint): void {
    this.#queue.clear()
    this.#expected = offset
    this.#isPaused = false
    this.#controls.seek(offset)
    this.#controls.resume()
  }

  /** Queues nothing more: another consumer owns the partition. */
  seal(): void {
    this.#expected = null
    this.#wake()
  }

  /** Drops the queue and stops fetching. */
  close(): void {
    this.#expected = null
    this.#queue.clear()
    if (!this.#isPaused) this.#controls.pause()
    this.#isPaused = true
    this.#wake()
  }

  offer({ from, error, bytes, aborted, resolve }: Fetched): void {
    if (this.#expected === null) return
    if (from !== this.#expected) {
      // Requested before the last seek, or kafkajs has lost its position.
      this.#controls.seek(this.#expected)
      return
    }
    if (error !== null) this.#endWith(new BrokerError(error, from))
    else if (bytes.length > 0) {
      const set = recordSetOf(bytes, from, aborted)
      if (set === null) this.#endWith(withoutEnd(from))
      else this.#push(set, resolve)
    }
  }

  #push(set: RecordSet, resolve: Fetched['resolve']): void {
    resolve(set.lastOffset)
    this.#expected = set.lastOffset + 1n
    this.#queue.push(set)
    if (this.#queue.bytes >= QUEUE_BYTES_MAX || this.#budget.isFull(this.#queue.bytes)) this.#pause()
    this.#wake()
  }

  /** Takes up to this many messages; null where there is nothing. Throws the error that stopped the fetches. */
  async take(countMax: number): Promise<Taken | null> {
    try {
      return await this.#queue.take(countMax)
    } finally {
      this.#resumeIfRoom()
    }
  }

  /** Resolves when something may have changed, or after `timeoutMs`. */
  async change(timeoutMs: number | null): Promise<void> {
    const changed = Promise.withResolvers<void>()
    this.#wake = changed.resolve
    const timer = timeoutMs === null ? undefined : setTimeout(changed.resolve, timeoutMs)
    await changed.promise
    clearTimeout(timer)
  }

  /** Wakes the waiter so that it checks again. */
  wake(): void {
    this.#wake()
  }

  /** The queue is kept: the broker may no longer have what is in it. */
  #endWith(error: Error): void {
    this.#queue.end(error)
    this.#pause()
    this.#wake()
  }

  #pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.#controls.pause()
    this.#budget.onRoom(this.#resumeIfRoom)
  }

  /** Returns whether the budget need not call again. */
  readonly #resumeIfRoom = (): boolean => {
    if (!this.#isPaused || this.#expected === null) return true
    const isFull = this.#queue.bytes > QUEUE_BYTES_MAX / 2 || this.#budget.isFull(this.#queue.bytes)
    if (isFull || this.#queue.isEnded) return false
    this.#isPaused = false
    this.#controls.resume()
    return true
  }
}
