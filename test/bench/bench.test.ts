import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import t from 'tap'
import { generateEvents } from './events.ts'
import { describe, type Report, type Spread, spreadOf } from './report.ts'
import { CPU_OF } from './round.ts'

const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'figures of the mock broker would mean nothing'

/** What a benchmark prints as JSON. */
async function run<Found>(program: string, env: Record<string, string>): Promise<Found> {
  const file = fileURLToPath(new URL(program, import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [file, '--json'], {
    env: { ...process.env, ROUNDS: '1', ...env },
  })
  return JSON.parse(stdout)
}

t.test('a run compares all sides and finds nothing wrong', { skip: SKIP_MOCK }, async (t) => {
  const report = await run<Report>('main.ts', { EVENTS: '400', PLAIN_EVENTS: '150', IDLE_SECONDS: '1' })
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

  t.ok(Number(report.idle.ours) >= 0 && Number(report.idle.ours) < 1)
  const text = describe(report)
  t.match(text, /^ +ours +floor +plain$/m)
  t.match(text, /^events\/s +[\d,]+ +[\d,]+ +[\d,]+$/m)
  t.match(text, /^ours : plain = \d+\.\d\d$/m)
  t.match(text, /^ours : floor = \d+\.\d\d$/m)
})

t.test('a drain retries every row, beside a dispatch', { skip: SKIP_MOCK }, async (t) => {
  const { faults, ratio } = await run<{ faults: string[]; ratio: Spread }>('retries.ts', { ROWS: '600' })
  t.strictSame(faults, [])
  t.ok(ratio.median > 0)
})

t.test(
  'a log is filled, grows by what is dispatched, and is read by every filter',
  { skip: SKIP_MOCK },
  async (t) => {
    // A server that outlives the tests would keep the databases.
    const server = new pg.Client(process.env.DATABASE_URL)
    await server.connect()
    t.teardown(async () => {
      await server.query('DROP DATABASE IF EXISTS grown_random_3001 WITH (FORCE)')
      await server.end()
    })
    const grown = await run<{ faults: string[] }>('growth.ts', {
      SIZES: '0,3001',
      IDS: 'random',
      EVENTS: '200',
      ROUNDS: '2',
    })
    t.strictSame(grown.faults, [])

    const read = await run<{ faults: string[]; lists: { page: string; rowCount: number }[] }>(
      'growth-queries.ts',
      {
        SIZE: '3001',
        READS: '1',
      },
    )
    t.strictSame(read.faults, [])
    const found = new Set(read.lists.map(({ page, rowCount }) => `${page} ${rowCount}`))
    t.ok(['first 0', 'first 50', 'deep 50'].every((kind) => found.has(kind)))
  },
)

t.test('a fault is said below the table', async (t) => {
  const report: Report = {
    settings: { roundCount: 2, eventCount: { ours: 1_000, plain: 10 } },
    sides: {},
    idle: {},
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
