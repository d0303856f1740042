import { syncBuiltinESMExports } from 'node:module'
import { mock } from 'node:test'
import zlib from 'node:zlib'
import { Condition } from '../../../../src/service/consume/condition-variable.ts'
import { createBudget } from '../../../../src/service/consume/inbox.ts'
import { takeFingerprint } from '../../../../src/service/consume/records/record.ts'
import type { Batch, CommitResult } from '../../../../src/service/decide/attempt/batch.ts'
import type { Checkpoint } from '../../../../src/service/decide/event/position.ts'
import { Held, type Hold } from '../../../../src/service/model/request/hold.ts'
import { createRandom, type Random } from '../../../stack/random.ts'
import { committedAt } from '../../build.ts'
import { assign } from '../assign.ts'
import { PartitionLog } from './log.ts'
import { Member } from './member.ts'

/** A history counts as stalled after this many undisturbed rounds without progress. */
const STALLED_ROUNDS = 100
const LARGE_BATCH_COUNT = 200_000
const HOLD: Hold = {
  id: '1',
  by: 'alice',
  because: 'a wrong text',
  since: '2026-01-31T12:00:00.000000Z',
  topics: null,
}

unpackAtOnce()
mock.timers.enable({ apis: ['setTimeout'] })

/**
 * Plays one random history of a partition, which depends on the seed alone: producers append, one or two processes consume
 * and commit, and faults occur. Then the faults stop, and the whole log must be processed. Throws the first violation.
 */
export async function playHistory(seed: number, hasLargeBatch = false): Promise<void> {
  await new History(createRandom(seed), hasLargeBatch).play()
}

/** One process: a member of the consumer group, and the consumption of its partition. */
interface Process extends ReturnType<typeof assign> {
  readonly member: Member
  /** Bytes of other partitions in its budget. */
  pressedBytes: number
}

class History {
  readonly #random: Random
  readonly #log: PartitionLog
  readonly #database: Database
  readonly #hasLargeBatch: boolean
  readonly #batchCountMax: number
  readonly #budgetBytes: number
  readonly #faultOneIn: number
  readonly #waitOneIn: number
  /** The owner of the partition is last. The one before it has not noticed its loss. */
  #processes: Process[] = []
  /** Wakes whatever waits. */
  #waiting: (() => void)[] = []
  #sleeping: { readonly untilMs: number; readonly wake: () => void }[] = []
  #nowMs = 0
  #isCalm = false
  #hold: Hold | null = null
  #failure: unknown = null

  constructor(random: Random, hasLargeBatch: boolean) {
    const { below, pick } = random
    this.#random = random
    this.#log = new PartitionLog(random, {
      producerCount: 1 + below(4),
      codecs: below(4) === 0 ? [0, 1, 2, 3, 4] : [0],
      largeBatchOneIn: below(8) === 0 ? 8 : 1_000,
    })
    this.#database = new Database(this.#log, random)
    this.#hasLargeBatch = hasLargeBatch
    this.#batchCountMax = hasLargeBatch ? 500 : pick([1, 3, 10, 100, 500])
    this.#budgetBytes = pick([200, 1_000, 5_000, Number.POSITIVE_INFINITY])
    this.#faultOneIn = pick([5, 20, 1_000])
    this.#waitOneIn = pick([2, 5, 1_000])
  }

  async play(): Promise<void> {
    const { below } = this.#random
    for (let i = below(25); i > 0; i--) this.#log.append()
    if (this.#hasLargeBatch) this.#log.appendLarge(LARGE_BATCH_COUNT)
    for (let i = below(10); i > 0; i--) this.#log.append()
    if (below(3) === 0) this.#log.compact()
    this.#startProcess()
    const acts = this.#acts()
    for (let step = 20 + below(60); step > 0; step--) {
      acts[below(acts.length)]?.()
      await this.#some()
    }
    await this.#calmDown()
  }

  /** The actions of a step, each as often as its weight. */
  #acts(): (() => void)[] {
    const { below, pick } = this.#random
    const current = () => this.#processes.at(-1) as Process
    const acts: [weight: number, act: () => void][] = [
      [10, () => this.#log.append()],
      [40, () => this.#fetchStep(pick([current(), ...this.#processes]))],
      [20, () => this.#waiting.shift()?.()],
      [8, () => this.#advance(below(3_000))],
      [2, () => this.#join(current())],
      [1, () => this.#startProcess()],
      [2, () => this.#endFirstProcess()],
      [1, () => current().member.moveLeader()],
      [1, () => (current().member.isFailing = below(2) === 0)],
      [2, () => (current().member.fetchBytesMax = pick([1, 100, 400, 2_000]))],
      [1, () => this.#log.compact()],
      [1, () => below(4) === 0 && this.#log.retain()],
      [1, () => below(4) === 0 && this.#database.restore()],
      [2, () => (this.#hold = this.#hold === null ? HOLD : null)],
      [1, () => this.#compareCheckpoints(current())],
      [2, () => this.#pressBudget(current())],
    ]
    return acts.flatMap(([weight, act]) => Array.from({ length: weight }, () => act))
  }

  #compareCheckpoints({ partitions }: Process): void {
    void partitions.rewindLost(['claims']).catch(() => {})
  }

  /** Other partitions fill or free the shared budget. */
  #pressBudget(pressed: Process, bytes = this.#random.below(2) * 4 * this.#budgetBytes): void {
    if (this.#budgetBytes === Number.POSITIVE_INFINITY) return
    pressed.budget.add(bytes - pressed.pressedBytes)
    pressed.pressedBytes = bytes
  }

  /** Stops all faults and waits, and processes the whole log. */
  async #calmDown(): Promise<void> {
    this.#isCalm = true
    this.#hold = null
    while (this.#processes.length > 1) this.#endFirstProcess()
    const first = this.#processes[0] as Process
    first.member.isFailing = false
    first.member.fetchBytesMax = 2_000
    this.#pressBudget(first, 0)
    let reached = this.#database.checkpoint.offset
    for (let round = 0; reached < this.#log.lastStable; round++) {
      if (round === STALLED_ROUNDS) {
        const blocked = first.partitions.blocked()[0]?.detail
        throw new Error(`stalled at ${reached} of ${this.#log.lastStable}: ${blocked ?? 'not blocked'}`)
      }
      // A quiet partition learns of a restored database from the comparison of checkpoints.
      if (round % 20 === 0) this.#compareCheckpoints(first)
      this.#fetchStep(first)
      await this.#goOn()
      if (this.#database.checkpoint.offset === reached) continue
      reached = this.#database.checkpoint.offset
      round = 0
    }
    if (reached >= this.#log.stableEnd) throw new Error(`the checkpoint ${reached} lies beyond the log`)
    this.#endFirstProcess()
    let isFinished = false
    void first.partitions.finished().then(() => {
      isFinished = true
    })
    for (let round = 0; !isFinished; round++) {
      if (round === STALLED_ROUNDS) throw new Error('the consumption does not end')
      await this.#goOn()
    }
  }

  async #goOn(): Promise<void> {
    for (const pass of this.#waiting.splice(0)) pass()
    this.#advance(10_000)
    await this.#turn()
  }

  #startProcess(): void {
    if (this.#processes.length > 1) return
    const budget = createBudget(this.#budgetBytes, new Condition())
    const member = new Member(this.#log, this.#random)
    const consumption = assign({
      budget,
      ensureCheckpoint: async () => {
        await this.#pass()
        return this.#database.checkpoint
      },
      listCheckpoints: async () => {
        const { offset } = this.#database.checkpoint
        await this.#pass()
        return [{ topic: 'claims', partition: 0, offset }]
      },
      resetCheckpoint: async () => this.#fail(new Error('the topic was taken for a recreated one')),
      readEnds: async () => {
        const ends = { earliest: BigInt(this.#log.start), end: BigInt(this.#log.stableEnd) }
        await this.#pass()
        return ends
      },
      findHold: async () => {
        const hold = this.#hold
        await this.#pass()
        return hold
      },
      processNext: async ({ take }) => {
        await this.#pass().catch(() => {})
        const batch = await take()
        return batch === null ? null : { batch, result: { ...(await this.#dispatch(batch)), wasSlow: false } }
      },
      batchCountMax: this.#batchCountMax,
      wallMs: () => this.#nowMs,
      monotonicMs: () => this.#nowMs,
      sleep: (durationMs, signal) => this.#sleep(durationMs, signal),
    })
    const started = { ...consumption, member, pressedBytes: 0 }
    this.#processes.push(started)
    this.#join(started)
  }

  #join({ partitions }: Process): void {
    partitions.assign({ claims: [0] }, [])
  }

  #endFirstProcess(): void {
    if (this.#processes.length > 1 || this.#isCalm) this.#processes.shift()?.partitions.end()
  }

  #fetchStep({ member, owned }: Process): void {
    member.step(owned()[0])
  }

  async #dispatch(batch: Batch): Promise<CommitResult> {
    await this.#pass()
    await this.#pass()
    if (this.#hold !== null) throw new Held(this.#hold)
    const count = batch.messages.length
    const cut =
      !this.#isCalm && count > 1 && this.#random.below(4) === 0 ? this.#random.below(count - 1) : count
    const lastOffset = batch.messages[cut]?.offset ?? batch.lastOffset
    try {
      const result = this.#database.commit(batch, lastOffset)
      // The reply may be lost.
      await this.#pass()
      return result
    } catch (error) {
      return this.#fail(error)
    }
  }

  /** Returns at once, waits for its turn, or throws. */
  async #pass(): Promise<void> {
    if (this.#isCalm) return
    if (this.#random.below(this.#waitOneIn) === 0) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    if (!this.#isCalm && this.#random.below(this.#faultOneIn) === 0) throw new Fault('a fault')
  }

  #sleep(durationMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#sleeping.push({ untilMs: this.#nowMs + durationMs, wake: resolve })
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  #advance(durationMs: number): void {
    this.#nowMs += durationMs
    mock.timers.tick(durationMs)
    const over = this.#sleeping.filter(({ untilMs }) => untilMs <= this.#nowMs)
    this.#sleeping = this.#sleeping.filter((one) => !over.includes(one))
    for (const { wake } of over) wake()
  }

  /** Lets running work continue, mostly until all of it waits. */
  async #some(): Promise<void> {
    const { below } = this.#random
    if (below(4) > 0) await this.#turn()
    else for (let i = below(12); i > 0; i--) await null
    if (this.#failure !== null) throw this.#failure
  }

  async #turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    if (this.#failure !== null) throw this.#failure
  }

  #fail(error: unknown): never {
    if (!(error instanceof Fault)) this.#failure ??= error
    throw error
  }
}

/** A temporary fault. */
class Fault extends Error {}

/** The checkpoint. A commit must contain exactly the next committed messages, in order. */
class Database {
  readonly #log: PartitionLog
  readonly #random: Random
  readonly #past: Checkpoint[] = []
  checkpoint: Checkpoint = { offset: -1n, lastMessage: null }

  constructor(log: PartitionLog, random: Random) {
    this.#log = log
    this.#random = random
  }

  /** @param lastOffset lower than the batch's if it was cut */
  commit(batch: Batch, lastOffset: bigint): CommitResult {
    const { offset: expected } = this.checkpoint
    if (batch.expectedCheckpoint !== expected) return { kind: 'moved', checkpoint: expected }
    const messages = batch.messages.filter(({ offset }) => offset <= lastOffset)
    if (lastOffset <= expected) throw new Error(`the checkpoint goes from ${expected} to ${lastOffset}`)
    this.#compare(messages, expected, lastOffset)
    const lastRead = messages.at(-1)
    const isCut = lastOffset < batch.lastOffset
    const lastMessage = isCut && lastRead !== undefined ? takeFingerprint(lastRead) : batch.lastMessage
    const last = lastRead?.offset ?? this.checkpoint.lastMessage?.offset
    // A consumer from before a restore may know a later message that compaction has removed since.
    const isLater = messages.length === 0 && (lastMessage?.offset ?? -1n) > (last ?? -1n)
    const isOfConsumer = isLater && (lastMessage?.offset ?? -1n) <= expected
    if (lastMessage?.offset !== last && !isOfConsumer)
      throw new Error(`the last message is at ${last}, not ${lastMessage?.offset}`)
    this.#past.push(this.checkpoint)
    this.checkpoint = { offset: lastOffset, lastMessage }
    return committedAt(lastOffset)
  }

  #compare(messages: Batch['messages'], after: bigint, next: bigint): void {
    const wrong = (what: string): never => {
      throw new Error(`${what}, in the batch after ${after} up to ${next}`)
    }
    let at = 0
    for (const record of this.#log.committedBetween(after, next)) {
      const message = messages[at]
      if (message?.offset !== BigInt(record.offset)) {
        if (!record.isGone) wrong(`the committed message at ${record.offset} is not the next one`)
        continue
      }
      const isSame =
        record.key === null ? message.key === null : record.key.equals(message.key ?? Buffer.alloc(0))
      if (!isSame || record.value !== String(message.value)) wrong(`another message at ${record.offset}`)
      at++
    }
    if (at < messages.length) wrong(`the message at ${messages[at]?.offset} is not committed, or not next`)
  }

  /** Restores a backup: the last commits are lost. */
  restore(): void {
    const found = this.#past[this.#random.below(this.#past.length)]
    if (found !== undefined) this.checkpoint = found
  }
}

/**
 * zlib's streams unpack on other threads, so a seed would not play the same history twice. Until the process ends
 * they unpack synchronously, into pieces of any size.
 */
function unpackAtOnce(): void {
  const streamOf = (unpack: (packed: Buffer) => Buffer) => () => ({
    end: (packed: Buffer) => {
      const bytes = unpack(packed)
      const size = Math.max(50, Math.ceil(bytes.length / 10))
      return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      )
    },
  })
  Object.defineProperties(zlib, {
    createUnzip: { value: streamOf(zlib.unzipSync) },
    createZstdDecompress: { value: streamOf(zlib.zstdDecompressSync) },
  })
  syncBuiltinESMExports()
}
