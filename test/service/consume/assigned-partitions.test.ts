import t from 'tap'
import { Condition } from '../../../src/service/consume/condition-variable.ts'
import type { Batch } from '../../../src/service/decide/attempt/batch.ts'
import { committedAt } from '../build.ts'
import { assign } from './assign.ts'
import { settled } from './one-partition.ts'
import { writeBatch } from './records/write-batch.ts'

/** Partitions of a member that has joined. Batches commit when the test says so. */
async function joined(numbers = [0]) {
  const calls: string[] = []
  const batches: { batch: Batch; commit: () => void }[] = []
  /** The two clocks differ: the wall clock may be set. */
  const clock = { nowMs: 0, aheadMs: 0 }
  const fetchable = new Condition()
  void fetchable.wait().then(() => calls.push('wanted'))
  const { partitions, owned } = assign({
    ensureCheckpoint: async (topic, partition) => {
      calls.push(`load ${topic}/${partition}`)
      return { offset: -1n, lastMessage: null }
    },
    listCheckpoints: async () => {
      await settled()
      return []
    },
    processNext: async ({ take }) => {
      const batch = await take()
      if (batch === null) return null
      const committed = Promise.withResolvers<void>()
      batches.push({ batch, commit: committed.resolve })
      await committed.promise
      return { batch, result: { ...committedAt(batch.lastOffset), wasSlow: false } }
    },
    fetchable,
    wallMs: () => clock.nowMs + clock.aheadMs,
    monotonicMs: () => clock.nowMs,
  })
  const find = (wanted: number) => owned().find(({ name }) => name.partition === wanted)
  /** One message, as a broker answers a request for it. */
  const deliver = async (consumer = find(0)) => {
    const bytes = writeBatch({ baseOffset: 0, records: [{ value: 'a' }] })
    consumer?.offer({ error: null, bytes, aborted: [] }, 0n)
    await settled()
  }
  partitions.assign({ claims: numbers }, [])
  const wantedAtFirst = find(0)?.wanted ?? null
  await settled()
  return { partitions, calls, wantedAtFirst, batches, clock, find, deliver }
}

t.test('a partition is not fetched until its checkpoint is read', async (t) => {
  const { partitions, calls, wantedAtFirst, find } = await joined()
  t.equal(wantedAtFirst, null)
  t.strictSame(calls, ['load claims/0', 'wanted'])
  t.equal(find(0)?.wanted, 0n)
  partitions.end()
})

t.test('an answer for a partition that another member owns now is ignored', async (t) => {
  const { partitions, batches, deliver, find } = await joined()
  const before = find(0)
  partitions.assign({ claims: [1] }, [])
  await settled()
  await deliver(before)
  t.strictSame(batches, [])
  partitions.end()
})

t.test('a stuck batch is reported, whoever owns its partition by then', async (t) => {
  const { partitions, batches, clock, deliver } = await joined()
  const blocked = () => partitions.blocked()
  await deliver()
  clock.nowMs = 59_000
  partitions.assign({ claims: [0, 1] }, [])
  partitions.assign({ claims: [0] }, [])
  t.strictSame(blocked(), [])
  clock.nowMs = 61_000
  t.match(blocked(), [{ partition: 0, reason: 'stuck', sinceMs: 0 }])
  partitions.assign({ claims: [1] }, [])
  t.match(blocked(), [{ partition: 0, reason: 'stuck', sinceMs: 0 }])
  batches[0]?.commit()
  await settled()
  t.strictSame(blocked(), [])
  partitions.end()
})

t.test('a commit during the comparison of checkpoints does not count as lost', async (t) => {
  const { partitions, calls, batches, deliver } = await joined()
  await deliver()
  const before = calls.length
  const compared = partitions.rewindLost(['claims'])
  batches[0]?.commit()
  await compared
  await settled()
  t.strictSame(calls.slice(before), [])
})
