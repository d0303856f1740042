import kafkajs from 'kafkajs'
import { pino } from 'pino'
import t from 'tap'
import type { Message } from '../../src/core/event/message.ts'
import { named, registerCodecs } from '../../src/kafka/codecs.ts'
import { createConsumer } from '../../src/kafka/consumer.ts'
import { createTopics, produce } from '../stack/topics.ts'
import { until } from '../stack/until.ts'

const brokers = process.env.MQ_BROKERS ?? ''
const { CompressionCodecs, CompressionTypes } = kafkajs

/** How gzip fails, and what is said of it. */
const FAULTS = {
  'cannot be unpacked': {
    decompress: () => Promise.reject(new Error('incorrect data check')),
    said: {
      msg: /^a record batch cannot be decompressed.*kafka-delete-records/,
      err: { message: /^\d+ bytes of gzip cannot be decompressed: incorrect data check$/ },
      firstOffset: '1',
      lastOffset: '3',
    },
  },
  'makes no sense': {
    // A record of one byte.
    decompress: async () => Buffer.of(2, 0),
    said: {
      msg: /^the response of a broker cannot be read.*kafka-delete-records/,
      err: { message: /bounds/ },
    },
  },
}

for (const [what, { decompress, said }] of Object.entries(FAULTS))
  t.test(`a record batch that ${what} is told of, loudly, and read once it can be`, async (t) => {
    const { claims } = await createTopics(brokers, { claims: 1 })
    await produce(brokers, [{ topic: claims, partition: 0, value: 'before' }])
    await produce(
      brokers,
      ['a', 'b', 'c'].map((value) => ({ topic: claims, partition: 0, value })),
      { compression: CompressionTypes.GZIP },
    )
    const lines: Record<string, unknown>[] = []
    const dispatched: Message[] = []
    const consumer = createConsumer(
      {
        connection: { brokers: [brokers], ssl: null, sasl: null },
        groupId: claims,
        topics: [claims],
        sessionTimeoutMs: 6_000,
        partitionCountMax: 1,
        batchCountMax: () => 500,
      },
      {
        loadCheckpoint: async () => ({ offset: 0n, lastMessage: null }),
        resetCheckpoint: async (_topic, _partition, _held, offset) => offset,
        dispatch: async ({ messages }) => {
          dispatched.push(...messages)
          return { kind: 'committed', inserted: [], rejected: [] }
        },
      },
      pino({ level: 'error' }, { write: (line: string) => lines.push(JSON.parse(line)) }),
    )
    // Only now: whoever makes a client registers the codecs anew.
    CompressionCodecs[CompressionTypes.GZIP] = () => ({
      decompress: named('gzip', decompress),
    })
    const running = consumer.run()
    t.teardown(async () => {
      await consumer.stop()
      await running
    })
    await until(() => lines.length > 0, { what: 'the log to say so' })
    t.match(lines[0], said)
    t.strictSame(lines[0]?.checkpoints, { [`${claims}/0`]: '0' })
    t.same(dispatched, [])
    registerCodecs()
    await until(() => dispatched.length === 3, { what: 'the record batch to be read' })
  })
