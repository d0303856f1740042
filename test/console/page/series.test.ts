import t from 'tap'
import { buildTable } from '../../../src/console/page/series.ts'
import type { LogCounts } from '../../../src/service/model/log/log-counts.ts'

const COUNTS: LogCounts = {
  fromS: 125,
  toS: 301,
  stepS: 60,
  complete: true,
  counts: [
    { startS: 120, status: 'SENT', count: 2, givenUp: 0 },
    { startS: 120, status: 'SKIPPED', count: 1, givenUp: 0 },
    { startS: 240, status: 'SENT', count: 5, givenUp: 0 },
    { startS: 240, status: 'SKIPPED', count: 9, givenUp: 0 },
    { startS: 300, status: 'SKIPPED', count: 5, givenUp: 0 },
  ],
}

t.test('every step is there, also those without an entry', async (t) => {
  const { startsS, series, total } = buildTable(COUNTS)
  t.strictSame(startsS, [120, 180, 240, 300])
  t.strictSame(series, [
    { status: 'SENT', counts: [2, 0, 5, 0], total: 7 },
    { status: 'FAILED', counts: [0, 0, 0, 0], total: 0 },
    { status: 'SKIPPED', counts: [1, 0, 9, 5], total: 15 },
  ])
  t.equal(total, 22)
})
