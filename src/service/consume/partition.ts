import type { Logger } from 'pino'
import type { Batch, ProcessedBatch, ProcessNext } from '../decide/attempt/batch.ts'
import type { Message } from '../decide/event/message.ts'
import {
  type Checkpoint,
  type Ends,
  type Fingerprint,
  fetchStart,
  type TopicPartition,
} from '../decide/event/position.ts'
import { BLOCK_REASONS, type Blocked, type BlockReason } from '../model/block-reasons.ts'
import { describeHold, Held, type Hold } from '../model/request/hold.ts'
import { errorMessage } from '../text/faults.ts'
import { backOffMs } from '../time/back-off.ts'
import type { UnservedState } from './cluster.ts'
import {
  type CommittedOffset,
  type DatabaseName,
  describeLost,
  judgeCommitted,
  LOST_REMEDY,
} from './committed-offsets.ts'
import type { Condition } from './condition.ts'
import { type FetchedBytes, isStaleMetadata } from './fetch.ts'
import { BrokerError, type Budget, Inbox } from './inbox.ts'
import { type FetchedMessage, takeFingerprint } from './records/record.ts'
import { UnreadableBatch } from './records/unreadable.ts'
import {
  BEYOND_THE_END,
  compareLast,
  describeAnother,
  judgeOutOfRange,
  judgeRecreated,
} from './recreated-topic.ts'

export interface ConsumerNeeds {
  /** The checkpoint in force, added if there is none. Rejects while another session has locked it. */
  readonly ensureCheckpoint: (topic: string, partition: number) => Promise<Checkpoint>
  /** Resets the checkpoint after the topic was recreated, if the expected one is in force. Returns the one then in force. */
  readonly resetCheckpoint: (
    topic: string,
    partition: number,
    expected: bigint,
    offset: bigint,
  ) => Promise<bigint>
  readonly listCheckpoints: (
    topics: readonly string[],
  ) => Promise<readonly (TopicPartition & { readonly offset: bigint })[]>
  readonly processNext: ProcessNext
  /** The hold of a topic, or null. May be a second old. */
  readonly findHold: (topic: string) => Promise<Hold | null>
  /** Classifies an error of the functions above. */
  readonly findReason: (error: unknown) => Extract<BlockReason, 'locked' | 'not-committed'>
  /** Counts messages that the broker's retention deleted before they were processed. */
  readonly countLost: (topic: string, count: bigint) => void
  /** Counts messages whose rows the database has lost. */
  readonly countRowsLost: (topic: string, count: bigint) => void
  /** The database that has the checkpoints. */
  readonly database: DatabaseName
}

/** Shared by all partitions and assignments: a batch of an earlier assignment keeps its bytes. */
export interface PartitionNeeds extends ConsumerNeeds {
  /** Rejects if no broker leads the partition. */
  readonly readEnds: (partition: TopicPartition) => Promise<Ends>
  /** The reason why nothing of a partition can be fetched, or null. */
  readonly unservedReason: (partition: TopicPartition) => UnservedState | null
  /** Notified when a partition wants to be fetched. */
  readonly fetchable: Condition
  readonly budget: Budget
  readonly batchCountMax: number
  readonly wallMs: () => number
  readonly monotonicMs: () => number
  /** Ends early when the signal aborts; never rejects. */
  readonly sleep: (durationMs: number, signal: AbortSignal) => Promise<void>
  readonly log: Logger
}

/** A partition has recovered from its failures once nothing has come for this long, even if no broker was reached. */
const QUIET_MS = 5_000
/** A batch that takes this long counts as stuck. With the default deadlines, none of its statements or look-ups takes as long. */
const STUCK_MS = 60_000

/** Time between two looks at whether a hold is still in force. */
const HELD_MS = 1_000

const UNSERVED: Readonly<Record<UnservedState['reason'], string>> = {
  'no-rights': 'the broker does not let this user see the topic',
  'no-leader': 'no broker leads the partition',
  'no-answer': 'the broker that leads the partition does not answer',
}

const MOVED = 'another consumer moved the checkpoint: continuing from there'
class Moved extends Error {}
/** The broker has another message in place of the last processed one. */
class Recreated extends Error {}

/**
 * Consumes one partition while this member of the group owns it. Fetches fill the inbox; batches are taken from it one by one. The
 * database's checkpoint is the authority on position: any failure drops the inbox, and the partition starts again from the
 * checkpoint.
 */
export class PartitionConsumer {
  readonly #name: TopicPartition
  readonly #needs: PartitionNeeds
  readonly #commitToKafka: (next: bigint) => void
  readonly #inbox: Inbox
  readonly #over = new AbortController()
  readonly #finished = Promise.withResolvers<void>()
  /** The consumer of an earlier assignment, until it is finished. */
  #before: PartitionConsumer | null
  #committed: Checkpoint = { offset: -1n, lastMessage: null }
  /** The offset that Kafka has been told last. */
  #told: Pick<CommittedOffset, 'next' | 'database'> | null
  /** The last processed message, until it is compared with the broker's at that offset. */
  #uncompared: Fingerprint | null = null
  /** The broker is known to have nothing before this offset. */
  #earliest = 0n
  /** Set by `rewind`, thrown by `#hasNext` once no batch runs. */
  #rewound: Moved | null = null
  #blocked: Blocked | null = null
  #failureCount = 0
  /** The first message of the running batch, or of the one that failed. */
  #head: { readonly offset: bigint; readonly timestampMs: bigint } | null = null
  /** The next batch, if it is taken already: the rest of one that was cut, or one that a hold stopped. */
  #rest: Batch | null = null
  /** The last batch took long: the next one must not hold up other partitions. */
  #wasSlow = false
  /** Since when it waits for its turn or works on a batch, by `monotonicMs`. */
  #batchSinceMs: number | null = null

  /**
   * @param commitToKafka takes the offset of the group's next message
   * @param told what the group had committed to Kafka before this assignment; null if unknown
   * @param before the consumer of the same partition in an earlier assignment
   */
  constructor(
    name: TopicPartition,
    needs: PartitionNeeds,
    commitToKafka: (next: bigint) => void,
    told: CommittedOffset | null,
    before: PartitionConsumer | null,
  ) {
    this.#name = name
    this.#needs = needs
    this.#commitToKafka = commitToKafka
    this.#told = told
    this.#before = before
    this.#inbox = new Inbox(needs.budget)
  }

  /** Consumes until `end`, after the previous consumer has finished. Never rejects. */
  async run(): Promise<void> {
    // Its running batch may still move the checkpoint, which must be read after that.
    await this.#before?.finished
    this.#before = null
    while (!this.#isOver) {
      try {
        await this.#begin()
        await this.#work()
      } catch (error) {
        this.#inbox.close()
        this.#failureCount++
        const unhandled = await this.#handle(error)
        if (unhandled !== null && !this.#isOver) await this.#block(unhandled)
      }
    }
    this.#inbox.close()
    this.#finished.resolve()
  }

  /** The partition is no longer ours: the running batch is the last one. */
  end(): void {
    this.#over.abort()
    this.#inbox.stop()
  }

  /** Resolves after `end`, when no batch is running. */
  get finished(): Promise<void> {
    return this.#finished.promise
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted
  }

  get name(): TopicPartition {
    return this.#name
  }

  /** The offset to fetch from; null while nothing is to be fetched. */
  get wanted(): bigint | null {
    return this.#inbox.wanted
  }

  /** It will soon want to be fetched: its inbox is full, or it is starting. After a failure a backoff may come first. */
  get isAboutToWant(): boolean {
    return !this.#isOver && this.#failureCount === 0 && this.#inbox.wanted === null
  }

  /** @param from the requested offset */
  offer(fetched: FetchedBytes, from: bigint): void {
    this.#inbox.offer(fetched, from)
  }

  async #begin(): Promise<void> {
    const { topic, partition } = this.#name
    const checkpoint = await this.#needs.ensureCheckpoint(topic, partition)
    this.#reportLoss(checkpoint.offset)
    if (checkpoint.offset !== this.#committed.offset) this.#blocked = null
    this.#committed = checkpoint
    this.#uncompared = checkpoint.lastMessage
    this.#rewound = null
    this.#rest = null
    if (this.#head !== null && this.#head.offset <= checkpoint.offset) this.#head = null
    if (this.#isOver) return
    // Kafka's offset may lag behind: the previous owner ended before its commit, or the broker did not answer. Before the first
    // message it names the database.
    this.#tell(checkpoint.offset + 1n)
    this.#inbox.open(fetchStart(checkpoint, this.#earliest))
    this.#needs.fetchable.notify()
  }

  /** Logs and counts rows that the database has lost, before their events are sent again. */
  #reportLoss(checkpoint: bigint): void {
    const { database, log, countRowsLost } = this.#needs
    const fault = this.#told && judgeCommitted(this.#told, database.id, checkpoint)
    if (fault?.kind !== 'lost') return
    const { count } = fault
    countRowsLost(this.#name.topic, count)
    log.error(
      {
        ...this.#name,
        checkpoint: String(checkpoint),
        committed: String(checkpoint + count),
        remedy: LOST_REMEDY,
      },
      describeLost(count),
    )
  }

  #tell(next: bigint): void {
    this.#told = { next, database: this.#needs.database }
    this.#commitToKafka(next)
  }

  /** Processes batches until the end. Throws the error that stops them. */
  async #work(): Promise<void> {
    while (await this.#hasNext()) {
      this.#batchSinceMs = this.#needs.monotonicMs()
      let hold: Hold | null = null
      try {
        const processed = await this.#needs.processNext({
          bytes: this.#inbox.bytes,
          isAlone: this.#failureCount > 0 || this.#wasSlow,
          take: () => this.#next(),
        })
        if (processed !== null) this.#settle(processed)
      } catch (error) {
        if (!(error instanceof Held)) throw error
        hold = error.hold
      } finally {
        this.#batchSinceMs = null
      }
      if (hold !== null) await this.#waitFor(hold)
    }
  }

  /** Keeps what is fetched until the topic is no longer held. */
  async #waitFor(first: Hold): Promise<void> {
    this.#needs.log.info(
      { ...this.#name, reason: describeHold(first) },
      'a partition is held; its events wait',
    )
    for (let hold: Hold | null = first; hold !== null && !this.#isStopping; ) {
      this.#blocked = this.#blockedFor('held', describeHold(hold), Date.parse(hold.since))
      await this.#needs.sleep(HELD_MS, this.#over.signal)
      hold = await this.#needs.findHold(this.#name.topic)
    }
    this.#blocked = null
  }

  /** The next batch, kept until it is settled. */
  async #next(): Promise<Batch | null> {
    if (this.#isStopping) return null
    this.#rest ??= await this.#take()
    return this.#rest
  }

  get #isStopping(): boolean {
    return this.#rewound !== null || this.#isOver
  }

  /** Waits until there is something to take. Returns false after the end. */
  async #hasNext(): Promise<boolean> {
    while (this.#rest === null && this.#inbox.isEmpty && !this.#isStopping) {
      const isSettled = this.#failureCount === 0 && this.#uncompared === null
      await this.#inbox.changed.wait(isSettled ? null : QUIET_MS)
      if (!this.#inbox.isEmpty || this.#isStopping) continue
      await this.#throwIfRecreated()
      this.#recover()
    }
    if (this.#rewound !== null) throw this.#rewound
    return !this.#isOver
  }

  /** No fetch brings anything if the last processed message is gone, or if a recreated topic ends just before it: the end tells which. */
  async #throwIfRecreated(): Promise<void> {
    const ends = this.#uncompared === null ? null : await this.#ends().catch(() => null)
    if (ends === null || !this.#inbox.isEmpty) return
    this.#uncompared = null
    const fault = judgeRecreated(this.#committed, ends, null)
    if (fault !== null) throw new Recreated(fault)
  }

  /** The next batch; null if all fetched messages are processed. */
  async #take(): Promise<Batch | null> {
    const processed = this.#uncompared
    this.#uncompared = null
    const wasNoMessage = processed !== null && this.#inbox.beginsWithNoMessageAt(processed.offset)
    const taken = await this.#inbox.take(this.#needs.batchCountMax)
    if (taken === null) return null
    if (processed !== null) requireSame(processed, wasNoMessage ? 'no message' : taken.messages[0])
    const { offset: expectedCheckpoint, lastMessage: lastBefore } = this.#committed
    const { lastOffset } = taken
    if (lastOffset <= expectedCheckpoint) return null
    const messages = taken.messages.filter(({ offset }) => offset > expectedCheckpoint)
    this.#head = toHead(messages[0])
    const last = messages.at(-1)
    const lastMessage = last === undefined ? lastBefore : takeFingerprint(last)
    return { ...this.#name, messages, expectedCheckpoint, lastOffset, lastMessage }
  }

  /** Notes a commit, and the rest of a batch that was cut. */
  #settle({ batch, result }: ProcessedBatch): void {
    if (result.kind === 'moved') throw this.#noteMoved(batch.expectedCheckpoint, result.checkpoint)
    const { lastOffset, wasSlow } = result
    const isCut = lastOffset < batch.lastOffset
    const messages = isCut ? batch.messages.filter(({ offset }) => offset > lastOffset) : []
    const last = isCut ? batch.messages.find(({ offset }) => offset === lastOffset) : undefined
    const lastMessage = last === undefined ? batch.lastMessage : takeFingerprint(last)
    this.#committed = { offset: lastOffset, lastMessage }
    this.#recover()
    this.#wasSlow = wasSlow
    this.#head = toHead(messages[0])
    this.#rest = isCut ? { ...batch, messages, expectedCheckpoint: lastOffset } : null
    this.#tell(lastOffset + 1n)
  }

  #recover(): void {
    this.#failureCount = 0
    this.#blocked = null
  }

  #noteMoved(expected: bigint, checkpoint: bigint): Moved {
    // One that moved back is judged when the partition begins there.
    if (checkpoint > expected)
      this.#needs.log.warn(
        { ...this.#name, expected: String(expected), checkpoint: String(checkpoint) },
        MOVED,
      )
    return new Moved('the checkpoint was moved')
  }

  get committed(): bigint {
    return this.#committed.offset
  }

  /** The database has lost commits: the messages since its checkpoint are processed again. */
  rewind(checkpoint: bigint): void {
    if (this.#isStopping) return
    this.#rewound = this.#noteMoved(this.#committed.offset, checkpoint)
    this.#inbox.changed.notify()
  }

  /** Handles an error that needs no backoff and returns null. Returns any other error. */
  async #handle(error: unknown): Promise<unknown> {
    if (this.#isOver) {
      if (!(error instanceof Moved))
        this.#needs.log.warn(
          { err: error, ...this.#name, offset: String(this.#committed.offset + 1n) },
          'the last batch of a partition failed; the next owner of the partition processes it',
        )
      return null
    }
    if (isIgnoredOnFirstFailure(error) && this.#failureCount === 1) return null
    try {
      if (error instanceof Recreated) await this.#startAnew(error.message, await this.#ends())
      else if (error instanceof BrokerError && error.code === 'OFFSET_OUT_OF_RANGE')
        return (await this.#continueInRange(error.from)) ? null : error
      else return error
    } catch (cause) {
      return cause instanceof Moved ? null : cause
    }
    return null
  }

  #ends(): Promise<Ends> {
    return this.#needs.readEnds(this.#name)
  }

  /** Finds the offset at which to continue after an offset out of range. Returns false if the broker has that offset by now. */
  async #continueInRange(asked: bigint): Promise<boolean> {
    const ends = await this.#ends()
    const { offset } = this.#committed
    const found = judgeOutOfRange(offset, asked, ends)
    if (found.kind === 'passed') return false
    if (found.kind === 'recreated') {
      await this.#startAnew(BEYOND_THE_END, ends)
      return true
    }
    this.#earliest = found.earliest
    const earliest = String(found.earliest)
    if (offset < 0n)
      this.#needs.log.warn(
        { ...this.#name, earliest },
        "no message of this partition was processed yet: starting at the earliest; the broker's retention deleted those before it",
      )
    else if (found.count > 0n) {
      this.#needs.countLost(this.#name.topic, found.count)
      this.#needs.log.error(
        { ...this.#name, expected: String(offset + 1n), earliest, gone: String(found.count) },
        `${found.count} messages are lost: the broker's retention deleted them before they were processed`,
      )
    }
    return true
  }

  /** Throws `Moved` if another consumer moved the checkpoint meanwhile. */
  async #startAnew(why: string, { earliest, end }: Ends): Promise<void> {
    const { topic, partition } = this.#name
    const checkpoint = this.#committed.offset
    const inForce = await this.#needs.resetCheckpoint(topic, partition, checkpoint, earliest - 1n)
    if (inForce !== earliest - 1n) throw this.#noteMoved(checkpoint, inForce)
    // Offsets of the topic before say nothing of this one.
    this.#tell(earliest)
    this.#earliest = earliest
    this.#head = null
    this.#needs.log.error(
      { topic, partition, checkpoint: String(checkpoint), earliest: String(earliest), end: String(end) },
      `${why}: the topic was recreated; starting from its earliest offset`,
    )
  }

  async #block(error: unknown): Promise<void> {
    const retryInMs = backOffMs(this.#failureCount - 1)
    const reason = findReason(error, this.#needs)
    // During a rebalance the previous owner of the partition may still be committing its last batch.
    if (reason === 'locked' && this.#failureCount === 1)
      this.#needs.log.debug({ ...this.#name, retryInMs }, 'another session locks the checkpoint')
    else this.#report(error, reason, retryInMs)
    await this.#needs.sleep(retryInMs, this.#over.signal)
  }

  #report(error: unknown, reason: BlockReason, retryInMs: number): void {
    const before = this.#blocked
    const blocked = this.#blockedFor(reason, errorMessage(error), before?.sinceMs)
    this.#blocked = blocked
    const { detail, offset } = blocked
    // A broker that still refuses says nothing new with each retry, and nothing with the stack.
    const isRepeat = error instanceof BrokerError && before?.reason === reason && before.detail === detail
    const cause = error instanceof BrokerError ? { detail } : { err: error }
    this.#needs.log[isRepeat ? 'debug' : 'error'](
      { ...cause, ...this.#name, offset: String(offset), reason, retryInMs, ...offsetsIn(error) },
      `a partition is blocked; nothing is lost: ${BLOCK_REASONS[reason].remedy}`,
    )
  }

  #blockedFor(reason: BlockReason, detail: string, sinceMs = this.#needs.wallMs()): Blocked {
    return { ...this.#name, reason, detail, offset: this.#committed.offset + 1n, sinceMs }
  }

  /** Null while the partition is being consumed. After `end`, only a stuck batch is reported. */
  blocked(): Blocked | null {
    if (this.#isOver) return this.#stuck()
    const unserved = this.#needs.unservedReason(this.#name)
    if (unserved !== null)
      return this.#blockedFor(unserved.reason, UNSERVED[unserved.reason], unserved.sinceMs)
    return this.#blocked ?? this.#stuck()
  }

  #stuck(): Blocked | null {
    if (this.#before !== null) return this.#before.#stuck()
    const tookMs = this.#batchSinceMs === null ? 0 : this.#needs.monotonicMs() - this.#batchSinceMs
    if (tookMs < STUCK_MS) return null
    const detail = `a batch has waited for its turn or run for ${Math.round(tookMs / 1_000)} s`
    return this.#blockedFor('stuck', detail, this.#needs.wallMs() - tookMs)
  }

  /** Time of the oldest fetched and unprocessed message, in ms since 1970, or null. */
  oldestMs(): number | null {
    return this.#head === null ? this.#inbox.oldestMs : Number(this.#head.timestampMs)
  }
}

/** Leaves out the message itself, which would keep its whole fetch in memory. */
function toHead(message: Message | undefined) {
  return message === undefined ? null : { offset: message.offset, timestampMs: message.timestampMs ?? -1n }
}

/** True for errors that are usually gone when the partition starts again. */
function isIgnoredOnFirstFailure(error: unknown): boolean {
  return error instanceof Moved || (error instanceof BrokerError && isStaleMetadata(error.code))
}

function findReason(error: unknown, needs: PartitionNeeds): BlockReason {
  const isOfBroker = error instanceof UnreadableBatch || error instanceof BrokerError
  return isOfBroker ? error.reason : needs.findReason(error)
}

function offsetsIn(error: unknown): { firstOffset: string; lastOffset: string } | null {
  if (!(error instanceof UnreadableBatch)) return null
  return { firstOffset: String(error.offsets.first), lastOffset: String(error.offsets.last) }
}

function requireSame(processed: Fingerprint, first: FetchedMessage | 'no message' | undefined): void {
  const found = first === undefined || first === 'no message' ? (first ?? null) : takeFingerprint(first)
  if (compareLast(processed, found) === 'another') throw new Recreated(describeAnother(processed))
}
