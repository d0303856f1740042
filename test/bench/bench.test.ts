import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { onServer } from '../stack/databases.ts'
import { cellOf } from './report.ts'

const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'figures of the mock broker would mean nothing'

/** Runs a benchmark with these sizes; resolves to its JSON. */
async function run(program: string, env: Record<string, string>) {
  const path = fileURLToPath(new URL(program, import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [path, '--json'], {
    env: { ...process.env, ...env },
  })
  return JSON.parse(stdout)
}

t.test('a run compares both sides and finds nothing wrong', { skip: SKIP_MOCK }, async (t) => {
  const sizes = { ROUNDS: '1', EVENTS: '200', IDLE_SECONDS: '1' }
  const { faults, settings, sides } = await run('main.ts', sizes)
  t.strictSame(faults, [])
  t.strictSame(settings, { roundCount: 1, eventCount: 200 })
  for (const side of ['ours', 'floor']) {
    const [measured, ...more] = sides[side]
    t.strictSame(more, [])
    t.ok(measured.lookUpsPerEvent > 0.5 && measured.lookUpsPerEvent <= 1.05, side)
  }
})

/** A server of DATABASE_URL may not have it. */
async function keepsCommitTimes(): Promise<boolean> {
  return onServer(process.env.DATABASE_URL ?? '', async (client) => {
    const { rows } = await client.query('SHOW track_commit_timestamp')
    return rows[0].track_commit_timestamp === 'on'
  })
}

const SKIP_TIMES = SKIP_MOCK || (!(await keepsCommitTimes()) && 'track_commit_timestamp is off')
t.test('every event at a low rate has a latency', { skip: SKIP_TIMES }, async (t) => {
  const { faults, results } = await run('latency.ts', { ROUNDS: '1', SECONDS: '2', RATES: '100' })
  t.strictSame(faults, [])
  t.strictSame(
    results.map(({ side }: { side: string }) => side),
    ['ours', 'floor'],
  )
  for (const { side, rounds } of results) {
    const { eventsPerSecond, latencyMs } = rounds[0]
    // One event in a hundred is a repeated one, which has no row of its own.
    t.ok(eventsPerSecond > 90 && eventsPerSecond <= 100, side)
    t.ok(latencyMs.p50 > 0 && latencyMs.p99 < 30_000, side)
  }
})

t.test('values that could not be measured count in no median', async (t) => {
  t.equal(cellOf([3, Number.NaN, 1, 2]), '2 (1–3)')
  t.equal(cellOf([4, 1], 1), '2.5 (1.0–4.0)')
  t.equal(cellOf([Number.NaN]), '–')
})
