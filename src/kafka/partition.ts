import type { Logger } from 'pino'
import type { Batch, CommitResult, Dispatch } from '../core/batch/batch.ts'
import { BLOCK_REASONS, type Blocked, type BlockReason } from '../core/batch/blocked.ts'
import type { Checkpoint, Fingerprint } from '../core/batch/checkpoint.ts'
import { compareLast, type Ends, fetchStart, judgeOutOfRange } from '../core/batch/position.ts'
import type { TopicPartition } from '../core/batch/topic-partition.ts'
import type { Message } from '../core/event/message.ts'
import { backOffMs } from '../core/time/back-off.ts'
import { BrokerError, type Budget, type FetchControls, type Fetched, Inbox } from './inbox.ts'
import { brokerReason, isStaleMetadata } from './patches/fetch-response.ts'
import type { Unserved } from './patches/metadata-errors.ts'
import { type FetchedMessage, fingerprintOf } from './records/record.ts'
import { UnreadableBatch } from './records/unreadable.ts'

/** The database and the pipeline, as the consumer uses them. */
export interface Processing {
  /** The checkpoint in force; rejects while another session holds its lock. */
  readonly loadCheckpoint: (topic: string, partition: number) => Promise<Checkpoint>
  /** Sets the checkpoint back after the topic was recreated; returns the one then in force. */
  readonly resetCheckpoint: (
    topic: string,
    partition: number,
    expected: bigint,
    offset: bigint,
  ) => Promise<bigint>
  readonly listCheckpoints: (
    topics: readonly string[],
  ) => Promise<readonly (TopicPartition & { readonly offset: bigint })[]>
  readonly dispatch: Dispatch
  /** Classifies an error of the functions above. */
  readonly reasonOf: (error: unknown) => Extract<BlockReason, 'locked' | 'not-committed'>
}

/** Shared by all partitions, in this membership and the next: batches of an earlier one keep their slots and bytes. */
export interface Consumption extends Processing {
  /** Rejects where no broker leads the partition. */
  readonly endsOf: (partition: TopicPartition) => Promise<Ends>
  /** The reason why kafkajs fetches nothing of a partition; null where it does. */
  readonly unservedReason: (topic: string, partition: number) => Unserved | null
  /** Limits the batches that are worked on at a time. Resolves to the function that gives the slot back. */
  readonly takeSlot: () => Promise<() => void>
  readonly budget: Budget
  /** The last consumer of each partition, by `topic/partition`. */
  readonly latest: Map<string, PartitionConsumer>
  /** Messages that the next batch may have. */
  readonly batchCountMax: () => number
  readonly nowMs: () => number
  /** Ends early when the signal aborts; never rejects. */
  readonly sleep: (durationMs: number, signal: AbortSignal) => Promise<void>
  readonly log: Logger
}

export interface OwnedPartition extends TopicPartition {
  readonly consumption: Consumption
  readonly controls: FetchControls
  /** @param next offset at which the group goes on */
  readonly commitToKafka: (next: bigint) => void
  /** The consumer of the same partition in an earlier membership or assignment. */
  readonly before: PartitionConsumer | null
}

interface Head {
  readonly offset: bigint
  readonly timestampMs: bigint
}

/** A blocked partition that is fetched and gets nothing for so long is no longer blocked. */
const QUIET_MS = 5_000
/** A batch under way for so long is stuck: each statement and look-up has a far shorter deadline. */
const STUCK_MS = 60_000

const UNSERVED: Readonly<Record<Unserved['reason'], string>> = {
  'no-rights': 'the broker does not let this user see the topic',
  'no-leader': 'no broker leads the partition',
}

const MOVED = 'another consumer moved the checkpoint: continuing from there'
const REWOUND =
  'the checkpoint is behind what this process committed: the database has lost commits, by a fail-over or a restored ' +
  'backup, or somebody set it back. Continuing from there; messages sent since are sent again, with the same idempotency keys'
/** The checkpoint is not the expected one. */
class Moved extends Error {}
/** The checkpoint was set back: the partition starts again from there. */
class Repositioned extends Error {}

/**
 * Consumes one partition for as long as a membership in the group owns it. kafkajs only fills its inbox, from which batches are
 * taken one after the other. The database's checkpoint is the authority on position: after any failure the inbox is dropped,
 * and everything starts from the checkpoint again.
 */
export class PartitionConsumer {
  readonly #topic: string
  readonly #partition: number
  readonly #consumption: Consumption
  readonly #commitToKafka: OwnedPartition['commitToKafka']
  readonly #inbox: Inbox
  readonly #over = new AbortController()
  readonly #finished = Promise.withResolvers<void>()
  /** Set until it is finished. */
  #before: PartitionConsumer | null
  #committed: Checkpoint = { offset: -1n, lastMessage: null }
  /** The last processed message, until it is compared with the broker's at that offset. */
  #uncompared: Fingerprint | null = null
  /** The broker is known to have nothing before it. */
  #earliest = 0n
  /** The error that stops the work once the batch under way is done. */
  #fault: Error | null = null
  #blocked: Blocked | null = null
  /** The first message of the batch under way, or of the one that could not be committed. */
  #head: Head | null = null
  #commitCount = 0
  /** When the batch under way was begun. */
  #begunMs: number | null = null

  constructor({ topic, partition, consumption, controls, commitToKafka, before }: OwnedPartition) {
    this.#topic = topic
    this.#partition = partition
    this.#consumption = consumption
    this.#commitToKafka = commitToKafka
    this.#before = before
    this.#inbox = new Inbox(controls, consumption.budget)
  }

  offer(fetched: Fetched): void {
    if (!this.#isOver) this.#inbox.offer(fetched)
  }

  /** The partition is no longer ours: the batches under way are the last, and `run` resolves when they are done. */
  end(): void {
    this.#over.abort()
    this.#inbox.seal()
  }

  /** The last committed offset; -1 before there is one. */
  get committed(): bigint {
    return this.#committed.offset
  }

  /** The database has lost commits: the messages since its checkpoint are processed again. */
  rewind(checkpoint: bigint): void {
    if (this.#isGivenUp) return
    this.#fault = this.#moved(this.#committed.offset, checkpoint)
    this.#inbox.wake()
  }

  /** Resolves after `end`, when no batch is under way. */
  get finished(): Promise<void> {
    return this.#finished.promise
  }

  /** Consumes until `end`, once the consumer before is finished. Never rejects. */
  async run(): Promise<void> {
    // A batch that is still under way would move the checkpoint that is read first.
    await this.#before?.finished
    this.#before = null
    let failureCount = 0
    while (!this.#isOver) {
      const commitCount = this.#commitCount
      try {
        await this.#begin()
        await this.#work()
      } catch (error) {
        this.#inbox.close()
        if (this.#commitCount !== commitCount) failureCount = 0
        const unhandled = await this.#handle(error, failureCount)
        if (unhandled !== null && !this.#isOver) await this.#block(unhandled, backOffMs(failureCount))
        if (!(error instanceof Repositioned)) failureCount++
      }
    }
    this.#inbox.close()
    this.#finished.resolve()
  }

  /** Null while the partition is being consumed. After `end`, only a stuck batch is reported. */
  blocked(): Blocked | null {
    if (this.#isOver) return this.#stuck()
    const unserved = this.#consumption.unservedReason(this.#topic, this.#partition)
    if (unserved !== null)
      return this.#blockedFor(unserved.reason, UNSERVED[unserved.reason], unserved.sinceMs)
    return this.#blocked ?? this.#stuck()
  }

  /** When the oldest unprocessed message that was fetched was written, in ms since 1970; null where there is none. */
  oldestMs(): number | null {
    return this.#head === null ? this.#inbox.oldestMs : Number(this.#head.timestampMs)
  }

  #stuck(): Blocked | null {
    if (this.#before !== null) return this.#before.#stuck()
    const sinceMs = this.#begunMs
    const tookMs = sinceMs === null ? 0 : this.#consumption.nowMs() - sinceMs
    if (sinceMs === null || tookMs < STUCK_MS) return null
    return this.#blockedFor('stuck', `a batch was begun ${Math.round(tookMs / 1_000)} s ago`, sinceMs)
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted
  }

  get #isGivenUp(): boolean {
    return this.#fault !== null || this.#isOver
  }

  get #name(): TopicPartition {
    return { topic: this.#topic, partition: this.#partition }
  }

  async #begin(): Promise<void> {
    const checkpoint = await this.#consumption.loadCheckpoint(this.#topic, this.#partition)
    if (checkpoint.offset !== this.#committed.offset) this.#blocked = null
    this.#committed = checkpoint
    this.#uncompared = checkpoint.lastMessage
    this.#fault = null
    if (this.#head !== null && this.#head.offset <= checkpoint.offset) this.#head = null
    if (this.#isOver) return
    // Kafka may not know it: the membership before ended, or the broker did not answer.
    if (checkpoint.offset >= 0n) this.#commitToKafka(checkpoint.offset + 1n)
    this.#inbox.open(fetchStart(checkpoint, this.#earliest))
  }

  /** Processes batches until the end. Throws the error that stops them. */
  async #work(): Promise<void> {
    while (await this.#hasNext()) {
      this.#begunMs = this.#consumption.nowMs()
      const giveSlotBack = await this.#consumption.takeSlot()
      try {
        let batch = this.#isGivenUp ? null : await this.#take()
        while (batch !== null && !this.#isGivenUp) {
          batch = this.#settle(batch, await this.#consumption.dispatch(batch))
          this.#begunMs = this.#consumption.nowMs()
        }
      } finally {
        this.#begunMs = null
        giveSlotBack()
      }
    }
  }

  /** Waits until there is something to take; false once it is over. */
  async #hasNext(): Promise<boolean> {
    while (this.#inbox.isEmpty && !this.#isGivenUp) {
      await this.#inbox.change(this.#blocked === null ? null : QUIET_MS)
      if (this.#inbox.isEmpty && !this.#isGivenUp) this.#blocked = null
    }
    if (this.#fault !== null) throw this.#fault
    return !this.#isOver
  }

  /** The next batch; null where all that was fetched is processed already. */
  async #take(): Promise<Batch | null> {
    const found = await this.#inbox.take(this.#consumption.batchCountMax())
    if (found === null) return null
    await this.#compare(found.messages[0])
    const { offset: expectedCheckpoint, lastMessage: lastBefore } = this.#committed
    if (found.through <= expectedCheckpoint) return null
    const messages = found.messages.filter(({ offset }) => offset > expectedCheckpoint)
    this.#head = headOf(messages[0])
    const last = messages.at(-1)
    const lastMessage = last === undefined ? lastBefore : fingerprintOf(last)
    const fingerprintAt = (offset: bigint) =>
      fingerprintOf(messages.find((message) => message.offset === offset) as FetchedMessage)
    return {
      ...this.#name,
      messages,
      expectedCheckpoint,
      lastOffset: found.through,
      lastMessage,
      fingerprintAt,
    }
  }

  /** Once for each start: throws where the broker has another message in place of the last processed one. */
  async #compare(first: FetchedMessage | undefined): Promise<void> {
    const processed = this.#uncompared
    if (processed === null) return
    this.#uncompared = null
    if (compareLast(processed, first === undefined ? null : fingerprintOf(first)) !== 'another') return
    const why = `the message at offset ${processed.offset} is not the one that was processed`
    await this.#startAnew(why, await this.#consumption.endsOf(this.#name))
  }

  /** Returns the rest of a batch that was cut. */
  #settle(batch: Batch, result: CommitResult): Batch | null {
    if (result.kind === 'moved') throw this.#moved(batch.expectedCheckpoint, result.checkpoint)
    const { lastOffset } = result
    const isCut = lastOffset < batch.lastOffset
    const messages = isCut ? batch.messages.filter(({ offset }) => offset > lastOffset) : []
    const lastMessage = isCut ? (batch.fingerprintAt?.(lastOffset) ?? null) : batch.lastMessage
    this.#committed = { offset: lastOffset, lastMessage }
    this.#commitCount++
    this.#blocked = null
    this.#head = headOf(messages[0])
    this.#commitToKafka(lastOffset + 1n)
    return isCut ? { ...batch, messages, expectedCheckpoint: lastOffset } : null
  }

  #moved(expected: bigint, checkpoint: bigint): Moved {
    this.#consumption.log.warn(
      { ...this.#name, expected: String(expected), checkpoint: String(checkpoint) },
      checkpoint < expected ? REWOUND : MOVED,
    )
    return new Moved('the checkpoint was moved')
  }

  /** Handles errors that need no backoff. Returns the error otherwise, or null. */
  async #handle(error: unknown, failureCount: number): Promise<unknown> {
    if (error instanceof Repositioned || this.#isOver) return null
    if (isIgnoredOnFirstFailure(error) && failureCount === 0) return null
    if (!(error instanceof BrokerError && error.message === 'OFFSET_OUT_OF_RANGE')) return error
    try {
      return (await this.#findRange(error.asked)) ? null : error
    } catch (cause) {
      return cause instanceof Repositioned || cause instanceof Moved ? null : cause
    }
  }

  /** Finds where to go on after an offset out of range; false where the broker has that offset by now. */
  async #findRange(asked: bigint): Promise<boolean> {
    const ends = await this.#consumption.endsOf(this.#name)
    const { offset } = this.#committed
    const found = judgeOutOfRange(offset, asked, ends)
    if (found.kind === 'passed') return false
    if (found.kind === 'recreated') {
      return await this.#startAnew('the checkpoint lies beyond the end of the partition', ends)
    }
    this.#earliest = found.earliest
    if (found.count > 0n) {
      const [expected, earliest, gone] = [offset + 1n, found.earliest, found.count].map(String)
      this.#consumption.log.error(
        { ...this.#name, expected, earliest, gone },
        `${gone} messages are lost: the broker's retention deleted them before they were processed`,
      )
    }
    return true
  }

  async #startAnew(why: string, { earliest, end }: Ends): Promise<never> {
    const checkpoint = this.#committed.offset
    const [topic, partition] = [this.#topic, this.#partition]
    const inForce = await this.#consumption.resetCheckpoint(topic, partition, checkpoint, earliest - 1n)
    if (inForce !== earliest - 1n) throw this.#moved(checkpoint, inForce)
    this.#consumption.log.error(
      {
        ...this.#name,
        checkpoint: String(checkpoint),
        earliest: String(earliest),
        end: String(end),
      },
      `${why}: the topic was recreated; starting from its earliest offset`,
    )
    this.#earliest = earliest
    this.#head = null
    throw new Repositioned()
  }

  /** Reports that the partition is blocked, and waits before the next try. */
  async #block(error: unknown, durationMs: number): Promise<void> {
    const detail = error instanceof Error ? error.message : String(error)
    const blocked = this.#blockedFor(reasonOf(error, this.#consumption), detail, this.#blocked?.sinceMs)
    this.#blocked = blocked
    this.#consumption.log.error(
      {
        err: error,
        ...this.#name,
        offset: String(blocked.offset),
        reason: blocked.reason,
        retryInMs: durationMs,
        ...offsetsIn(error),
      },
      `a partition is blocked; nothing is lost: ${BLOCK_REASONS[blocked.reason]}`,
    )
    await this.#consumption.sleep(durationMs, this.#over.signal)
  }

  #blockedFor(reason: BlockReason, detail: string, sinceMs = this.#consumption.nowMs()): Blocked {
    return { ...this.#name, reason, detail, offset: this.#committed.offset + 1n, sinceMs }
  }
}

/** Without the message itself, which would keep the memory of its whole fetch. */
function headOf(message: Message | undefined): Head | null {
  return message === undefined ? null : { offset: message.offset, timestampMs: message.timestampMs ?? -1n }
}

/** Most often it has passed by the next try. */
function isIgnoredOnFirstFailure(error: unknown): boolean {
  return error instanceof Moved || (error instanceof BrokerError && isStaleMetadata(error.message))
}

function reasonOf(error: unknown, consumption: Consumption): BlockReason {
  if (error instanceof UnreadableBatch) return error.reason
  if (!(error instanceof BrokerError)) return consumption.reasonOf(error)
  return brokerReason(error.message)
}

function offsetsIn(error: unknown): { firstOffset: string; lastOffset: string } | null {
  if (!(error instanceof UnreadableBatch)) return null
  return { firstOffset: String(error.offsets.first), lastOffset: String(error.offsets.last) }
}
