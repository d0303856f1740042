import kafkajs, { type KafkaMessage } from 'kafkajs'
import packageJson from 'kafkajs/package.json' with { type: 'json' }
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import requests from 'kafkajs/src/protocol/requests/index.js'
import t from 'tap'
import { patchFetchResponses, readFetchedBytes } from '../../../src/kafka/patches/fetch-response.ts'
import {
  listUnserved,
  patchMetadataErrors,
  unservedReason,
} from '../../../src/kafka/patches/metadata-errors.ts'
import { writeFetchResponse } from '../write-fetch-response.ts'

t.test('the patches match the installed version of kafkajs', async (t) => {
  t.equal(
    packageJson.version,
    '2.2.4',
    'read the sources that src/kafka/patches/ and kafkajs-internals.d.ts name again, in the new version',
  )
})

patchFetchResponses()

interface Answer {
  readonly throttleTime: number
  readonly clientSideThrottleTime?: number
  readonly responses: {
    readonly topicName: string
    readonly partitions: {
      readonly partition: number
      readonly highWatermark: string
      readonly preferredReadReplica: number
      readonly messages: KafkaMessage[]
    }[]
  }[]
}

async function read(version: number, response: Buffer): Promise<Answer> {
  const { response: reader } = requests.requests.Fetch.protocol({ version: String(version) })({ topics: [] })
  return (await reader.parse((await reader.decode(response)) as never)) as Answer
}

for (const version of [4, 5, 6, 7, 8, 9, 10, 11]) {
  t.test(`version ${version}: each partition gets its own bytes or error`, async (t) => {
    const aborted: [bigint, bigint][] = [[7n, 3n]]
    const response = writeFetchResponse(
      version,
      [{ bytes: Buffer.from('records'), aborted }, { error: 29 }, {}, { error: 1 }],
      2,
    )
    const answer = await read(version, response)
    const [{ topicName, partitions } = { topicName: '', partitions: [] }] = answer.responses
    t.equal(topicName, 'claims')
    t.strictSame(
      partitions.map((partition) => readFetchedBytes(partition)),
      [
        { error: null, bytes: Buffer.from('records'), aborted: [{ producerId: 7n, firstOffset: 3n }] },
        { error: 'TOPIC_AUTHORIZATION_FAILED', bytes: Buffer.alloc(0), aborted: [] },
        null,
        { error: 'OFFSET_OUT_OF_RANGE', bytes: Buffer.alloc(0), aborted: [] },
      ],
    )
    t.match(partitions[1], {
      partition: 1,
      highWatermark: '100',
      preferredReadReplica: version < 11 ? -1 : 2,
    })
    const throttle = { throttleTime: 0, clientSideThrottleTime: 70 }
    t.match(answer, version < 8 ? { throttleTime: 70 } : throttle)
  })
}

/** A membership with two partitions, both led by broker 1. */
function groupWith(cluster: object): ConsumerGroup {
  const assigned = [{ topic: 'claims', partitions: [0, 1] }]
  return Object.assign(Object.create(ConsumerGroup.prototype) as ConsumerGroup, {
    cluster: {
      refreshMetadataIfNecessary: async () => {},
      findTopicPartitionMetadata: () => [0, 1].map((partitionId) => ({ partitionId, leader: 1 })),
      ...cluster,
    },
    maxWaitTime: 1,
    subscriptionState: { assigned: () => assigned, active: () => assigned, isPaused: () => false },
    offsetManager: {
      committedOffsets: () => ({ claims: { 0: '0', 1: '0' } }),
      nextOffset: () => '0',
      resolveOffsets: async () => {},
    },
    seekOffset: { pop: () => null, has: () => false },
    preferredReadReplicasPerTopicPartition: {},
  })
}

t.test('a broker that does not answer fails no membership for 30 s', async (t) => {
  const lost = Reflect.construct(kafkajs.KafkaJSConnectionError, ['lost'])
  let [refreshCount, nowMs] = [0, 0]
  t.intercept(Date, 'now', { value: () => nowMs })
  let isLost = true
  const group = groupWith({
    refreshMetadata: async () => void refreshCount++,
    findBroker: async () => {
      if (isLost) throw lost
      return { fetch: () => read(10, writeFetchResponse(10, [{}, {}])) }
    },
  })
  t.strictSame(await group.fetch('1'), [])
  t.equal(refreshCount, 1)
  nowMs = 30_000
  t.strictSame(await group.fetch('1'), [])
  isLost = false
  await group.fetch('1')
  isLost = true
  nowMs = 60_000
  t.strictSame(await group.fetch('1'), [], 'it has answered meanwhile')
  nowMs = 90_001
  await t.rejects(group.fetch('1'), lost)
})

t.test('after a leader has moved, the other partitions are delivered', async (t) => {
  for (const error of [3, 5, 6, 74, 75]) {
    const response = writeFetchResponse(10, [{ bytes: Buffer.from('records') }, { error }])
    let refreshCount = 0
    const group = groupWith({
      refreshMetadata: async () => {
        refreshCount++
        throw new Error('no broker answers')
      },
      findBroker: async () => ({ fetch: () => read(10, response) }),
    })
    const batches = await group.fetch('1')
    t.match(batches.map(readFetchedBytes), [
      { error: null, bytes: Buffer.from('records') },
      { error: String },
    ])
    t.equal(refreshCount, 1)
  }
})

t.test('an unreadable response is not an error that kafkajs takes for fatal', async (t) => {
  await t.rejects(read(11, writeFetchResponse(11, [{}]).subarray(0, -9)), {
    name: 'Error',
    message: "a broker's response cannot be read",
  })
})

patchMetadataErrors()

for (const version of requests.requests.Metadata.versions) {
  const { response } = requests.requests.Metadata.protocol({ version })({ topics: [] })
  const parse = (topicErrorCode: number, leader: number) =>
    response.parse({
      topicMetadata: [
        {
          topicErrorCode: 0,
          topic: 'claims',
          partitionMetadata: [
            { partitionErrorCode: leader < 0 ? 5 : 0, partitionId: 0, leader },
            { partitionErrorCode: 0, partitionId: 1, leader: 1 },
          ],
        },
        { topicErrorCode, topic: 'billing', partitionMetadata: [] },
      ],
    } as never)

  t.test(`version ${version}: neither missing rights nor a missing leader stops others`, async (t) => {
    await parse(0, 1)
    t.equal(unservedReason('billing', 0), null)
    t.match(await parse(29, -1), { topicMetadata: [{ topic: 'claims' }, { topic: 'billing' }] })
    t.match(unservedReason('billing', 3), { reason: 'no-rights', sinceMs: Number })
    const first = unservedReason('claims', 0)
    t.match(first, { reason: 'no-leader', sinceMs: Number })
    t.equal(unservedReason('claims', 1), null)
    t.match(listUnserved(['claims', 'other']), [['claims/0', first]])
    await parse(29, -1)
    t.equal(unservedReason('claims', 0), first, 'since when it is known to be so')
    await parse(29, 2)
    t.equal(unservedReason('claims', 0), null)
    await t.rejects(parse(3, 1), { name: 'KafkaJSProtocolError', message: /does not host/ })
  })
}
