import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { CommitResult } from '../../src/core/batch/batch.ts'
import type { Checkpoint } from '../../src/core/batch/position.ts'
import { createConsumer, createSlots } from '../../src/kafka/consumer.ts'
import { committedAt } from '../core/attempt/build.ts'
import { createTopics, ensureTopics, produce, withTransactions } from '../stack/topics.ts'
import { until } from '../stack/until.ts'

const brokers = process.env.MQ_BROKERS ?? ''
const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker keeps no transactions'
// Each test mostly waits for the broker.
t.jobs = 3

/** Consumes the topics with checkpoints in memory. */
async function consume(t: Test, topics: readonly string[]) {
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
        const { topic, partition } = batch
        checkpoints.set(`${topic}/${partition}`, { offset: batch.lastOffset, lastMessage: batch.lastMessage })
        for (const { value } of batch.messages) messages.push({ topic, value: String(value) })
        return committedAt(batch.lastOffset)
      },
      reasonOf: () => 'not-committed',
      countLost: () => {},
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

t.test(
  'the end of a transaction is processed, so that nothing seems to wait',
  { skip: SKIP_MOCK },
  async (t) => {
    const { claims } = await createTopics(brokers, { claims: 1 })
    const { checkpoints } = await consume(t, [claims])
    await withTransactions(brokers, [claims], async ([producer]) => {
      const transaction = await producer?.transaction()
      await transaction?.send({ topic: claims, messages: [{ partition: 0, value: 'a' }] })
      await transaction?.commit()
    })
    // The message is at 0, the marker at 1.
    const offset = () => checkpoints.get(`${claims}/0`)?.offset
    await until(async () => offset() === 1n, { what: 'the checkpoint to be at the marker' })
  },
)

t.test('an error that kafkajs calls final is followed by a new membership', async (t) => {
  const { claims } = await createTopics(brokers, { claims: 1 })
  const { consumer, valuesOf } = await consume(t, [claims])
  await until(consumer.hasJoined, { what: 'the first membership' })
  const { prototype } = createRequire(import.meta.url)('kafkajs/src/consumer/consumerGroup.js')
  const { heartbeat } = prototype
  prototype.heartbeat = function (...args: unknown[]) {
    if (this.groupId !== claims) return heartbeat.apply(this, args)
    prototype.heartbeat = heartbeat
    return Promise.reject(Reflect.construct(kafkajs.KafkaJSNonRetriableError, ['final']))
  }
  await until(() => /final/.test(consumer.waitsFor() ?? ''), { what: 'the reason for waiting' })
  await produce(brokers, [{ topic: claims, value: 'a' }])
  await until(() => valuesOf(claims).length === 1, { what: 'the next membership', timeoutMs: 20_000 })
})

/** Six requests for a slot, and a clock that the test advances. */
async function sixWaiting(countMax: number) {
  const sleepers: (() => void)[] = []
  const takeSlot = createSlots(countMax, () => new Promise<void>((resolve) => sleepers.push(resolve)))
  const given: (() => void)[] = []
  for (let i = 0; i < 6; i++) void takeSlot().then((giveBack) => given.push(giveBack))
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const strike = async () => {
    for (const wake of sleepers.splice(0)) wake()
    await settle()
  }
  await settle()
  return { given, settle, strike }
}

t.test('three batches start at once, and the next when one of them is done', async (t) => {
  const { given, settle } = await sixWaiting(8)
  t.equal(given.length, 3)
  given[1]?.()
  await settle()
  t.equal(given.length, 4)
})

t.test('long batches let others start, up to the limit of running ones', async (t) => {
  const { given, settle, strike } = await sixWaiting(5)
  await strike()
  t.equal(given.length, 5)
  await strike()
  t.equal(given.length, 5)
  given[0]?.()
  await settle()
  t.equal(given.length, 6)
})
