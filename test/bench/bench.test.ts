import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { cellOf, format, type Report, spreadOf } from './report.ts'
import { CPU_OF, rateOf } from './round.ts'

const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'figures of the mock broker would mean nothing'

t.test('a run compares all sides and finds nothing wrong', { skip: SKIP_MOCK }, async (t) => {
  const program = fileURLToPath(new URL('main.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [program, '--json'], {
    env: { ...process.env, ROUNDS: '1', EVENTS: '200', IDLE_SECONDS: '1' },
  })
  const report: Report = JSON.parse(stdout)
  t.strictSame(report.faults, [])
  t.strictSame(report.settings, { roundCount: 1, eventCount: 200 })
  for (const side of ['ours', 'floor']) {
    const [measured, ...more] = report.sides[side] ?? []
    t.strictSame(more, [])
    t.ok(measured && measured.lookUpsPerEvent > 0.5 && measured.lookUpsPerEvent <= 1.05, side)
    t.strictSame(Object.keys(measured?.cpu ?? {}), [...CPU_OF])
  }
})

t.test('a rate of which nothing was seen but its end is none, and counts in no spread', async (t) => {
  t.equal(rateOf(400, 2_000), 200)
  t.strictSame([rateOf(0, 25), rateOf(400, 0)], [Number.NaN, Number.NaN])
  t.strictSame(spreadOf([3, Number.NaN, 1, 2]), { median: 2, min: 1, max: 3 })
  t.strictSame(spreadOf([4, 1]), { median: 2.5, min: 1, max: 4 })
  t.equal(format(spreadOf([Number.NaN]), 2), '–')
  t.equal(cellOf([null, Number.NaN], 0), '–')
})
