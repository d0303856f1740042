import type { Logger } from 'pino'
import type { ProcessedBatch, ProcessNext } from '../decide/attempt/batch.ts'
import { type Checkpoint, type Ends, fetchStart, type TopicPartition } from '../decide/event/position.ts'
import { BLOCK_REASONS, type Blocked, type BlockReason } from '../model/block-reasons.ts'
import { describeHold, Held, type Hold } from '../model/request/hold.ts'
import { errorMessage } from '../text/faults.ts'
import { backOffMs } from '../time/back-off.ts'
import { BatchReader, Recreated } from './batch-reader.ts'
import type { UnservedState } from './cluster.ts'
import type { Condition } from './condition-variable.ts'
import { type FetchedBytes, isStaleMetadata } from './fetch-request.ts'
import type { CommittedOffset, DatabaseName, NextOffset } from './group-offsets.ts'
import { BrokerError, type Budget, Inbox } from './inbox.ts'
import { describeLost, judgeCommitted, LOST_REMEDY } from './offset-faults.ts'
import { UnreadableBatch } from './records/unreadable.ts'
import { judgeOutOfRange } from './recreated-topic.ts'

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
  /** See `readPartitionEnds`. */
  readonly readEnds: (partition: TopicPartition) => Promise<Ends>
  /** The reason why nothing of a partition can be fetched, or null. */
  readonly unservedReason: (partition: TopicPartition) => UnservedState | null
  readonly commitToKafka: (next: NextOffset) => void
  /** Notified when a partition wants to be fetched. */
  readonly fetchable: Condition
  readonly budget: Budget
  readonly batchCountMax: number
  /** In ms since 1970. */
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

class Moved extends Error {
  override readonly message = 'the checkpoint was moved'
}

/** See the table of states in the README. After `end` the partition stays in its state until a running batch has ended. */
type State =
  /** The consumer of an earlier assignment may still run a batch. */
  | { readonly kind: 'starting'; readonly before: PartitionConsumer | null }
  | { readonly kind: 'waiting'; readonly reader: BatchReader }
  /** Since `sinceMs`, by `monotonicMs`, a batch waits for its turn or runs. */
  | { readonly kind: 'processing'; readonly reader: BatchReader; readonly sinceMs: number }
  | { readonly kind: 'held'; readonly hold: Hold }
  | { readonly kind: 'failed' }
  | { readonly kind: 'ended' }

/** Failures in a row. */
interface Failures {
  count: number
  /** Null if none of them needed a pause, or the reason is gone. */
  blocked: Blocked | null
}

/**
 * Consumes one partition while this member of the group owns it. The database's checkpoint is the authority on position: any failure
 * drops what is fetched, and the partition starts again from the checkpoint.
 */
export class PartitionConsumer {
  readonly name: TopicPartition
  readonly #needs: PartitionNeeds
  readonly #over = new AbortController()
  /** Resolves after `end`, when no batch is running. */
  readonly finished: Promise<void>
  #state: State
  /** To be compared with the checkpoint at the next start; if null, the previous checkpoint is compared instead. */
  #committedToKafka: CommittedOffset | null
  #checkpoint: Checkpoint = { offset: -1n, lastMessage: null }
  /** The broker has no message between the checkpoint and this offset. */
  #earliest = 0n
  /** Null once a batch is committed, or nothing has come for a while. */
  #failures: Failures | null = null
  /** The first message of a batch that failed or was held, without its bytes, which would keep a whole fetch in memory. */
  #droppedHead: { readonly offset: bigint; readonly timestampMs: bigint } | null = null
  /** The last batch took long: the next one must not hold up other partitions. */
  #wasSlow = false

  /**
   * Consumes until `end`.
   *
   * @param committed the group's committed offset before this assignment; null if unknown
   * @param before the consumer of the same partition in an earlier assignment, which finishes first
   */
  constructor(
    name: TopicPartition,
    needs: PartitionNeeds,
    committed: CommittedOffset | null,
    before: PartitionConsumer | null,
  ) {
    this.name = name
    this.#needs = needs
    this.#committedToKafka = committed
    this.#state = { kind: 'starting', before }
    this.finished = this.#run(before)
  }

  async #run(before: PartitionConsumer | null): Promise<void> {
    // Its running batch may still move the checkpoint, which must be read after that.
    await before?.finished
    while (!this.#isOver) {
      try {
        this.#state = { kind: 'starting', before: null }
        await this.#consume(await this.#start())
      } catch (error) {
        await (error instanceof Held ? this.#waitWhileHeld(error.hold) : this.#fail(error))
      }
    }
    this.#state = { kind: 'ended' }
  }

  get #reader(): BatchReader | null {
    return 'reader' in this.#state ? this.#state.reader : null
  }

  async #start(): Promise<BatchReader> {
    const { ensureCheckpoint, commitToKafka, budget, batchCountMax } = this.#needs
    const checkpoint = await ensureCheckpoint(this.name.topic, this.name.partition)
    // After an end the next owner reports the loss.
    if (!this.#isOver) this.#reportLoss(checkpoint.offset)
    if (checkpoint.offset !== this.#checkpoint.offset) {
      this.#unblock()
      // If it went back, retention may have removed messages after it, too.
      this.#earliest = 0n
    }
    this.#checkpoint = checkpoint
    // Kafka's offset may lag behind: the previous owner ended before its commit, or the broker did not answer. Before the first
    // message it names the database.
    if (!this.#isOver) commitToKafka({ ...this.name, next: checkpoint.offset + 1n })
    const inbox = new Inbox(budget, fetchStart(checkpoint, this.#earliest))
    return new BatchReader(this.name, inbox, batchCountMax, checkpoint.lastMessage)
  }

  /** Logs and counts rows that the database has lost, before their events are sent again. */
  #reportLoss(checkpoint: bigint): void {
    const { database, log, countRowsLost } = this.#needs
    const committed = this.#committedToKafka ?? { next: this.#checkpoint.offset + 1n, database }
    this.#committedToKafka = null
    const fault = judgeCommitted(committed, database.id, checkpoint)
    if (fault?.kind !== 'lost') return
    const { count } = fault
    countRowsLost(this.name.topic, count)
    log.error(
      {
        ...this.name,
        checkpoint: String(checkpoint),
        committed: String(checkpoint + count),
        remedy: LOST_REMEDY,
      },
      describeLost(count),
    )
  }

  #unblock(): void {
    if (this.#failures !== null) this.#failures.blocked = null
  }

  /** Processes batches until `end` or `rewind`. */
  async #consume(reader: BatchReader): Promise<void> {
    this.#state = { kind: 'waiting', reader }
    this.#needs.fetchable.notify()
    while (!this.#isOver && (await this.#waitForNext(reader))) await this.#process(reader)
    reader.close()
  }

  /** Waits until there is something to take. Returns false once nothing more is to be taken. */
  async #waitForNext(reader: BatchReader): Promise<boolean> {
    this.#state = { kind: 'waiting', reader }
    while (reader.isEmpty && !reader.isStopped) {
      const { changed } = reader.inbox
      const isSettled = this.#failures === null && reader.isCompared
      await changed.wait(isSettled ? null : QUIET_MS)
      if (!reader.isEmpty || reader.isStopped) break
      this.#failures = null
      if (!reader.isCompared) await this.#compareEnds(reader)
    }
    return !reader.isStopped
  }

  /** Nothing comes after the checkpoint: asks the broker for its ends, unless something comes meanwhile. */
  async #compareEnds(reader: BatchReader): Promise<void> {
    const ends = await Promise.race([
      this.#needs.readEnds(this.name).catch(() => null),
      reader.inbox.changed.wait(QUIET_MS),
    ])
    if (ends && reader.isEmpty && !reader.isStopped) reader.compareEnds(this.#checkpoint, ends)
  }

  async #process(reader: BatchReader): Promise<void> {
    this.#state = { kind: 'processing', reader, sinceMs: this.#needs.monotonicMs() }
    const processed = await this.#needs.processNext({
      bytes: reader.inbox.bytes,
      isAlone: this.#failures !== null || this.#wasSlow,
      take: () => reader.next(this.#checkpoint),
    })
    if (processed !== null) this.#settle(reader, processed)
  }

  /** Notes a commit. */
  #settle(reader: BatchReader, { batch, result }: ProcessedBatch): void {
    if (result.kind === 'moved') {
      this.#noteMoved(batch.expectedCheckpoint, result.checkpoint)
      throw new Moved()
    }
    this.#checkpoint = reader.settle(batch, result.lastOffset)
    this.#failures = null
    this.#droppedHead = null
    this.#wasSlow = result.wasSlow
    this.#needs.commitToKafka({ ...this.name, next: result.lastOffset + 1n })
  }

  #noteMoved(expected: bigint, checkpoint: bigint): void {
    // One that moved back is judged when the partition starts there.
    if (checkpoint > expected)
      this.#needs.log.warn(
        { ...this.name, expected: String(expected), checkpoint: String(checkpoint) },
        'another consumer moved the checkpoint: continuing from there',
      )
  }

  /** Drops what is fetched, which would take the room of other topics, and waits until the topic is no longer held. */
  async #waitWhileHeld(first: Hold): Promise<void> {
    this.#needs.log.info(
      { ...this.name, reason: describeHold(first) },
      'a partition is held; its events wait',
    )
    this.#unblock()
    this.#drop()
    try {
      for (let hold: Hold | null = first; hold !== null && !this.#isOver; ) {
        this.#state = { kind: 'held', hold }
        await this.#needs.sleep(HELD_MS, this.#over.signal)
        hold = await this.#needs.findHold(this.name.topic)
      }
    } catch (error) {
      await this.#fail(error)
    }
  }

  /** Drops what is fetched. Returns true if a batch was in process. */
  #drop(): boolean {
    const reader = this.#reader
    const head = reader?.head ?? null
    if (head !== null) this.#droppedHead = { offset: head.offset, timestampMs: head.timestampMs ?? -1n }
    reader?.close()
    return head !== null
  }

  async #fail(error: unknown): Promise<void> {
    const hadBatch = this.#drop()
    this.#state = { kind: 'failed' }
    if (this.#isOver) {
      if (hadBatch && !(error instanceof Moved))
        this.#needs.log.warn(
          { err: error, ...this.name, offset: String(this.#checkpoint.offset + 1n) },
          'the last batch of a partition failed; the next owner of the partition processes it',
        )
      return
    }
    const failures = this.#failures ?? { count: 0, blocked: null }
    failures.count++
    this.#failures = failures
    if (failures.count === 1 && isIgnoredOnFirstFailure(error)) return
    try {
      await this.#recover(error)
    } catch (fault) {
      if (!this.#isOver) await this.#block(fault, failures)
    }
  }

  /** Finds where to go on in a recreated topic, or after an offset out of range. Rejects with what still stops the partition. */
  async #recover(error: unknown): Promise<void> {
    if (error instanceof Recreated) return this.#startAnew(error.message, await this.#ends())
    const isOutOfRange = error instanceof BrokerError && error.code === 'OFFSET_OUT_OF_RANGE'
    if (!isOutOfRange || !(await this.#continueInRange(error.from))) throw error
  }

  /** Rejects with BrokerError: whatever fails, no batch was tried. */
  #ends(): Promise<Ends> {
    return this.#needs.readEnds(this.name).catch((error: Error & { readonly type?: string }) => {
      throw new BrokerError(error.type ?? errorMessage(error), this.#checkpoint.offset + 1n)
    })
  }

  /** Finds the offset at which to continue after an offset out of range. Returns false if the broker has that offset by now. */
  async #continueInRange(asked: bigint): Promise<boolean> {
    const ends = await this.#ends()
    const { offset } = this.#checkpoint
    const found = judgeOutOfRange(offset, asked, this.#earliest, ends)
    if (found.kind === 'passed') return false
    if (found.kind === 'recreated') {
      await this.#startAnew(found.why, ends)
      return true
    }
    this.#earliest = found.earliest
    const earliest = String(found.earliest)
    if (offset < 0n)
      this.#needs.log.warn(
        { ...this.name, earliest },
        "no message of this partition was processed yet: starting at the earliest; the broker's retention deleted those before it",
      )
    else if (found.count > 0n) {
      this.#needs.countLost(this.name.topic, found.count)
      this.#needs.log.error(
        { ...this.name, expected: String(offset + 1n), earliest, gone: String(found.count) },
        `${found.count} messages are lost: the broker's retention deleted them before they were processed`,
      )
    }
    return true
  }

  /** Does nothing once the partition has ended, or if another consumer moved the checkpoint meanwhile. */
  async #startAnew(why: string, { earliest, end }: Ends): Promise<void> {
    if (this.#isOver) return
    const { topic, partition } = this.name
    const checkpoint = this.#checkpoint.offset
    this.#earliest = earliest
    const inForce = await this.#needs
      .resetCheckpoint(topic, partition, checkpoint, earliest - 1n)
      .catch((error) => {
        // Only the answer may be lost: then the partition starts there, and the database has lost no rows.
        this.#committedToKafka = { ...this.name, next: earliest, database: this.#needs.database }
        throw error
      })
    if (inForce !== earliest - 1n) return this.#noteMoved(checkpoint, inForce)
    this.#checkpoint = { offset: inForce, lastMessage: null }
    this.#droppedHead = null
    this.#unblock()
    this.#needs.commitToKafka({ ...this.name, next: earliest })
    this.#needs.log.error(
      { topic, partition, checkpoint: String(checkpoint), earliest: String(earliest), end: String(end) },
      `${why}: the topic was recreated; starting from its earliest offset`,
    )
  }

  /** Reports the error, and waits. */
  async #block(error: unknown, failures: Failures): Promise<void> {
    const retryInMs = backOffMs(failures.count - 1)
    const reason = findReason(error, this.#needs)
    // During a rebalance the previous owner of the partition may still be committing its last batch.
    if (reason === 'locked' && failures.count === 1)
      this.#needs.log.debug({ ...this.name, retryInMs }, 'another session locks the checkpoint')
    else this.#report(error, reason, failures, retryInMs)
    await this.#needs.sleep(retryInMs, this.#over.signal)
  }

  #report(error: unknown, reason: BlockReason, failures: Failures, retryInMs: number): void {
    const before = failures.blocked
    const blocked = this.#blockedFor(reason, errorMessage(error), before?.sinceMs)
    failures.blocked = blocked
    const { detail, offset } = blocked
    // A broker that still refuses says nothing new with each retry, and nothing with the stack.
    const isRepeat = error instanceof BrokerError && before?.reason === reason && before.detail === detail
    const cause = error instanceof BrokerError ? { detail } : { err: error }
    this.#needs.log[isRepeat ? 'debug' : 'error'](
      { ...cause, ...this.name, offset: String(offset), reason, retryInMs, ...offsetsIn(error) },
      `a partition is blocked; nothing is lost: ${BLOCK_REASONS[reason].remedy}`,
    )
  }

  /** The partition is no longer ours: the running batch is the last one. */
  end(): void {
    this.#over.abort()
    this.#reader?.stop()
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted
  }

  /** The database has lost commits: the messages since its checkpoint are processed again, after the running batch. */
  rewind(): void {
    this.#reader?.stop()
  }

  get checkpoint(): bigint {
    return this.#checkpoint.offset
  }

  /** The offset to fetch from; null while nothing is to be fetched. */
  get wanted(): bigint | null {
    return this.#reader?.inbox.wanted ?? null
  }

  /** It will want to be fetched within moments: its inbox is full, or it is starting. Not after a failure, since a backoff may follow. */
  get isAboutToWant(): boolean {
    const isPaused = this.#state.kind === 'held' || this.#failures !== null
    return !this.#isOver && !isPaused && this.wanted === null
  }

  /** @param from the requested offset */
  offer(fetched: FetchedBytes, from: bigint): void {
    this.#reader?.inbox.offer(fetched, from)
  }

  /** Time of the oldest fetched and unprocessed message, in ms since 1970, or null. */
  oldestMs(): number | null {
    const head = this.#reader?.head ?? this.#droppedHead
    if (head !== null && head.offset > this.#checkpoint.offset) return Number(head.timestampMs ?? -1n)
    return this.#reader?.inbox.oldestMs ?? null
  }

  /** Null while the partition is being consumed. After `end`, only a stuck batch is reported. */
  blocked(): Blocked | null {
    if (this.#isOver) return this.#stuck()
    const unserved = this.#needs.unservedReason(this.name)
    if (unserved !== null)
      return this.#blockedFor(unserved.reason, UNSERVED[unserved.reason], unserved.sinceMs)
    if (this.#state.kind === 'held') {
      const { hold } = this.#state
      return this.#blockedFor('held', describeHold(hold), Date.parse(hold.since))
    }
    return this.#failures?.blocked ?? this.#stuck()
  }

  #stuck(): Blocked | null {
    if (this.#state.kind === 'starting') {
      const { before } = this.#state
      return before === null ? null : before.#stuck()
    }
    const tookMs = this.#state.kind === 'processing' ? this.#needs.monotonicMs() - this.#state.sinceMs : 0
    if (tookMs < STUCK_MS) return null
    const detail = `a batch has waited for its turn or run for ${Math.round(tookMs / 1_000)} s`
    return this.#blockedFor('stuck', detail, this.#needs.wallMs() - tookMs)
  }

  #blockedFor(reason: BlockReason, detail: string, sinceMs = this.#needs.wallMs()): Blocked {
    return { ...this.name, reason, detail, offset: this.#checkpoint.offset + 1n, sinceMs }
  }
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
