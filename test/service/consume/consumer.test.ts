import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import errors from 'kafkajs/src/protocol/error.js'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Consumer } from '../../../src/service/consume/consumer.ts'
import type { Checkpoint } from '../../../src/service/decide/event/position.ts'
import { createTopics, ensureTopics, produce } from '../../stack/topics.ts'
import { until } from '../../stack/until.ts'
import { committedAt } from '../build.ts'

const brokers = process.env.MQ_BROKERS ?? ''
const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker keeps no transactions'
// Each test mostly waits for the broker.
t.jobs = 3

/** Consumes the topics with checkpoints in memory. */
async function consume(
  t: Test,
  topics: readonly string[],
  { groupId = topics.join(), sessionTimeoutMs = 6_000 } = {},
) {
  const checkpoints = new Map<string, Checkpoint>()
  const messages: { topic: string; value: string }[] = []
  const lines: { msg: string }[] = []
  const consumer = new Consumer(
    {
      connection: { brokers: [brokers], ssl: null, sasl: null },
      groupId,
      topics,
      sessionTimeoutMs,
      batchCountMax: 500,
      build: {
        version: '1.0.0',
        ruleTableRevision: 'a',
        envelopeMapRevision: null,
        startedMs: 0,
        replica: null,
      },
    },
    {
      ensureCheckpoint: async (topic, partition) =>
        checkpoints.get(`${topic}/${partition}`) ?? { offset: -1n, lastMessage: null },
      listCheckpoints: async () => [],
      resetCheckpoint: async (_topic, _partition, _held, offset) => offset,
      processNext: async ({ take }) => {
        const batch = await take()
        if (batch === null) return null
        const { topic, partition } = batch
        checkpoints.set(`${topic}/${partition}`, { offset: batch.lastOffset, lastMessage: batch.lastMessage })
        for (const { value } of batch.messages) messages.push({ topic, value: String(value) })
        return { batch, result: { ...committedAt(batch.lastOffset), wasSlow: false } }
      },
      findHold: async () => null,
      findReason: () => 'not-committed',
      countLost: () => {},
      countRowsLost: () => {},
      database: { id: '00000000-0000-4000-8000-000000000001', place: '' },
    },
    pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) }),
  )
  const running = consumer.run()
  t.teardown(async () => {
    await consumer.stop()
    await running
  })
  const valuesOf = (topic: string) =>
    messages.filter((found) => found.topic === topic).map(({ value }) => value)
  const joinCount = () => lines.filter(({ msg }) => msg === 'joined the consumer group').length
  return { consumer, valuesOf, checkpoints, joinCount }
}

t.test('a missing or hidden topic is blocked, alone, until it appears', { skip: SKIP_MOCK }, async (t) => {
  const { claims } = await createTopics(brokers, 1)
  const late = `late-${claims}`
  await produce(brokers, [{ topic: claims, value: 'a' }])
  const { consumer, valuesOf } = await consume(t, [claims, late])
  await until(() => valuesOf(claims).length === 1, { what: 'the topic that is there' })
  t.match(consumer.blocked, [{ topic: late, partition: 0, reason: 'missing', offset: null }])
  await ensureTopics(brokers, [late], 1)
  await until(() => consumer.blocked.length === 0, { what: 'the topic to be noticed' })
})

t.test('new partitions of a topic are consumed within 30 s', { skip: SKIP_MOCK }, async (t) => {
  const { claims } = await createTopics(brokers, 1)
  await produce(brokers, [{ topic: claims, value: 'first', partition: 0 }])
  const { valuesOf } = await consume(t, [claims])
  await until(() => valuesOf(claims).length === 1, { what: 'the first event' })
  await t.rejects(produce(brokers, [{ topic: claims, value: 'new', partition: 2 }]), 'before it is there')
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

type Request = 'heartbeat'
type Answer = (proceed: () => Promise<unknown>) => Promise<unknown>
/** What the coordinator answers instead, by request and group. The tests of this file run side by side. */
const answers = new Map<string, Answer>()
const { prototype: requests } = createRequire(import.meta.url)('kafkajs/src/broker/index.js')
for (const request of ['heartbeat'] satisfies Request[]) {
  const original = requests[request]
  requests[request] = function (options: { groupId: string }) {
    const proceed = () => original.call(this, options)
    return answers.get(`${request} ${options.groupId}`)?.(proceed) ?? proceed()
  }
}

const answer = (request: Request, group: string, act: Answer) => answers.set(`${request} ${group}`, act)
const proceed: Answer = (send) => send()
const errorOf = (name: 'KafkaJSConnectionError', message: string) =>
  Reflect.construct(kafkajs[name], [message])

t.test('a member that no coordinator answers for its session joins again, as the same one', async (t) => {
  const { claims } = await createTopics(brokers, 1)
  const { consumer, valuesOf, joinCount } = await consume(t, [claims])
  await until(() => consumer.membership.hasJoined, { what: 'the first membership' })
  answer('heartbeat', claims, () => Promise.reject(errorOf('KafkaJSConnectionError', 'lost')))
  await until(() => /lost/.test(consumer.membership.waitsFor ?? ''), { what: 'the reason for waiting' })
  answer('heartbeat', claims, proceed)
  await until(() => joinCount() > 1, { what: 'the next membership' })
  await produce(brokers, [{ topic: claims, value: 'a' }])
  await until(() => valuesOf(claims).length === 1, { what: 'the event' })
})

t.test('a member that the coordinator does not know any more joins anew', async (t) => {
  const { claims } = await createTopics(brokers, 1)
  const { consumer, valuesOf, joinCount } = await consume(t, [claims], { sessionTimeoutMs: 30_000 })
  await until(() => consumer.membership.hasJoined, { what: 'the first membership' })
  const unknown = errors.errorCodes.find(({ type }) => type === 'UNKNOWN_MEMBER_ID')?.code ?? 0
  answer('heartbeat', claims, () => {
    answer('heartbeat', claims, proceed)
    return Promise.reject(errors.createErrorFromCode(unknown))
  })
  await until(() => joinCount() > 1, { what: 'the next membership' })
  await produce(brokers, [{ topic: claims, value: 'a' }])
  await until(() => valuesOf(claims).length === 1, { what: 'the event' })
})

t.test('a lost coordinator ends no membership, and holds up no partition', async (t) => {
  const { claims } = await createTopics(brokers, 1)
  const { consumer, valuesOf, joinCount } = await consume(t, [claims], { sessionTimeoutMs: 30_000 })
  await until(() => consumer.membership.hasJoined, { what: 'the membership' })
  let refusedCount = 0
  answer('heartbeat', claims, () => {
    refusedCount++
    return Promise.reject(errorOf('KafkaJSConnectionError', 'lost'))
  })
  // kafkajs would give up after five.
  await until(() => refusedCount > 5, { what: 'heartbeats to be refused' })
  await produce(brokers, [{ topic: claims, value: 'a' }])
  await until(() => valuesOf(claims).length === 1, { what: 'the event' })
  let answeredCount = 0
  answer('heartbeat', claims, async (send) => {
    await send()
    answeredCount++
  })
  await until(() => answeredCount > 1, { what: 'the coordinator to answer again' })
  t.equal(joinCount(), 1)
})

t.test('a coordinator that does not answer holds up no partition', async (t) => {
  const { claims } = await createTopics(brokers, 1)
  // A membership that ends meanwhile would hold it up.
  const { consumer, valuesOf } = await consume(t, [claims], { sessionTimeoutMs: 60_000 })
  await until(() => consumer.membership.hasJoined, { what: 'the membership' })
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  answer('heartbeat', claims, (send) => {
    asked.resolve()
    return answered.promise.then(send)
  })
  await asked.promise
  await produce(brokers, [{ topic: claims, value: 'a' }])
  await until(() => valuesOf(claims).length === 1, { what: 'the event' })
  answer('heartbeat', claims, proceed)
  answered.resolve()
})
