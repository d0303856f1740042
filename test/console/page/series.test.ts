import t from 'tap'
import { buildTable, chooseColour, REST } from '../../../src/console/page/series.ts'
import type { LogCounts } from '../../../src/service/model/log/log-counts.ts'

const COUNTS: LogCounts = {
  fromS: 125,
  toS: 301,
  stepS: 60,
  complete: true,
  counts: [
    { startS: 120, status: 'SENT', reason: null, count: 2, givenUp: 0 },
    {
      startS: 120,
      status: 'SKIPPED',
      reason: 'no email on file',

      count: 1,
      givenUp: 0,
    },
    { startS: 240, status: 'SENT', reason: null, count: 5, givenUp: 0 },
    { startS: 240, status: 'SKIPPED', reason: '', count: 9, givenUp: 0 },
    { startS: 300, status: 'SKIPPED', reason: 'opted out', count: 5, givenUp: 0 },
  ],
}

t.test('every step is there, also those without an entry', async (t) => {
  const { startsS, series, total } = buildTable(COUNTS, 'status')
  t.same(startsS, [120, 180, 240, 300])
  t.same(series, [
    { name: 'SENT', counts: [2, 0, 5, 0], total: 7 },
    { name: 'FAILED', counts: [0, 0, 0, 0], total: 0 },
    { name: 'SKIPPED', counts: [1, 0, 9, 5], total: 15 },
  ])
  t.equal(total, 22)
})

t.test('the most frequent come first, the others last; a sent entry has no reason', async (t) => {
  const { series, total } = buildTable(COUNTS, 'reason')
  t.same(
    series.map(({ name, total }) => [name, total]),
    [
      ['opted out', 5],
      ['no email on file', 1],
      [REST, 9],
    ],
  )
  t.equal(total, 15)
})

t.test('only a status is green', async (t) => {
  t.equal(chooseColour('status', 'SENT', 0), 'var(--sent)')
  for (let index = 0; index < 20; index++) {
    const hue = Number(/\d+/.exec(chooseColour('reason', 'party not found', index))?.[0])
    t.ok(hue < 60 || hue > 165, `${hue}`)
  }
})
