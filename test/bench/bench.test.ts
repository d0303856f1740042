import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { cellOf } from './report.ts'

const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'figures of the mock broker would mean nothing'

t.test('a run compares both sides and finds nothing wrong', { skip: SKIP_MOCK }, async (t) => {
  const program = fileURLToPath(new URL('main.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [program, '--json'], {
    env: { ...process.env, ROUNDS: '1', EVENTS: '200', IDLE_SECONDS: '1' },
  })
  const { faults, settings, sides } = JSON.parse(stdout)
  t.strictSame(faults, [])
  t.strictSame(settings, { roundCount: 1, eventCount: 200 })
  for (const side of ['ours', 'floor']) {
    const [measured, ...more] = sides[side]
    t.strictSame(more, [])
    t.ok(measured.lookUpsPerEvent > 0.5 && measured.lookUpsPerEvent <= 1.05, side)
  }
})

t.test('values that could not be measured count in no median', async (t) => {
  t.equal(cellOf([3, Number.NaN, 1, 2]), '2 (1–3)')
  t.equal(cellOf([4, 1], 1), '2.5 (1.0–4.0)')
  t.equal(cellOf([Number.NaN]), '–')
})
