import t from 'tap'
import { DEFECTS, type Sabotage } from './simulator/defects.ts'
import { simulate } from './simulator/simulate.ts'
import { type Counts, noCounts } from './simulator/world.ts'

/** `make simulate` runs 100,000 of them. A single one: `SEED=7 SCHEDULES=1 make simulate`. */
const SCHEDULES = Number(process.env.SCHEDULES ?? 400)
const FIRST_SEED = Number(process.env.SEED ?? 1)
/** Each defect is found in far fewer. */
const DEFECT_SCHEDULES = 2_000

/** Runs schedules until a promise is broken. */
async function firstViolation(count: number, counts: Counts, sabotage?: Sabotage) {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + count; seed++) {
    const [violation] = await simulate(seed, counts, sabotage)
    if (violation !== undefined) return `${violation} (rerun: SEED=${seed} SCHEDULES=1 make simulate)`
  }
  return null
}

t.test('each promise holds in every schedule', async (t) => {
  const counts = noCounts()
  t.equal(await firstViolation(SCHEDULES, counts), null)
  t.comment(counts)
  if (SCHEDULES >= 400) for (const [what, count] of Object.entries(counts)) t.ok(count > 0, what)
})

for (const [defect, sabotage] of Object.entries(DEFECTS)) {
  t.test(`it finds ${defect}`, async (t) => {
    const startedMs = performance.now()
    const violation = await firstViolation(DEFECT_SCHEDULES, noCounts(), sabotage)
    t.comment(`${((performance.now() - startedMs) / 1_000).toFixed(2)} s: ${violation}`)
    t.not(violation, null)
  })
}
