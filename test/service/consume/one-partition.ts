import { pino } from 'pino'
import type { UnservedState } from '../../../src/service/consume/cluster.ts'
import { Condition } from '../../../src/service/consume/condition-variable.ts'
import type { CommittedOffset } from '../../../src/service/consume/group-offsets.ts'
import { createBudget } from '../../../src/service/consume/inbox.ts'
import { takeFingerprint } from '../../../src/service/consume/records/record.ts'
import type { Batch, WaitingPartition } from '../../../src/service/decide/attempt/batch.ts'
import type { Checkpoint } from '../../../src/service/decide/event/position.ts'
import type { Hold } from '../../../src/service/model/request/hold.ts'
import { committedAt } from '../build.ts'
import { assign } from './assign.ts'
import { type WrittenBatch, writeBatch } from './records/write-batch.ts'

export interface Given {
  readonly checkpoint?: Checkpoint
  /** What the group had committed to Kafka. */
  readonly committed?: CommittedOffset
  readonly batchCountMax?: number
  readonly budgetBytes?: number
  /** Called before a batch is taken. */
  readonly waitForTurn?: (partition: WaitingPartition) => Promise<void>
  /** The commit of this offset is slow. */
  readonly slowAt?: bigint
  /** Called between a batch and its commit; may reject. */
  readonly beforeCommit?: (batch: Batch) => Promise<void>
  /** Replaces the look-ups; may reject. */
  readonly prepare?: (batch: Batch) => Promise<void>
  readonly ensureCheckpoint?: () => Promise<void>
  /** Called after a reset of the checkpoint; rejects if its answer is lost. */
  readonly afterReset?: () => Promise<void>
  readonly findHold?: () => Promise<Hold | null>
  /** Batches are cut after this many messages. */
  readonly askedCount?: number
}

export const OURS = { id: '00000000-0000-4000-8000-00000000000a', place: 'db/ours' }

/**
 * One partition: a broker with a log in memory, a database with the checkpoint, and the consumer between them. Only `fetchOnce`
 * fetches, once per call.
 */
export function onePartition(given: Given = {}) {
  const broker = {
    log: [] as Buffer[],
    earliest: 0n,
    /** Where the log ends if its last messages are gone. */
    emptyEnd: null as bigint | null,
    unserved: null as UnservedState | null,
    error: null as string | null,
    endsFail: null as Error | null,
    endsAnswer: Promise.resolve(),
    endsCount: 0,
  }
  const database = {
    checkpoint: given.checkpoint ?? { offset: -1n, lastMessage: null },
    resets: [] as bigint[],
  }
  const committed: Batch[] = []
  const prepared: Batch[] = []
  const reports: bigint[] = []
  const sleeps: number[] = []
  const lost: [topic: string, count: bigint][] = []
  const rowsLost: bigint[] = []
  const lines: { level: number; msg: string; [field: string]: unknown }[] = []
  /** The two clocks differ: the wall clock may be set. */
  const clock = { nowMs: 0, aheadMs: 0 }
  const budget = createBudget(given.budgetBytes ?? Number.POSITIVE_INFINITY, new Condition())

  const { partitions, owned } = assign({
    ensureCheckpoint: async () => {
      await given.ensureCheckpoint?.()
      return database.checkpoint
    },
    resetCheckpoint: async (_topic, _partition, expected, offset) => {
      if (expected !== database.checkpoint.offset) return database.checkpoint.offset
      database.resets.push(offset)
      database.checkpoint = { offset, lastMessage: null }
      await given.afterReset?.()
      return offset
    },
    findHold: given.findHold ?? (async () => null),
    processNext: async (waiting) => {
      await given.waitForTurn?.(waiting)
      const batch = await waiting.take()
      if (batch === null) return null
      prepared.push(batch)
      await given.prepare?.(batch)
      await given.beforeCommit?.(batch)
      if (batch.expectedCheckpoint !== database.checkpoint.offset) {
        return { batch, result: { kind: 'moved', checkpoint: database.checkpoint.offset, wasSlow: false } }
      }
      const lastOffset = batch.messages[(given.askedCount ?? Infinity) - 1]?.offset ?? batch.lastOffset
      const last = batch.messages.find(({ offset }) => offset === lastOffset)
      const lastMessage = last === undefined ? batch.lastMessage : takeFingerprint(last)
      database.checkpoint = { offset: lastOffset, lastMessage }
      committed.push(batch)
      return { batch, result: { ...committedAt(lastOffset), wasSlow: lastOffset === given.slowAt } }
    },
    countLost: (topic, count) => lost.push([topic, count]),
    countRowsLost: (_topic, count) => rowsLost.push(count),
    database: OURS,
    findReason: (error) => (String(error).includes('locked') ? 'locked' : 'not-committed'),
    readEnds: async () => {
      broker.endsCount++
      await broker.endsAnswer
      if (broker.endsFail !== null) throw broker.endsFail
      return { earliest: broker.earliest, end: end() }
    },
    unservedReason: () => broker.unserved,
    commitToKafka: ({ next }) => reports.push(next),
    budget,
    batchCountMax: given.batchCountMax ?? 500,
    wallMs: () => clock.nowMs + clock.aheadMs,
    monotonicMs: () => clock.nowMs,
    sleep: async (durationMs) => {
      sleeps.push(durationMs)
      await new Promise((resolve) => setImmediate(resolve))
    },
    log: pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) }),
  })

  const baseOf = (batch: Buffer) => batch.readBigInt64BE(0)
  const lastOf = (batch: Buffer) => baseOf(batch) + BigInt(batch.readInt32BE(23))
  const end = () => {
    if (broker.emptyEnd !== null) return broker.emptyEnd
    const last = broker.log.at(-1)
    return last === undefined ? 0n : lastOf(last) + 1n
  }

  const consumer = () => owned()[0]

  /** The answer to the next request; null if nothing is wanted. */
  function ask(batchCountMax = 100) {
    const from = consumer()?.wanted ?? null
    if (from === null) return null
    const isOutOfRange = from < broker.earliest || from > end()
    const error = broker.error ?? (isOutOfRange ? 'OFFSET_OUT_OF_RANGE' : null)
    const found = broker.log.filter((batch) => lastOf(batch) >= from).slice(0, batchCountMax)
    const bytes = error === null ? Buffer.concat(found) : Buffer.alloc(0)
    return { from, fetched: { error, bytes, aborted: [] } }
  }

  return {
    broker,
    database,
    clock,
    committed,
    prepared,
    reports,
    sleeps,
    lost,
    rowsLost,
    lines,
    budget,
    settled,
    /** Appends batches of messages with these values. */
    publish: (...batches: string[][]) => {
      for (const values of batches) append({ records: values.map((value) => ({ value })) })
    },
    append,
    /** Fetches once and waits until all work is idle. Returns false if there was nothing to fetch. */
    fetchOnce: async (batchCountMax?: number) => {
      const answer = ask(batchCountMax)
      if (answer !== null) consumer()?.offer(answer.fetched, answer.from)
      await settled()
      return answer !== null && (answer.fetched.error !== null || answer.fetched.bytes.length > 0)
    },
    /** Starts the consumer, like a membership that was assigned the partition. */
    start: async () => {
      partitions.assign({ claims: [0] }, given.committed === undefined ? [] : [given.committed])
      await settled()
    },
    end: async () => {
      partitions.end()
      await partitions.finished()
    },
    blocked: () => partitions.blocked()[0] ?? null,
    wanted: () => consumer()?.wanted ?? null,
    oldestMs: () => partitions.oldestMs('claims', 0),
    values: () => committed.flatMap(({ messages }) => messages.map(({ value }) => String(value))),
  }

  function append(batch: Omit<WrittenBatch, 'baseOffset'> & { baseOffset?: number }): Buffer {
    const bytes = writeBatch({ baseOffset: Number(end()), ...batch })
    broker.log.push(bytes)
    return bytes
  }
}

/** Decompression takes a few turns of the event loop. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}
