// node test/stack/with-stack.ts -- node test/bench/main.ts [--json]
// Compares the service with the floor under it: the same events through a real broker into a real database, round by
// round in turn. EVENTS (a round) and ROUNDS set the sizes. Exits 1 where an outcome is wrong.
import { parseArgs } from 'node:util'
import { brokersFromEnvironment, endWithSignals, numberFrom } from '../stack/environment.ts'
import { startContacts } from './contacts.ts'
import { describe, type Report, rateOfEach, ratioOf } from './report.ts'
import { type Measured, runRound } from './round.ts'
import { floor, ours, type Side } from './sides.ts'

const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false } } })
const brokers = brokersFromEnvironment()
const roundCount = numberFrom('ROUNDS', 5)
const eventCount = numberFrom('EVENTS', 150_000)
/** Duration of the measurement of an idle service, after the unmeasured round. */
const idleSeconds = numberFrom('IDLE_SECONDS', 20)
const sides = [ours, floor]
/** Part of the events that are processed before the measurement, so that V8 has compiled the code. */
const WARM_UP_PART = 0.5
/** Shares of one. */
const ROW_BYTES_APART_MAX = 0.03

endWithSignals()

const results: Record<string, Measured[]> = Object.fromEntries(sides.map(({ name }) => [name, []]))
const idle: Record<string, number | null> = {}
const faults: string[] = []
const contacts = await startContacts()
try {
  await warmUp()
  for (let round = 1; round <= roundCount; round++) await compare(round)
} finally {
  contacts.stop()
}
const rates = (side: Side) => rateOfEach(results[side.name] ?? [])
const report: Report = {
  settings: { roundCount, eventCount },
  sides: results,
  idle,
  ratio: ratioOf(rates(ours), rates(floor)),
  faults,
}
process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : describe(report))
process.exitCode = faults.length === 0 ? 0 : 1

/** An unmeasured round: the first side would otherwise pay for memory and files that later ones reuse. */
async function warmUp(): Promise<void> {
  for (const side of sides) {
    const { eventsPerSecond, idleCpu } = await runSide(side, 0, side === ours ? idleSeconds : 0)
    idle[side.name] = idleCpu
    process.stderr.write(`warm-up, ${side.name}: ${Math.round(eventsPerSecond)} events/s\n`)
  }
}

function runSide(side: Side, seed: number, idleSeconds: number): Promise<Measured> {
  const warmUpCount = Math.ceil(eventCount * WARM_UP_PART)
  return runRound({ side, seed, eventCount, warmUpCount, contacts, brokers, idleSeconds })
}

/** One round of every side; each round begins with another one. */
async function compare(round: number): Promise<void> {
  const hashes = new Set<string>()
  const sizes: number[] = []
  for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
    const measured = await runSide(side, round, 0)
    results[side.name]?.push(measured)
    hashes.add(measured.rowsHash)
    sizes.push(measured.rowBytes)
    faults.push(...measured.faults.map((fault) => `round ${round}, ${side.name}: ${fault}`))
    process.stderr.write(
      `round ${round} of ${roundCount}, ${side.name}: ${Math.round(measured.eventsPerSecond)} events/s\n`,
    )
  }
  if (hashes.size > 1) faults.push(`round ${round}: the sides wrote different rows for the same events`)
  if (Math.min(...sizes) < Math.max(...sizes) * (1 - ROW_BYTES_APART_MAX))
    faults.push(
      `round ${round}: the sides wrote rows of other sizes: ${sizes.map(Math.round).join(', ')} bytes`,
    )
}
