import { partitionKey, type TopicPartition } from '../decide/event/position.ts'
import { backOffMs } from '../time/back-off.ts'
import { FETCH_MAX_MS } from './brokers.ts'
import type { Cluster, UnservedState } from './cluster.ts'
import { Condition } from './condition-variable.ts'
import {
  type FetchedPartition,
  type FetchRequest,
  fetchFrom,
  isStaleMetadata,
  READ_COMMITTED,
} from './fetch-request.ts'
import type { PartitionConsumer, PartitionNeeds } from './partition.ts'

export interface FetcherNeeds extends Pick<PartitionNeeds, 'sleep' | 'wallMs' | 'monotonicMs' | 'log'> {
  readonly cluster: Pick<Cluster, 'ask' | 'leaderOf' | 'refresh' | 'refreshCount'>
}

/** Limits one answer of a broker: with FETCH_MAX_MS, the slowest line on which a backlog comes. */
const FETCH_BYTES = 1024 * 1024
/** Limits one partition in an answer: about the size of a full batch of events. */
const PARTITION_FETCH_BYTES = 512 * 1024
/** Time that a broker waits for a first message. */
const WAIT_MS = 500
/** The same while another partition of the broker is about to be fetched too. */
const SHORT_WAIT_MS = 50
/** Maximum time that an event waits at its broker for others, since a transaction costs as much as many events. */
const GATHER_MS = 30
/** An answer that brings more is worth a transaction. At 5,000 events/s, waiting for still more made the 99th percentile longer. */
const LITTLE_BYTES = 16 * 1024
/** When an answer is this late, another broker may lead the partitions by now. */
const LATE_ANSWER_MS = 2_000
/** A broker that has not answered for this long is reported: a cluster takes about as long to replace it. */
const BROKER_SILENT_MS = 10_000

/** The fetches from one broker. */
interface Loop {
  readonly nodeId: number
  failureCount: number
  /** Start of the first request in a row without an answer, by `monotonicMs`; null if the last one was answered, or nothing is wanted. */
  silentSinceMs: number | null
  isReported: boolean
}

/**
 * Fetches from each broker in a loop of its own, so that one that stands still holds up its own partitions only. A loop asks for the
 * partitions that want to be fetched, each from its own offset, and hands over what one answer brings all at once.
 */
export class Fetcher {
  readonly #needs: FetcherNeeds
  /** Notified when a partition may be fetched: it has room by now, or another leader. */
  readonly fetchable = new Condition()
  readonly #loops = new Map<number, Loop>()
  #partitions: readonly PartitionConsumer[] = []
  readonly #over = new AbortController()
  /** Partitions that their broker does not lead any more, by the `refreshCount` at which the broker refused them. */
  readonly #refusedAt = new Map<string, number>()

  constructor(needs: FetcherNeeds) {
    this.#needs = needs
  }

  /** Fetches these partitions from now on, and no others. */
  setPartitions(partitions: Iterable<PartitionConsumer>): void {
    this.#partitions = [...partitions]
    this.fetchable.notify()
  }

  /** Runs a loop for each broker that leads a partition, until `stop`. */
  async run(): Promise<void> {
    while (!this.#over.signal.aborted) {
      for (const { name } of this.#partitions) {
        const nodeId = this.#needs.cluster.leaderOf(name) ?? -1
        if (nodeId < 0 || this.#loops.has(nodeId)) continue
        const loop: Loop = { nodeId, failureCount: 0, silentSinceMs: null, isReported: false }
        this.#loops.set(nodeId, loop)
        void this.#runLoop(loop)
      }
      await this.fetchable.wait()
    }
  }

  stop(): void {
    this.#over.abort()
    this.fetchable.notify()
  }

  /** Set if the broker that leads the partition has not answered for a while. */
  silence(partition: TopicPartition): UnservedState | null {
    const silentMs = this.#silentMs(this.#loops.get(this.#needs.cluster.leaderOf(partition) ?? -1))
    if (silentMs < BROKER_SILENT_MS) return null
    return {
      topic: partition.topic,
      reason: 'no-answer',
      sinceMs: Math.round(this.#needs.wallMs() - silentMs),
    }
  }

  #silentMs(loop: Loop | undefined): number {
    const sinceMs = loop?.silentSinceMs ?? null
    return sinceMs === null ? 0 : this.#needs.monotonicMs() - sinceMs
  }

  /** Fetches until the broker leads no partition of ours. */
  async #runLoop(loop: Loop): Promise<void> {
    while (!this.#over.signal.aborted) {
      const led = this.#partitions.filter(({ name }) => this.#needs.cluster.leaderOf(name) === loop.nodeId)
      if (led.length === 0) break
      const wanted = led.filter((consumer) => consumer.wanted !== null && !this.#isRefused(consumer.name))
      const isAnyAbout = led.some(({ isAboutToWant }) => isAboutToWant)
      if (wanted.length > 0) await this.#fetchOnce(loop, wanted, isAnyAbout ? SHORT_WAIT_MS : WAIT_MS)
      else {
        // No partition waits for the broker: each has a reason of its own.
        loop.silentSinceMs = null
        await this.fetchable.wait()
      }
    }
    this.#loops.delete(loop.nodeId)
  }

  /** Until the metadata is read again, the same broker would refuse it again. */
  #isRefused(partition: TopicPartition): boolean {
    return this.#refusedAt.get(partitionKey(partition)) === this.#needs.cluster.refreshCount
  }

  async #fetchOnce(loop: Loop, wanted: readonly PartitionConsumer[], maxWaitMs: number): Promise<void> {
    const { cluster, sleep, log } = this.#needs
    const { signal } = this.#over
    const asked = new Map(
      shuffle(wanted).map((consumer) => [
        partitionKey(consumer.name),
        { consumer, ...consumer.name, from: consumer.wanted ?? 0n },
      ]),
    )
    const request: FetchRequest = {
      isolationLevel: READ_COMMITTED,
      maxWaitMs,
      bytesMax: FETCH_BYTES,
      partitionBytesMax: PARTITION_FETCH_BYTES,
      partitions: [...asked.values()],
    }
    try {
      const partitions = await this.#watch(
        loop,
        cluster.ask(loop.nodeId, (broker) => fetchFrom(broker, request), FETCH_MAX_MS),
      )
      for (const fetched of partitions) {
        const sent = asked.get(partitionKey(fetched))
        if (sent !== undefined) this.#handOver(sent.consumer, fetched, sent.from)
      }
      const bytes = partitions.reduce((sum, fetched) => sum + fetched.bytes.length, 0)
      if (bytes > 0 && bytes < LITTLE_BYTES) await sleep(GATHER_MS, signal)
    } catch (error) {
      if (signal.aborted) return
      log.debug({ err: error, broker: loop.nodeId }, 'a fetch failed')
      this.#report(loop)
      this.#refresh()
      await sleep(backOffMs(loop.failureCount++), signal)
    }
  }

  /** Looks for new leaders again and again while an answer is late, and reports a broker that stays silent. */
  async #watch<T>(loop: Loop, answer: Promise<T>): Promise<T> {
    loop.silentSinceMs ??= this.#needs.monotonicMs()
    const timer = setInterval(() => {
      this.#refresh()
      this.#report(loop)
    }, LATE_ANSWER_MS).unref()
    try {
      const answered = await answer
      if (loop.isReported) this.#needs.log.info({ broker: loop.nodeId }, 'the broker answers again')
      Object.assign(loop, { failureCount: 0, silentSinceMs: null, isReported: false })
      return answered
    } finally {
      clearInterval(timer)
    }
  }

  /** Logs once that the broker is silent. */
  #report(loop: Loop): void {
    if (loop.isReported || this.#silentMs(loop) < BROKER_SILENT_MS) return
    loop.isReported = true
    this.#needs.log.warn(
      { broker: loop.nodeId },
      'a broker does not answer: the partitions that it leads wait, the others go on',
    )
  }

  #handOver(consumer: PartitionConsumer, fetched: FetchedPartition, from: bigint): void {
    if (isStaleMetadata(fetched.error)) {
      this.#refusedAt.set(partitionKey(fetched), this.#needs.cluster.refreshCount)
      this.#refresh()
    }
    consumer.offer(fetched, from)
  }

  /** Looks for new leaders. A later fetch meets any error. */
  #refresh(): void {
    void this.#needs.cluster.refresh().then(
      () => this.fetchable.notify(),
      () => {},
    )
  }
}

/** Brokers fill an answer in the order of the request: each partition must have its turn. */
function shuffle<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .sort((one, other) => one.order - other.order)
    .map(({ item }) => item)
}
