import type { Logger } from 'pino'
import type { Batch, CommitResult, Dispatch } from '../core/batch/batch.ts'
import type { Checkpoint, Fingerprint } from '../core/batch/checkpoint.ts'
import type { Head } from '../core/batch/head.ts'
import { type Held, HOLD_REASONS, type HoldReason } from '../core/batch/hold.ts'
import { compareLast, type Ends, fetchStart, judgeOutOfRange } from '../core/batch/position.ts'
import type { TopicPartition } from '../core/batch/topic-partition.ts'
import type { Message } from '../core/event/message.ts'
import { backOffMs } from '../core/time/back-off.ts'
import type { Budget } from './budget.ts'
import { brokerReason, isStaleMetadata } from './errors.ts'
import { fingerprintOf } from './fingerprint.ts'
import { BrokerError, type FetchControls, type Fetched, Inbox } from './inbox.ts'
import type { Unserved } from './mends/metadata-errors.ts'
import type { FetchedMessage } from './records/record.ts'
import { UnreadableBatch } from './records/unreadable.ts'

/** What the consumption of a partition needs from the database and the pipeline. */
export interface ConsumerNeeds {
  /** The checkpoint in force; rejects where another session holds its lock. */
  readonly loadCheckpoint: (topic: string, partition: number) => Promise<Checkpoint>
  /** Sets the checkpoint back after the topic was recreated; returns the one then in force. */
  readonly resetCheckpoint: (
    topic: string,
    partition: number,
    held: bigint,
    offset: bigint,
  ) => Promise<bigint>
  /** The checkpoints of these topics, as the database has them now. */
  readonly listCheckpoints: (
    topics: readonly string[],
  ) => Promise<readonly (TopicPartition & { readonly offset: bigint })[]>
  readonly dispatch: Dispatch
  /** Which of the two an error of the functions above is. */
  readonly reasonOf: (error: unknown) => Extract<HoldReason, 'locked' | 'not-committed'>
}

/** What it needs from the membership in the group that it was assigned to. */
export interface PartitionNeeds extends ConsumerNeeds {
  readonly controls: FetchControls
  /** Only so many batches are worked on at a time. Resolves to what gives the slot back. */
  readonly takeSlot: () => Promise<() => void>
  readonly offsetsOf: (topic: string, partition: number) => Promise<Ends>
  /** Why kafkajs fetches nothing of a partition; null where it does. */
  readonly unservedReason: (topic: string, partition: number) => Unserved | null
  /** Tells Kafka where the group goes on, some time soon. */
  readonly reportToKafka: (topic: string, partition: number, next: bigint) => void
  readonly budget: Budget
  /** Messages that the next batch may have. */
  readonly batchCountMax: () => number
  readonly nowMs: () => number
  /** Ends early when the signal aborts; never rejects. */
  readonly sleep: (durationMs: number, signal: AbortSignal) => Promise<void>
  readonly log: Logger
}

/** A partition that is fetched and gets nothing for so long has nothing in its way. */
const QUIET_MS = 5_000
/** A batch that has been under way for so long is stuck: each statement and look-up has a deadline far below. */
const STUCK_MS = 60_000

const UNSERVED: Readonly<Record<Unserved['reason'], string>> = {
  'no-rights': 'the broker does not let this user see the topic',
  'no-leader': 'no broker leads the partition',
}

const MOVED = 'another consumer moved the checkpoint: continuing from there'
/** No consumer moves a checkpoint back. */
const REWOUND =
  'the checkpoint is behind what this process committed: the database has lost commits, by a fail-over or a restored ' +
  'backup, or somebody set it back. Continuing from there; messages sent since are sent again, with the same idempotency keys'
/** The checkpoint is not the one that is held. */
class Moved extends Error {}
/** The checkpoint was set anew: go on from there. */
class Repositioned extends Error {}

/**
 * Consumes one partition for as long as a membership in the group owns it. kafkajs only fills its inbox; here it is
 * emptied, into batches; a whole one is looked up while the one before commits. The database's checkpoint is the
 * authority: it says where to start, and whatever goes wrong, the inbox is dropped and everything starts from it again.
 */
export class PartitionConsumer {
  readonly #topic: string
  readonly #partition: number
  readonly #needs: PartitionNeeds
  readonly #inbox: Inbox
  readonly #over = new AbortController()
  readonly #finished = Promise.withResolvers<void>()
  /** The one before, while it is not finished. */
  #before: PartitionConsumer | null
  /** The last committed offset, and the message there. */
  #committed: Checkpoint = { offset: -1n, lastMessage: null }
  /** The last offset that is part of a batch, and the message there. */
  #taken: Checkpoint = this.#committed
  /** Not compared yet with what the broker has in its place now. */
  #uncompared: Fingerprint | null = null
  /** The broker is known to have nothing before it. */
  #earliest = 0n
  /** What ends the work on all batches that are not committed. */
  #fault: { readonly error: unknown } | null = null
  #held: Held | null = null
  /** The first message of each batch that is not committed, in order. */
  #heads: Head[] = []
  #commitCount = 0
  /** When the batches under way were begun, in order. */
  readonly #begunMs = new Map<symbol, number>()

  /** @param before of the same partition, in an earlier membership or assignment */
  constructor(topic: string, partition: number, needs: PartitionNeeds, before: PartitionConsumer | null) {
    this.#topic = topic
    this.#partition = partition
    this.#needs = needs
    this.#before = before
    this.#inbox = new Inbox(needs.controls, needs.budget)
  }

  /** Takes a fetch. */
  offer(fetched: Fetched): void {
    if (!this.#isOver) this.#inbox.offer(fetched)
  }

  /** The partition is not ours any more: the batches under way are the last, and `run` resolves when they are done. */
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
    this.#fault = { error: this.#moved(this.#committed.offset, checkpoint) }
    this.#inbox.wake()
  }

  /** Resolves when it is over and nothing of it is under way. */
  get finished(): Promise<void> {
    return this.#finished.promise
  }

  /** Works until the end, once the one before is finished. Never rejects. */
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
        const unsolved = await this.#solve(error, failureCount)
        if (unsolved !== null && !this.#isOver) await this.#hold(unsolved, backOffMs(failureCount))
        if (!(error instanceof Repositioned)) failureCount++
      }
    }
    this.#inbox.close()
    this.#finished.resolve()
  }

  /** Null while it goes on. At its end, only what is stuck is left of it. */
  held(): Held | null {
    if (this.#isOver) return this.#stuck()
    const unserved = this.#needs.unservedReason(this.#topic, this.#partition)
    if (unserved !== null) return this.#heldFor(unserved.reason, UNSERVED[unserved.reason], unserved.sinceMs)
    return this.#held ?? this.#stuck()
  }

  /** The oldest message that is known and not processed. */
  head(): Head | null {
    return this.#heads[0] ?? null
  }

  #stuck(): Held | null {
    if (this.#before !== null) return this.#before.#stuck()
    const [sinceMs] = this.#begunMs.values()
    const tookMs = sinceMs === undefined ? 0 : this.#needs.nowMs() - sinceMs
    if (sinceMs === undefined || tookMs < STUCK_MS) return null
    return this.#heldFor('stuck', `a batch was begun ${Math.round(tookMs / 1_000)} s ago`, sinceMs)
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
    const checkpoint = await this.#needs.loadCheckpoint(this.#topic, this.#partition)
    if (checkpoint.offset !== this.#committed.offset) this.#held = null
    this.#committed = checkpoint
    this.#taken = checkpoint
    this.#uncompared = checkpoint.lastMessage
    this.#fault = null
    this.#heads = this.#heads.slice(0, 1).filter(({ offset }) => offset > checkpoint.offset)
    if (this.#isOver) return
    // Kafka may not know the last commit: the membership before ended, or the broker did not answer.
    if (checkpoint.offset >= 0n) this.#report()
    this.#inbox.open(fetchStart(checkpoint, this.#earliest))
  }

  /** Takes batches until the end. Throws what is in their way, with no batch under way. */
  async #work(): Promise<void> {
    let previous = Promise.resolve()
    let current = previous
    try {
      while (await this.#hasNext()) {
        // Two are under way at most, and the second is a whole one: small ones would cost more time than they save.
        await previous
        await this.#doneOrWhole(current)
        previous = current
        const taken = Promise.withResolvers<void>()
        current = this.#process(previous, taken.resolve)
        await taken.promise
      }
    } finally {
      await current
    }
  }

  /** Resolves when the batch under way is done, or a whole one waits behind it. */
  async #doneOrWhole(underWay: Promise<void>): Promise<void> {
    let isDone = false
    const done = underWay.then(() => {
      isDone = true
    })
    while (!isDone && !this.#isGivenUp && !this.#inbox.holds(this.#needs.batchCountMax())) {
      await Promise.race([done, this.#inbox.change(null)])
    }
  }

  /** Waits until there is something to take. False: it is over. */
  async #hasNext(): Promise<boolean> {
    while (this.#inbox.isEmpty && !this.#isGivenUp) {
      await this.#inbox.change(this.#held === null ? null : QUIET_MS)
      if (this.#inbox.isEmpty && !this.#isGivenUp && this.#begunMs.size === 0) this.#held = null
    }
    if (this.#fault !== null) throw this.#fault.error
    return !this.#isOver
  }

  /**
   * Takes one batch through the pipeline; it commits behind `previous`, and ends behind it. Never rejects: what goes wrong
   * is the fault of all that follow.
   */
  async #process(previous: Promise<void>, onTaken: () => void): Promise<void> {
    const begun = Symbol()
    this.#begunMs.set(begun, this.#needs.nowMs())
    let giveSlotBack = await this.#needs.takeSlot()
    let isNext = false
    void previous.then(() => {
      isNext = true
    })
    const turn = async () => {
      if (!isNext) {
        // Others are worked on while this one waits.
        giveSlotBack()
        await previous
        if (!this.#isGivenUp) giveSlotBack = await this.#needs.takeSlot()
      }
      return !this.#isGivenUp
    }
    try {
      const batch = this.#isGivenUp ? null : await this.#take()
      onTaken()
      if (batch !== null) await this.#dispatch(batch, turn, begun)
    } catch (error) {
      // The one before may be queued for a slot.
      giveSlotBack()
      await previous
      this.#fault ??= { error }
      this.#inbox.wake()
    } finally {
      this.#begunMs.delete(begun)
      giveSlotBack()
      onTaken()
      await previous
    }
  }

  async #dispatch(batch: Batch, turn: () => Promise<boolean>, begun: symbol): Promise<void> {
    for (let rest: Batch | null = batch; rest !== null && !this.#isGivenUp; ) {
      rest = this.#settle(rest, await this.#needs.dispatch(rest, turn))
      if (rest !== null) this.#begunMs.set(begun, this.#needs.nowMs())
    }
  }

  /** The next batch; null where what there is was processed before. */
  async #take(): Promise<Batch | null> {
    const found = await this.#inbox.take(this.#needs.batchCountMax())
    if (found === null) return null
    await this.#compare(found.messages[0])
    if (found.through <= this.#taken.offset) return null
    const { offset: heldOffset, lastMessage: lastBefore } = this.#taken
    const messages = found.messages.filter(({ offset }) => offset > heldOffset)
    this.#heads.push(...messages.slice(0, 1).map(headOf))
    const last = messages.at(-1)
    const lastMessage = last === undefined ? lastBefore : fingerprintOf(last)
    this.#taken = { offset: found.through, lastMessage }
    const fingerprintAt = (offset: bigint) =>
      fingerprintOf(messages.find((message) => message.offset === offset) as FetchedMessage)
    return { ...this.#name, messages, heldOffset, nextOffset: found.through, lastMessage, fingerprintAt }
  }

  /** Once for each start: whether the broker still has what was processed last. Throws where it has something else. */
  async #compare(first: Parameters<typeof fingerprintOf>[0] | undefined): Promise<void> {
    const processed = this.#uncompared
    if (processed === null) return
    this.#uncompared = null
    if (compareLast(processed, first === undefined ? null : fingerprintOf(first)) !== 'another') return
    const why = `the message at offset ${processed.offset} is not the one that was processed`
    await this.#startAnew(why, await this.#needs.offsetsOf(this.#topic, this.#partition))
  }

  /** Returns what is left of a batch that was cut. */
  #settle(batch: Batch, result: CommitResult): Batch | null {
    if (result.kind === 'given-up') return null
    if (result.kind === 'moved') throw this.#moved(batch.heldOffset, result.checkpoint)
    const { nextOffset } = result
    const isCut = nextOffset < batch.nextOffset
    const messages = isCut ? batch.messages.filter(({ offset }) => offset > nextOffset) : []
    const lastMessage = isCut ? (batch.fingerprintAt?.(nextOffset) ?? null) : batch.lastMessage
    this.#committed = { offset: nextOffset, lastMessage }
    this.#commitCount++
    this.#held = null
    this.#heads = [
      ...messages.slice(0, 1).map(headOf),
      ...this.#heads.filter(({ offset }) => offset > nextOffset),
    ]
    this.#report()
    return isCut ? { ...batch, messages, heldOffset: nextOffset } : null
  }

  #report(): void {
    this.#needs.reportToKafka(this.#topic, this.#partition, this.#committed.offset + 1n)
  }

  #moved(held: bigint, checkpoint: bigint): Moved {
    this.#needs.log.warn(
      { ...this.#name, held: String(held), checkpoint: String(checkpoint) },
      checkpoint < held ? REWOUND : MOVED,
    )
    return new Moved('the checkpoint was moved')
  }

  /** Deals with what is no reason to wait. Returns what is one, else null. */
  async #solve(error: unknown, failureCount: number): Promise<unknown> {
    if (error instanceof Repositioned || this.#isOver) return null
    if (isOfNoAccountOnce(error) && failureCount === 0) return null
    if (!(error instanceof BrokerError && error.message === 'OFFSET_OUT_OF_RANGE')) return error
    try {
      return (await this.#findRange(error.asked)) ? null : error
    } catch (cause) {
      return cause instanceof Repositioned ? null : cause
    }
  }

  /** The broker does not have the offset that it was asked for. False: it seems to have it after all. */
  async #findRange(asked: bigint): Promise<boolean> {
    const ends = await this.#needs.offsetsOf(this.#topic, this.#partition)
    const { offset } = this.#committed
    const found = judgeOutOfRange(offset, asked, ends)
    if (found.kind === 'passed') return false
    if (found.kind === 'recreated') {
      return await this.#startAnew('the checkpoint lies beyond the end of the partition', ends)
    }
    this.#earliest = found.earliest
    if (found.count > 0n) {
      const [expected, earliest, gone] = [offset + 1n, found.earliest, found.count].map(String)
      this.#needs.log.error(
        { ...this.#name, expected, earliest, gone },
        `${gone} messages are lost: the broker's retention deleted them before they were processed`,
      )
    }
    return true
  }

  async #startAnew(why: string, { earliest, end }: Ends): Promise<never> {
    const checkpoint = this.#committed.offset
    this.#needs.log.error(
      {
        ...this.#name,
        checkpoint: String(checkpoint),
        earliest: String(earliest),
        end: String(end),
      },
      `${why}: the topic was recreated; starting from its earliest offset`,
    )
    await this.#needs.resetCheckpoint(this.#topic, this.#partition, checkpoint, earliest - 1n)
    this.#earliest = earliest
    this.#heads = []
    throw new Repositioned()
  }

  /** Waits before the next try. */
  async #hold(error: unknown, durationMs: number): Promise<void> {
    const detail = error instanceof Error ? error.message : String(error)
    const held = this.#heldFor(reasonOf(error, this.#needs), detail, this.#held?.sinceMs)
    this.#held = held
    this.#needs.log.error(
      {
        err: error,
        ...this.#name,
        offset: String(held.offset),
        reason: held.reason,
        retryInMs: durationMs,
        ...offsetsIn(error),
      },
      `a partition is held; nothing is lost: ${HOLD_REASONS[held.reason]}`,
    )
    await this.#needs.sleep(durationMs, this.#over.signal)
  }

  #heldFor(reason: HoldReason, detail: string, sinceMs = this.#needs.nowMs()): Held {
    return { ...this.#name, reason, detail, offset: this.#committed.offset + 1n, sinceMs }
  }
}

function headOf({ offset, timestampMs = -1n }: Message): Head {
  return { offset, timestampMs }
}

/** What is over by the next try, most often. */
function isOfNoAccountOnce(error: unknown): boolean {
  return error instanceof Moved || (error instanceof BrokerError && isStaleMetadata(error.message))
}

function reasonOf(error: unknown, needs: ConsumerNeeds): HoldReason {
  if (error instanceof UnreadableBatch) return error.reason
  if (!(error instanceof BrokerError)) return needs.reasonOf(error)
  return brokerReason(error.message)
}

function offsetsIn(error: unknown): { firstOffset: string; lastOffset: string } | null {
  if (!(error instanceof UnreadableBatch)) return null
  return { firstOffset: String(error.offsets.first), lastOffset: String(error.offsets.last) }
}
