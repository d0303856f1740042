import { zstdCompressSync } from 'node:zlib'
import kafkajs, { type Producer, type Transaction } from 'kafkajs'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { Batch, CommitResult } from '../../src/core/batch/batch.ts'
import type { Checkpoint } from '../../src/core/batch/position.ts'
import { createConsumer } from '../../src/kafka/consumer.ts'
import { committedAt } from '../core/attempt/build.ts'
import { produceRaw } from '../stack/kafka/produce-raw.ts'
import { createTopics, ensureTopics, produce } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { writeBatch } from './records/write-batch.ts'

const brokers = process.env.MQ_BROKERS ?? ''
const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker keeps no transactions'
// Each test mostly waits for the broker.
t.jobs = 3

/** Consumes the topics with checkpoints in memory. `dispatch` replaces the pipeline. */
async function consume(
  t: Test,
  topics: readonly string[],
  dispatch: (batch: Batch) => Promise<void> = async () => {},
) {
  const checkpoints = new Map<string, Checkpoint>()
  const messages: { topic: string; value: string }[] = []
  const consumer = createConsumer(
    {
      connection: { brokers: [brokers], ssl: null, sasl: null },
      groupId: topics.join(),
      topics,
      sessionTimeoutMs: 6_000,
      partitionsAtOnce: 4,
      batchCountMax: 500,
    },
    {
      loadCheckpoint: async (topic, partition) =>
        checkpoints.get(`${topic}/${partition}`) ?? { offset: -1n, lastMessage: null },
      listCheckpoints: async () => [],
      resetCheckpoint: async (_topic, _partition, _held, offset) => offset,
      dispatch: async (batch): Promise<CommitResult> => {
        await dispatch(batch)
        const { topic, partition } = batch
        checkpoints.set(`${topic}/${partition}`, { offset: batch.lastOffset, lastMessage: batch.lastMessage })
        for (const { value } of batch.messages) messages.push({ topic, value: String(value) })
        return committedAt(batch.lastOffset)
      },
      reasonOf: () => 'not-committed',
    },
    pino({ level: 'silent' }),
  )
  const running = consumer.run()
  t.teardown(async () => {
    await consumer.stop()
    await running
  })
  const valuesOf = (topic: string) =>
    messages.filter((found) => found.topic === topic).map(({ value }) => value)
  return { consumer, valuesOf, checkpoints }
}

t.test(
  'a missing or hidden topic is blocked until it appears, and the others are consumed',
  { skip: SKIP_MOCK },
  async (t) => {
    const { claims } = await createTopics(brokers, { claims: 1 })
    const late = `late-${claims}`
    await produce(brokers, [{ topic: claims, value: 'a' }])
    const { consumer, valuesOf } = await consume(t, [claims, late])
    await until(() => valuesOf(claims).length === 1, { what: 'the topic that is there', timeoutMs: 20_000 })
    t.match(consumer.blocked(), [{ topic: late, partition: 0, reason: 'missing', offset: null }])
    await ensureTopics(brokers, { [late]: 1 })
    await until(() => consumer.blocked().length === 0, { what: 'the topic to be noticed', timeoutMs: 20_000 })
  },
)

t.test('200,000 records in one batch are consumed', async (t) => {
  const { claims, billing } = await createTopics(brokers, { claims: 1, billing: 1 })
  const values = Array.from({ length: 200_000 }, (_, i) => String(i))
  const records = values.map((value) => ({ value }))
  await produceRaw(
    brokers,
    claims,
    0,
    writeBatch({ baseOffset: 0, records, codec: 4, pack: zstdCompressSync }),
  )
  await produce(brokers, [{ topic: billing, value: 'other' }])
  const { valuesOf } = await consume(t, [claims, billing])
  await until(() => valuesOf(billing).length === 1, { what: 'the other topic', timeoutMs: 20_000 })
  await until(() => valuesOf(claims).length === values.length, { what: 'all of them' })
  t.strictSame(valuesOf(claims), values)
})

t.test('a partition with a waiting batch does not delay the others of its broker', async (t) => {
  const { claims, billing } = await createTopics(brokers, { claims: 1, billing: 1 })
  await produce(brokers, [{ topic: claims, value: 'waits' }])
  const waiting = Promise.withResolvers<void>()
  const { valuesOf } = await consume(t, [claims, billing], ({ topic }) =>
    topic === claims ? waiting.promise : Promise.resolve(),
  )
  for (let round = 1; round <= 3; round++) {
    await produce(brokers, [
      { topic: billing, value: 'goes on' },
      { topic: claims, value: 'waits, too' },
    ])
    await until(() => valuesOf(billing).length === round, { what: `round ${round}`, timeoutMs: 20_000 })
  }
  t.strictSame(valuesOf(claims), [])
  waiting.resolve()
  await until(() => valuesOf(claims).length === 4, { what: 'the others' })
})

/** As Java's IntegerSerializer writes it. */
function integer(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

t.test('of overlapping transactions, only committed events are consumed', { skip: SKIP_MOCK }, async (t) => {
  const { claims } = await createTopics(brokers, { claims: 1 })
  const kafka = new kafkajs.Kafka({ brokers: [brokers], logLevel: kafkajs.logLevel.NOTHING })
  const producers = Array.from({ length: 5 }, (_, i) =>
    kafka.producer({ transactionalId: `${claims}-${i}`, maxInFlightRequests: 1, idempotent: true }),
  )
  await Promise.all(producers.map((producer) => producer.connect()))
  t.teardown(() => Promise.all(producers.map((producer) => producer.disconnect())))
  const open = new Map<number, { transaction: Transaction; values: string[] }>()
  const committed: string[] = []
  // kafkajs gets the first steps wrong: 0 and 1 open, 1 aborts, 0 aborts.
  const steps = [0, 1, 1, 0]
  for (let step = 0; step < 60; step++) steps.push((step * 7 + (step % 3) * 2) % 5)
  const begin = (i: number) => (producers[i] as Producer).transaction()
  const finish = async (i: number, commits: boolean) => {
    const { transaction, values } = open.get(i) ?? {}
    open.delete(i)
    await (commits ? transaction?.commit() : transaction?.abort())
    if (commits) committed.push(...(values ?? []))
  }
  for (const [step, i] of steps.entries()) {
    const known = open.get(i)
    if (known !== undefined && (known.values.length > step % 3 || step < 4)) {
      await finish(i, step >= 4 && step % 2 === 0)
      continue
    }
    const { transaction, values } = known ?? { transaction: await begin(i), values: [] }
    open.set(i, { transaction, values })
    values.push(String(step))
    await transaction.send({
      topic: claims,
      messages: [{ key: integer((step % 5) - 1), value: String(step) }],
    })
  }
  for (const i of [...open.keys()]) await finish(i, i % 2 === 0)
  await produce(brokers, [{ topic: claims, value: 'last' }])
  const { valuesOf } = await consume(t, [claims])
  await until(() => valuesOf(claims).includes('last'), { what: 'the last event' })
  const byNumber = (a: string, b: string) => Number(a) - Number(b)
  t.ok(committed.length > 5 && committed.length < 30, `${committed.length} are committed`)
  t.strictSame(valuesOf(claims).slice(0, -1).sort(byNumber), committed.sort(byNumber))
})

t.test('new partitions of a topic are consumed within 30 s', { skip: SKIP_MOCK }, async (t) => {
  const { claims } = await createTopics(brokers, { claims: 1 })
  await produce(brokers, [{ topic: claims, value: 'first', partition: 0 }])
  const { valuesOf } = await consume(t, [claims])
  await until(() => valuesOf(claims).length === 1, { what: 'the first event' })
  const admin = new kafkajs.Kafka({ brokers: [brokers], logLevel: kafkajs.logLevel.NOTHING }).admin()
  await admin.connect()
  await admin.createPartitions({ topicPartitions: [{ topic: claims, count: 3 }] })
  await admin.disconnect()
  await until(
    () =>
      produce(brokers, [{ topic: claims, value: 'new', partition: 2 }]).then(
        () => true,
        () => false,
      ),
    { what: 'the new partition to have a leader' },
  )
  await until(() => valuesOf(claims).includes('new'), { what: 'the new partition', timeoutMs: 30_000 })
})
