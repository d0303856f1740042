import { pino } from 'pino'
import type { Batch, CommitResult } from '../../src/core/batch/batch.ts'
import type { Checkpoint } from '../../src/core/batch/checkpoint.ts'
import { createBudget, type FetchControls } from '../../src/kafka/inbox.ts'
import type { Unserved } from '../../src/kafka/mends/metadata-errors.ts'
import { type Consumption, PartitionConsumer } from '../../src/kafka/partition.ts'
import type { AbortedTransaction } from '../../src/kafka/records/aborted-transactions.ts'
import { type WrittenBatch, writeBatch } from './records/write-batch.ts'

export interface Given {
  readonly checkpoint?: Checkpoint
  readonly batchCountMax?: number
  readonly budgetBytes?: number
  readonly takeSlot?: Consumption['takeSlot']
  /** Stands between a batch and its commit; may reject. */
  readonly beforeCommit?: (batch: Batch) => Promise<void>
  /** Stands in the place of the look-ups; may reject. */
  readonly prepare?: (batch: Batch) => Promise<void>
  readonly loadCheckpoint?: () => Promise<void>
  /** Batches are cut behind so many messages. */
  readonly askedCount?: number
}

/**
 * One partition: a broker with a log in memory, kafkajs's way of fetching it, a database that keeps the checkpoint, and the
 * consumer between them. Nothing is fetched by itself: `fetch` does it once.
 */
export function onePartition(given: Given = {}) {
  const broker = {
    log: [] as Buffer[],
    aborted: [] as AbortedTransaction[],
    earliest: 0n,
    unserved: null as Unserved | null,
    error: null as string | null,
  }
  const database = {
    checkpoint: given.checkpoint ?? { offset: -1n, lastMessage: null },
    resets: [] as bigint[],
  }
  const kafkajs = { next: 0n, isPaused: false, sought: null as bigint | null, seeks: [] as bigint[] }
  const committed: Batch[] = []
  const prepared: Batch[] = []
  const reports: bigint[] = []
  const sleeps: number[] = []
  const lines: { level: number; msg: string; [field: string]: unknown }[] = []
  const clock = { nowMs: 0 }
  const budget = createBudget(given.budgetBytes ?? Number.POSITIVE_INFINITY)

  const consumption: Consumption = {
    loadCheckpoint: async () => {
      await given.loadCheckpoint?.()
      return database.checkpoint
    },
    resetCheckpoint: async (_topic, _partition, held, offset) => {
      if (held !== database.checkpoint.offset) return database.checkpoint.offset
      database.resets.push(offset)
      database.checkpoint = { offset, lastMessage: null }
      return offset
    },
    listCheckpoints: async () => [{ topic: 'claims', partition: 0, offset: database.checkpoint.offset }],
    dispatch: async (batch): Promise<CommitResult> => {
      prepared.push(batch)
      await given.prepare?.(batch)
      await given.beforeCommit?.(batch)
      if (batch.heldOffset !== database.checkpoint.offset) {
        return { kind: 'moved', checkpoint: database.checkpoint.offset }
      }
      const nextOffset = batch.messages[(given.askedCount ?? Infinity) - 1]?.offset ?? batch.nextOffset
      const lastMessage =
        nextOffset < batch.nextOffset ? (batch.fingerprintAt?.(nextOffset) ?? null) : batch.lastMessage
      database.checkpoint = { offset: nextOffset, lastMessage }
      committed.push(batch)
      return { kind: 'committed', nextOffset, inserted: [], rejected: [] }
    },
    reasonOf: (error) => (String(error).includes('locked') ? 'locked' : 'not-committed'),
    takeSlot: given.takeSlot ?? (async () => () => {}),
    endsOf: async () => ({ earliest: broker.earliest, end: end() }),
    unservedReason: () => broker.unserved,
    budget,
    latest: new Map(),
    batchCountMax: () => given.batchCountMax ?? 500,
    nowMs: () => clock.nowMs,
    sleep: async (durationMs) => {
      sleeps.push(durationMs)
      await new Promise((resolve) => setImmediate(resolve))
    },
    log: pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) }),
  }

  const controls: FetchControls = {
    seek: (offset) => {
      kafkajs.seeks.push(offset)
      kafkajs.sought = offset
    },
    pause: () => {
      kafkajs.isPaused = true
    },
    resume: () => {
      kafkajs.isPaused = false
    },
  }

  const consumerAfter = (before: PartitionConsumer | null) =>
    new PartitionConsumer({
      topic: 'claims',
      partition: 0,
      consumption,
      controls,
      commitToKafka: (next) => reports.push(next),
      before,
    })
  let isStarted = false
  let consumer = consumerAfter(null)

  const baseOf = (batch: Buffer) => batch.readBigInt64BE(0)
  const lastOf = (batch: Buffer) => baseOf(batch) + BigInt(batch.readInt32BE(23))
  const end = () => {
    const last = broker.log.at(-1)
    return last === undefined ? 0n : lastOf(last) + 1n
  }

  /** What kafkajs has asked for; the answer may be handed over later. Null: the partition is paused. */
  function ask(batchCountMax = 100) {
    if (kafkajs.isPaused) return null
    if (kafkajs.sought !== null) kafkajs.next = kafkajs.sought
    kafkajs.sought = null
    const from = kafkajs.next
    const isOutOfRange = from < broker.earliest || from > end()
    const error = broker.error ?? (isOutOfRange ? 'OFFSET_OUT_OF_RANGE' : null)
    const found = broker.log.filter((batch) => lastOf(batch) >= from).slice(0, batchCountMax)
    const bytes = error === null ? Buffer.concat(found) : Buffer.alloc(0)
    if (error === null && bytes.length === 0) return null
    const resolve = (offset: bigint) => {
      kafkajs.next = offset + 1n
    }
    return { from, error, bytes, aborted: broker.aborted, resolve }
  }

  return {
    broker,
    database,
    kafkajs,
    clock,
    committed,
    prepared,
    reports,
    sleeps,
    lines,
    budget,
    settled,
    /** Appends batches of messages with these values. */
    publish: (...batches: string[][]) => {
      for (const values of batches) append({ records: values.map((value) => ({ value })) })
    },
    append,
    ask,
    hand: (answer: ReturnType<typeof ask>) => {
      if (answer !== null) consumer.offer(answer)
    },
    /** Fetches once, and waits until nothing happens any more. False: there was nothing to fetch. */
    fetch: async (batchCountMax?: number) => {
      const answer = ask(batchCountMax)
      if (answer !== null) consumer.offer(answer)
      await settled()
      return answer !== null
    },
    /** As a membership that is assigned the partition, after what is under way of the one before. */
    start: async () => {
      consumer.end()
      kafkajs.isPaused = true
      consumer = consumerAfter(isStarted ? consumer : null)
      isStarted = true
      void consumer.run()
      await settled()
    },
    end: async () => {
      consumer.end()
      await consumer.finished
    },
    held: () => consumer.held(),
    oldestMs: () => consumer.oldestMs(),
    values: () => committed.flatMap(({ messages }) => messages.map(({ value }) => String(value))),
  }

  function append(batch: Omit<WrittenBatch, 'baseOffset'> & { baseOffset?: number }): Buffer {
    const bytes = writeBatch({ baseOffset: Number(end()), ...batch })
    broker.log.push(bytes)
    return bytes
  }
}

/** Streams that unpack take some turns of the event loop. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}
