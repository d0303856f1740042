import type { EachBatchPayload } from 'kafkajs'
import { pino } from 'pino'
import t from 'tap'
import type { Batch } from '../../src/core/batch/batch.ts'
import { createBudget } from '../../src/kafka/inbox.ts'
import { AssignedPartitions } from '../../src/kafka/membership.ts'
import type { Consumption, PartitionConsumer } from '../../src/kafka/partition.ts'
import { settled } from './one-partition.ts'
import { writeBatch } from './records/write-batch.ts'

/** The partitions of a membership; batches commit when they are told to. */
function membership() {
  const calls: string[] = []
  const batches: { batch: Batch; commit: () => void }[] = []
  const latest = new Map<string, PartitionConsumer>()
  const clock = { nowMs: 0 }
  const checkpoints = new Map<number, bigint>()
  const consumption: Consumption = {
    loadCheckpoint: async (topic, partition) => {
      calls.push(`load ${topic}/${partition}`)
      return { offset: checkpoints.get(partition) ?? -1n, lastMessage: null }
    },
    listCheckpoints: async () => {
      const found = [...checkpoints].map(([partition, offset]) => ({ topic: 'claims', partition, offset }))
      await settled()
      return found
    },
    resetCheckpoint: async () => -1n,
    dispatch: async (batch) => {
      const committed = Promise.withResolvers<void>()
      batches.push({ batch, commit: committed.resolve })
      await committed.promise
      return { kind: 'committed', nextOffset: batch.nextOffset, inserted: [], rejected: [] }
    },
    reasonOf: () => 'not-committed',
    takeSlot: async () => () => {},
    endsOf: async () => ({ earliest: 0n, end: 9n }),
    unservedReason: () => null,
    budget: createBudget(1_000_000),
    batchCountMax: () => 500,
    nowMs: () => clock.nowMs,
    sleep: async () => {},
    latest,
    log: pino({ level: 'silent' }),
  }
  const partitions = new AssignedPartitions(
    consumption,
    (topic, partition) => ({
      seek: (offset) => calls.push(`seek ${topic}/${partition} ${offset}`),
      pause: () => calls.push(`pause ${topic}/${partition}`),
      resume: () => calls.push(`resume ${topic}/${partition}`),
    }),
    () => {},
  )
  /** One message, as kafkajs hands it over. */
  const deliver = async (partition: number, resolveOffset = (_: string) => {}) => {
    const bytes = writeBatch({ baseOffset: 0, records: [{ value: 'a' }] })
    const messages = [{ fetched: { error: null, bytes, aborted: [] } }]
    const batch = { topic: 'claims', partition, fetchedOffset: '0', messages }
    await partitions.eachBatch({ batch, resolveOffset } as unknown as EachBatchPayload)
    await settled()
  }
  return { partitions, calls, batches, checkpoints, clock, latest, deliver }
}

t.test('a partition is paused until its checkpoint says from where', async (t) => {
  const { partitions, calls } = membership()
  partitions.onJoin({ claims: [0] })
  t.strictSame(calls, ['pause claims/0'])
  await settled()
  t.strictSame(calls, ['pause claims/0', 'load claims/0', 'seek claims/0 0', 'resume claims/0'])
  partitions.end()
})

t.test('what is handed over is queued at once, and worked on by each partition for itself', async (t) => {
  const { partitions, batches, deliver } = membership()
  partitions.onJoin({ claims: [0, 1] })
  await settled()
  const resolved: string[] = []
  await deliver(0, (offset) => resolved.push(offset))
  await deliver(1, (offset) => resolved.push(offset))
  t.strictSame(resolved, ['0', '0'])
  t.equal(batches.length, 2)
  partitions.end()
})

t.test('a fetch of a partition that is not ours any more is left alone', async (t) => {
  const { partitions, batches, deliver } = membership()
  partitions.onJoin({ claims: [0] })
  await settled()
  partitions.onJoin({ claims: [1] })
  await settled()
  await deliver(0, () => t.fail('kafkajs knows of no such partition now'))
  t.strictSame(batches, [])
  partitions.end()
})

t.test('an error of kafkajs over a fetch ends nothing, and the fetch is not queued', async (t) => {
  const { partitions, batches, deliver } = membership()
  partitions.onJoin({ claims: [0] })
  await settled()
  await deliver(0, () => {
    throw new TypeError('no such partition')
  })
  t.strictSame(batches, [])
  await deliver(0)
  t.equal(batches.length, 1)
  partitions.end()
})

t.test('no checkpoint is read while a batch of the partition is under way, others are', async (t) => {
  const { partitions, calls, batches, deliver, latest } = membership()
  partitions.onJoin({ claims: [0] })
  await settled()
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
  await Promise.all([...latest.values()].map(({ finished }) => finished))
})

t.test('a batch that is stuck shows as such, whoever owns its partition by then', async (t) => {
  const { partitions, batches, clock, latest, deliver } = membership()
  const held = () => [...latest.values()].flatMap((consumer) => consumer.held() ?? [])
  partitions.onJoin({ claims: [0] })
  await settled()
  await deliver(0)
  clock.nowMs = 59_000
  partitions.onJoin({ claims: [0, 1] })
  partitions.onJoin({ claims: [0] })
  t.strictSame(held(), [])
  clock.nowMs = 61_000
  t.match(held(), [{ partition: 0, reason: 'stuck', sinceMs: 0 }])
  partitions.onJoin({ claims: [1] })
  t.match(held(), [{ partition: 0, reason: 'stuck', sinceMs: 0 }])
  batches[0]?.commit()
  await settled()
  t.strictSame(held(), [])
  partitions.end()
})

t.test('a quiet partition whose commits the database has lost begins again at its checkpoint', async (t) => {
  const { partitions, calls, batches, checkpoints, deliver } = membership()
  partitions.onJoin({ claims: [0, 1] })
  await settled()
  for (const partition of [0, 1]) {
    await deliver(partition)
    batches[partition]?.commit()
    checkpoints.set(partition, 0n)
  }
  await settled()
  await partitions.compareCheckpoints(['claims'])
  await settled()
  const before = calls.length
  checkpoints.delete(1)
  await partitions.compareCheckpoints(['claims'])
  await settled()
  t.strictSame(calls.slice(before), ['pause claims/1', 'load claims/1', 'seek claims/1 0', 'resume claims/1'])
})

t.test('what is committed while the checkpoints are read is not taken for lost', async (t) => {
  const { partitions, calls, batches, deliver } = membership()
  partitions.onJoin({ claims: [0] })
  await settled()
  await deliver(0)
  const before = calls.length
  const compared = partitions.compareCheckpoints(['claims'])
  batches[0]?.commit()
  await compared
  await settled()
  t.strictSame(calls.slice(before), [])
})
