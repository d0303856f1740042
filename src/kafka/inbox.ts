import type { Budget } from './budget.ts'
import type { FetchedBytes } from './mends/fetch-response.ts'
import { Queue, type Taken } from './queue.ts'
import { type RecordSet, recordSetOf } from './records/record-set.ts'
import { withoutEnd } from './records/unreadable.ts'

/** A fetch, as kafkajs hands it over. */
export interface Fetched extends FetchedBytes {
  /** The offset that it began at. */
  readonly from: bigint
  /** Tells kafkajs to go on behind this offset. */
  readonly resolve: (offset: bigint) => void
}

/** How kafkajs is told what to fetch of a partition. */
export interface FetchControls {
  /** Fetch it from this offset on, once it is not paused. */
  readonly seek: (offset: bigint) => void
  readonly pause: () => void
  readonly resume: () => void
}

/** The broker does not serve the partition; `message` is Kafka's name of the reason. */
export class BrokerError extends Error {
  readonly asked: bigint

  constructor(name: string, asked: bigint) {
    super(name)
    this.asked = asked
  }
}

/** Queued bytes at which a partition is not fetched any further, until half of them are worked off. */
const QUEUE_BYTES_MAX = 4 * 1024 * 1024

/**
 * What is fetched of one partition and not worked on yet. kafkajs is told to go on as soon as a fetch is queued: it would
 * fetch the same again in a loop otherwise. So it is here that no offset may be left out: only the fetch that begins where
 * the one before ended is queued.
 */
export class Inbox {
  readonly #controls: FetchControls
  readonly #budget: Budget
  readonly #queue: Queue
  /** The offset at which the next fetch has to begin; null: none is wanted. */
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

  /** Whether there are so many messages to take, or as many bytes as are queued of one partition. */
  holds(count: number): boolean {
    return this.#queue.countMax >= count || this.#isPaused
  }

  /** Drops what is queued and has the partition fetched from this offset on. */
  open(offset: bigint): void {
    this.#queue.clear()
    this.#expected = offset
    this.#isPaused = false
    this.#controls.seek(offset)
    this.#controls.resume()
  }

  /** Nothing is queued or fetched any more: the partition is somebody else's. */
  seal(): void {
    this.#expected = null
    this.#wake()
  }

  /** Drops what is queued, and has nothing fetched. */
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

  /** Up to this many messages; null where there is nothing. Throws what kept the broker from serving more. */
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

  /** Has whoever waits for a change look again. */
  wake(): void {
    this.#wake()
  }

  /** What is queued before it may be nowhere else any more. */
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

  /** True: there is no need to ask again. */
  readonly #resumeIfRoom = (): boolean => {
    if (!this.#isPaused || this.#expected === null) return true
    const isFull = this.#queue.bytes > QUEUE_BYTES_MAX / 2 || this.#budget.isFull(this.#queue.bytes)
    if (isFull || this.#queue.isEnded) return false
    this.#isPaused = false
    this.#controls.resume()
    return true
  }
}
