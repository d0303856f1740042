import { getEventListeners } from 'node:events'
import type { EachBatchPayload, Kafka, TopicPartitionOffset } from 'kafkajs'
import { pino } from 'pino'
import t from 'tap'
import type { Batch } from '../../src/core/batch/batch.ts'
import { createMembership, createOffsetCommits } from '../../src/kafka/membership.ts'
import type { PartitionNeeds } from '../../src/kafka/partition.ts'
import { committedAt } from '../core/build.ts'
import { assign } from './assign.ts'
import { settled } from './one-partition.ts'
import { writeBatch } from './records/write-batch.ts'

t.test('a failed membership keeps nothing waiting for the stop of the process', async (t) => {
  const refused = new Error('the broker refuses')
  const consumer = {
    events: {},
    on: () => {},
    connect: () => Promise.reject(refused),
    disconnect: async () => {},
  }
  const stopping = new AbortController()
  const needs = { log: pino({ level: 'silent' }), latest: new Map(), sleep: async () => {} }
  const membership = createMembership({
    kafka: { consumer: () => consumer } as unknown as Kafka,
    groupId: 'group',
    sessionTimeoutMs: 6_000,
    topics: ['claims'],
    member: { id: null },
    stopping: stopping.signal,
    partitionNeeds: needs as unknown as PartitionNeeds,
    onJoin: () => {},
    onBatch: () => {},
    appeared: () => new Promise(() => {}),
  })
  await t.rejects(membership.run(), refused)
  t.strictSame(getEventListeners(stopping.signal, 'abort'), [])
})

t.test('one request commits the last offset of each partition that moved', async (t) => {
  const requests: TopicPartitionOffset[][] = []
  const commits = createOffsetCommits(async (offsets) => void requests.push(offsets))
  commits.add({ topic: 'claims', partition: 0, offset: '5' })
  commits.add({ topic: 'billing', partition: 0, offset: '7' })
  commits.add({ topic: 'claims', partition: 0, offset: '9' })
  await commits.flush()
  t.strictSame(requests, [
    [
      { topic: 'claims', partition: 0, offset: '9' },
      { topic: 'billing', partition: 0, offset: '7' },
    ],
  ])
  await commits.flush()
  t.equal(requests.length, 1, 'nothing is committed twice')
  commits.add({ topic: 'claims', partition: 0, offset: '10' })
  commits.clear()
  await commits.flush()
  t.equal(requests.length, 1, 'cleared offsets are not committed')
})

t.test('a timer commits an offset within a second', async (t) => {
  const committed = Promise.withResolvers<TopicPartitionOffset[]>()
  const commits = createOffsetCommits(async (offsets) => committed.resolve(offsets))
  // The timer of the commits does not keep this process alive.
  const alive = setTimeout(() => committed.resolve([]), 10_000)
  commits.add({ topic: 'claims', partition: 0, offset: '5' })
  t.strictSame(await committed.promise, [{ topic: 'claims', partition: 0, offset: '5' }])
  clearTimeout(alive)
})

/** The partitions of a joined membership. Batches commit when the test says so. */
async function joined(numbers = [0]) {
  const calls: string[] = []
  const batches: { batch: Batch; commit: () => void }[] = []
  const clock = { nowMs: 0 }
  const { partitions, blocked, finished } = assign({
    ensureCheckpoint: async (topic, partition) => {
      calls.push(`load ${topic}/${partition}`)
      return { offset: -1n, lastMessage: null }
    },
    listCheckpoints: async () => {
      await settled()
      return []
    },
    dispatch: async (batch) => {
      const committed = Promise.withResolvers<void>()
      batches.push({ batch, commit: committed.resolve })
      await committed.promise
      return committedAt(batch.lastOffset)
    },
    controlsOf: (topic, partition) => ({
      seek: (offset) => calls.push(`seek ${topic}/${partition} ${offset}`),
      pause: () => calls.push(`pause ${topic}/${partition}`),
      resume: () => calls.push(`resume ${topic}/${partition}`),
    }),
    nowMs: () => clock.nowMs,
  })
  /** One message as kafkajs delivers it. */
  const deliver = async (partition: number, resolveOffset = (_: string) => {}) => {
    const bytes = writeBatch({ baseOffset: 0, records: [{ value: 'a' }] })
    const messages = [{ fetched: { error: null, bytes, aborted: [] } }]
    const batch = { topic: 'claims', partition, fetchedOffset: '0', messages }
    await partitions.eachBatch({ batch, resolveOffset } as unknown as EachBatchPayload)
    await settled()
  }
  partitions.onJoin({ claims: numbers })
  const joinCalls = [...calls]
  await settled()
  return { partitions, calls, joinCalls, batches, clock, blocked, finished, deliver }
}

t.test('a partition stays paused until its checkpoint is read', async (t) => {
  const { partitions, calls, joinCalls } = await joined()
  t.strictSame(joinCalls, ['pause claims/0'])
  t.strictSame(calls, ['pause claims/0', 'load claims/0', 'seek claims/0 0', 'resume claims/0'])
  partitions.end()
})

t.test('a fetch of a partition that another member owns now is ignored', async (t) => {
  const { partitions, batches, deliver } = await joined()
  partitions.onJoin({ claims: [1] })
  await settled()
  await deliver(0, () => t.fail('kafkajs knows of no such partition now'))
  t.strictSame(batches, [])
  partitions.end()
})

t.test('an error of kafkajs during a fetch stops nothing, and the fetch is not queued', async (t) => {
  const { partitions, batches, deliver } = await joined()
  await deliver(0, () => {
    throw new TypeError('no such partition')
  })
  t.strictSame(batches, [])
  await deliver(0)
  t.equal(batches.length, 1)
  partitions.end()
})

t.test('a stuck batch is reported, whoever owns its partition by then', async (t) => {
  const { partitions, batches, clock, blocked, deliver } = await joined()
  await deliver(0)
  clock.nowMs = 59_000
  partitions.onJoin({ claims: [0, 1] })
  partitions.onJoin({ claims: [0] })
  t.strictSame(blocked(), [])
  clock.nowMs = 61_000
  t.match(blocked(), [{ partition: 0, reason: 'stuck', sinceMs: 0 }])
  partitions.onJoin({ claims: [1] })
  t.match(blocked(), [{ partition: 0, reason: 'stuck', sinceMs: 0 }])
  batches[0]?.commit()
  await settled()
  t.strictSame(blocked(), [])
  partitions.end()
})

t.test('a commit during the comparison of checkpoints does not count as lost', async (t) => {
  const { partitions, calls, batches, deliver } = await joined()
  await deliver(0)
  const before = calls.length
  const compared = partitions.compareCheckpoints(['claims'])
  batches[0]?.commit()
  await compared
  await settled()
  t.strictSame(calls.slice(before), [])
})
