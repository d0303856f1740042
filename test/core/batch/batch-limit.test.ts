import t from 'tap'
import { createBatchLimit } from '../../../src/core/batch/batch-limit.ts'

const DEADLINE_MS = 5_000

t.test('it starts small and grows to its maximum while look-ups are quick', async (t) => {
  const limit = createBatchLimit(300, DEADLINE_MS)
  const counts = [1, 2, 3, 4].map(() => {
    const count = limit.count()
    limit.note(2, 0, 10)
    return count
  })
  t.strictSame(counts, [100, 150, 225, 300])
  t.equal(limit.count(), 300)
})

t.test('it stays where look-ups take much of the deadline', async (t) => {
  const limit = createBatchLimit(1_000, DEADLINE_MS)
  limit.note(2, 0, 2_000)
  t.equal(limit.count(), 100)
})

t.test('it halves where somebody was not asked in time, down to 25', async (t) => {
  const limit = createBatchLimit(1_000, DEADLINE_MS)
  limit.note(2, 1, DEADLINE_MS)
  t.equal(limit.count(), 50)
  for (let i = 0; i < 5; i++) limit.note(2, 1, DEADLINE_MS)
  t.equal(limit.count(), 25)
})

t.test('a party that hangs keeps it from nothing', async (t) => {
  const limit = createBatchLimit(1_000, DEADLINE_MS)
  limit.note(2, 0, DEADLINE_MS)
  t.equal(limit.count(), 150)
})

t.test('a look-up of nobody tells nothing', async (t) => {
  const limit = createBatchLimit(1_000, DEADLINE_MS)
  limit.note(0, 0, 1)
  t.equal(limit.count(), 100)
})

t.test('it never exceeds a small maximum', async (t) => {
  const limit = createBatchLimit(1, DEADLINE_MS)
  t.equal(limit.count(), 1)
  limit.note(2, 0, 1)
  limit.note(2, 1, DEADLINE_MS)
  t.equal(limit.count(), 1)
})
