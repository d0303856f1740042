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

type Noted = Parameters<ReturnType<typeof createBatchLimit>['note']>
const LATE: Noted = [2, 1, DEADLINE_MS]
const CASES: readonly (readonly [what: string, countMax: number, noted: readonly Noted[], count: number])[] =
  [
    ['it stays where look-ups take much of the deadline', 1_000, [[2, 0, 2_000]], 100],
    ['it halves where somebody was not asked in time', 1_000, [LATE], 50],
    ['it does not fall below 25', 1_000, Array(6).fill(LATE), 25],
    ['a party that hangs keeps it from nothing', 1_000, [[2, 0, DEADLINE_MS]], 150],
    ['a look-up of nobody tells nothing', 1_000, [[0, 0, 1]], 100],
    ['it never exceeds a small maximum', 1, [[2, 0, 1], LATE], 1],
  ]
for (const [what, countMax, noted, count] of CASES) {
  t.test(what, async (t) => {
    const limit = createBatchLimit(countMax, DEADLINE_MS)
    for (const each of noted) limit.note(...each)
    t.equal(limit.count(), count)
  })
}
