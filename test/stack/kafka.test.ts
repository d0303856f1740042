import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import kafkajs, { type KafkaMessage } from 'kafkajs'
import t, { type Test } from 'tap'
import { answers } from './kafka/answers.ts'
import type { Kafka } from './kafka/broker.ts'
import { startMockKafka } from './kafka/mock.ts'
import { startKafka } from './kafka.ts'
import { committedOffsets, createTopics, endOffsets, produce } from './topics.ts'
import { until } from './until.ts'

const { CompressionTypes } = kafkajs
const kafka = await startKafka({ log: (line) => t.comment(line) })
t.teardown(() => kafka.close())
const onlyApache = kafka.kind === 'apache' ? false : 'needs a real broker'

/** Consumes a topic from its start until `count` messages have come, and commits. */
async function consume(
  brokers: string,
  topic: string,
  groupId: string,
  count: number,
): Promise<KafkaMessage[]> {
  const client = new kafkajs.Kafka({
    brokers: [brokers],
    logLevel: kafkajs.logLevel.NOTHING,
  })
  const consumer = client.consumer({ groupId })
  const messages: KafkaMessage[] = []
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message }) => void messages.push(message),
  })
  try {
    await until(() => messages.length >= count, {
      what: `${count} messages of ${topic}`,
    })
  } finally {
    await consumer.disconnect()
  }
  return messages
}

t.test('messages of every codec come back, with key, headers and tombstone', async (t) => {
  const { claims } = await createTopics(kafka.brokers, { claims: 1 })
  const codecs = [
    CompressionTypes.None,
    CompressionTypes.GZIP,
    CompressionTypes.Snappy,
    CompressionTypes.LZ4,
    CompressionTypes.ZSTD,
  ]
  for (const compression of codecs) {
    const message = {
      topic: claims,
      partition: 0,
      key: 'key',
      value: `codec ${compression}`,
      headers: { h: '1' },
    }
    await produce(kafka.brokers, [message], { compression })
  }
  await produce(kafka.brokers, [{ topic: claims, value: null }])

  const messages = await consume(kafka.brokers, claims, `group-of-${claims}`, codecs.length + 1)
  t.strictSame(
    messages.map(({ value }) => value?.toString() ?? null),
    [...codecs.map((compression) => `codec ${compression}`), null],
  )
  t.equal(messages[0]?.key?.toString(), 'key')
  t.equal(messages[0]?.headers?.h?.toString(), '1')
  t.strictSame(await committedOffsets(kafka.brokers, `group-of-${claims}`, claims), { 0: codecs.length + 1 })
})

t.test(
  'topics have unique names, the partitions asked for and no messages yet',
  { skip: onlyApache },
  async (t) => {
    const first = await createTopics(kafka.brokers, { claims: 3, billing: 1 })
    const second = await createTopics(kafka.brokers, { claims: 1 })
    t.not(first.claims, second.claims)
    await produce(kafka.brokers, [
      { topic: first.claims, partition: 2, value: 'a' },
      { topic: first.claims, partition: 2, value: 'b' },
      { topic: first.billing, value: 'c' },
    ])
    t.strictSame(await endOffsets(kafka.brokers, first.claims), {
      0: 0,
      1: 0,
      2: 2,
    })
    t.strictSame(await endOffsets(kafka.brokers, first.billing), { 0: 1 })
    t.strictSame(await endOffsets(kafka.brokers, second.claims), { 0: 0 })
    t.strictSame(await committedOffsets(kafka.brokers, 'no such group', first.claims), {
      0: -1,
      1: -1,
      2: -1,
    })
  },
)

t.test(
  'a topic is not made by being asked for, and large messages are refused as by default',
  { skip: onlyApache },
  async (t) => {
    const admin = new kafkajs.Kafka({ brokers: [kafka.brokers] }).admin()
    await admin.connect()
    t.teardown(() => admin.disconnect())
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [
        {
          type: kafkajs.ConfigResourceTypes.BROKER,
          name: '1',
          configNames: ['auto.create.topics.enable', 'message.max.bytes', 'group.min.session.timeout.ms'],
        },
      ],
    })
    t.strictSame(
      Object.fromEntries(
        (resources[0]?.configEntries ?? []).map((entry) => [entry.configName, entry.configValue]),
      ),
      {
        'auto.create.topics.enable': 'false',
        'message.max.bytes': '1048588',
        'group.min.session.timeout.ms': '6000',
      },
    )
  },
)

t.test(
  'starts again on the same port with its data, after a stop and a kill',
  { skip: onlyApache },
  async (t) => {
    const { claims } = await createTopics(kafka.brokers, { claims: 1 })
    await produce(kafka.brokers, [{ topic: claims, value: 'kept' }])
    await kafka.stop()
    t.equal(kafka.pid(), undefined)
    await t.rejects(answers(kafka.brokers))
    await kafka.start()
    t.strictSame(await endOffsets(kafka.brokers, claims), { 0: 1 })
    await kafka.kill()
    await kafka.start()
    await produce(kafka.brokers, [{ topic: claims, value: 'after the kill' }])
    t.strictSame(await endOffsets(kafka.brokers, claims), { 0: 2 })
  },
)

t.test('without Java the mock broker stands in, and says so', async (t) => {
  const mock = await startMockKafka(() => {}).catch(() => undefined)
  if (mock === undefined) {
    t.comment('skipped: kcat is not installed')
    return
  }
  await mock.close()
  const lines: string[] = []
  const log = (line: string) => void lines.push(line)
  const fallback = await withoutJava(t, () => startKafka({ log }))
  t.teardown(() => fallback.close())

  t.equal(fallback.kind, 'mock')
  t.match(lines[0], /no real broker, falling back to the mock of librdkafka: java does not run/)
  const { claims } = await createTopics(fallback.brokers, { claims: 1 })
  await produce(fallback.brokers, [{ topic: claims, partition: 0, value: 'hello' }])
  t.strictSame(await endOffsets(fallback.brokers, claims), { 0: 1, 1: 0, 2: 0, 3: 0 })
  await fallback.stop()
  await t.rejects(fallback.start(), /cannot be started again/)
})

t.test('a Java that is too old counts as none', async (t) => {
  const lines: string[] = []
  const log = (line: string) => void lines.push(line)
  const started = withoutJava(t, () => startKafka({ log }), 'openjdk version "11.0.2"')
  const fallback = await started.catch(() => undefined)
  await fallback?.close()
  t.match(lines[0], /needs Java 17 or later, this machine has: openjdk version "11\.0\.2"/)
})

t.test('without Java and kcat the error names the remedy', async (t) => {
  const path = process.env.PATH
  t.teardown(() => {
    process.env.PATH = path
  })
  process.env.PATH = '/nonexistent'
  await t.rejects(startKafka({ log: () => {} }), /kcat does not run either\. Install a JDK/)
})

/** Puts a `java` before the real one that fails, or that says it is of the version given. */
async function withoutJava(t: Test, start: () => Promise<Kafka>, version?: string): Promise<Kafka> {
  const path = process.env.PATH
  const dir = await mkdtemp(join(tmpdir(), 'java-'))
  await writeFile(join(dir, 'java'), version ? `#!/bin/sh\necho '${version}' >&2\n` : '#!/bin/sh\nexit 1\n')
  await chmod(join(dir, 'java'), 0o755)
  t.teardown(() => rm(dir, { recursive: true }))
  process.env.PATH = `${dir}:${path}`
  try {
    return await start()
  } finally {
    process.env.PATH = path
  }
}
