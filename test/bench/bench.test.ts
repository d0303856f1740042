import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { generateEvents } from './events.ts'
import { describe, type Report, spreadOf } from './report.ts'
import { CPU_OF } from './round.ts'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'figures of the mock broker would mean nothing'

t.test('a run compares all sides and finds nothing wrong', { skip: SKIP_MOCK }, async (t) => {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, '--json'], {
    env: { ...process.env, EVENTS: '400', PLAIN_EVENTS: '150', ROUNDS: '1' },
  })
  const report: Report = JSON.parse(stdout)
  t.strictSame(report.faults, [])
  t.strictSame(report.settings, { roundCount: 1, eventCount: { ours: 400, floor: 400, plain: 150 } })
  for (const side of ['ours', 'floor', 'plain']) {
    const [measured, ...more] = report.sides[side] ?? []
    t.strictSame(more, [])
    t.ok(measured && measured.eventsPerSecond > 0, side)
    t.ok(measured && measured.lookUpsPerEvent > 0.5 && measured.lookUpsPerEvent <= 1, side)
    t.strictSame(Object.keys(measured?.cpu ?? {}), [...CPU_OF])
  }

  const stageNames = report.stages.map(({ name }) => name)
  t.strictSame(stageNames, [
    'parse',
    'ids and preferences',
    'contact look-up',
    'decide',
    'render',
    'write statements',
    'commit',
  ])

  const text = describe(report)
  t.match(text, /^ +ours +floor +plain$/m)
  t.match(text, /^events\/s +[\d,]+ +[\d,]+ +[\d,]+$/m)
  t.match(text, /^ours : plain = \d+\.\d\d$/m)
  t.match(text, /^ours : floor = \d+\.\d\d$/m)
})

t.test('a fault is said below the table', async (t) => {
  const report: Report = {
    settings: { roundCount: 2, eventCount: { ours: 1_000, plain: 10 } },
    sides: {},
    ratios: { plain: { median: 2, min: 1.5, max: 2.5 } },
    stages: [],
    faults: ['round 1, ours: 9 rows of 10 distinct event ids'],
  }
  t.match(describe(report), /\nWRONG: round 1, ours: 9 rows of 10 distinct event ids\n/)
})

t.test('a spread has the middle value, or the mean of both', async (t) => {
  t.strictSame(spreadOf([3, 1, 2]), { median: 2, min: 1, max: 3 })
  t.strictSame(spreadOf([4, 1]), { median: 2.5, min: 1, max: 4 })
})

t.test('the same seed gives the same events, a smaller count the first of them', async (t) => {
  const events = [...generateEvents(1, 5_000)]
  t.strictSame(events.slice(0, 1_000), [...generateEvents(1, 1_000)])
  t.notSame(events.slice(0, 1), [...generateEvents(2, 1)])

  const types = new Set(events.map(({ value }) => JSON.parse(value).eventType))
  t.equal(types.size, 20 + 3)
  const ids = new Set(events.map(({ eventId }) => eventId))
  t.ok(ids.size > 4_900 && ids.size < 5_000, 'some events come a second time')
  const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  t.ok(events.every(({ eventId }) => uuidV4.test(eventId)))
})
