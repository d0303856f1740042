import type { EachBatchPayload } from 'kafkajs'
import t from 'tap'
import type { Batch } from '../../src/core/batch/batch.ts'
import { committedAt } from '../core/attempt/build.ts'
import { assign } from './assign.ts'
import { settled } from './one-partition.ts'
import { writeBatch } from './records/write-batch.ts'

/** The partitions of a joined membership. Batches commit when the test says so. */
async function joined(numbers = [0]) {
  const calls: string[] = []
  const batches: { batch: Batch; commit: () => void }[] = []
  const clock = { nowMs: 0 }
  const { partitions, blocked, finished } = assign({
    loadCheckpoint: async (topic, partition) => {
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

t.test('a fetch is queued at once, and each partition processes its own queue', async (t) => {
  const { partitions, batches, deliver } = await joined([0, 1])
  const resolved: string[] = []
  await deliver(0, (offset) => resolved.push(offset))
  await deliver(1, (offset) => resolved.push(offset))
  t.strictSame(resolved, ['0', '0'])
  t.equal(batches.length, 2)
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

t.test('a checkpoint is read only after the running batch of its partition', async (t) => {
  const { partitions, calls, batches, deliver, finished } = await joined()
  await deliver(0)
  calls.length = 0
  partitions.onJoin({ claims: [0, 1] })
  partitions.onJoin({ claims: [1] })
  partitions.onJoin({ claims: [0, 1] })
  await settled()
  t.strictSame(
    calls.filter((call) => call.startsWith('load')),
    ['load claims/1'],
  )
  batches[0]?.commit()
  await settled()
  t.ok(calls.includes('load claims/0'))
  partitions.end()
  await finished()
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
