// node test/stack/with-stack.ts -- node test/bench/main.ts [--json]
// Compares the service with a plain implementation: the same events through a real broker into a real database, round
// by round in turn. EVENTS, PLAIN_EVENTS (each a round) and ROUNDS set the sizes. Exits 1 where an outcome is wrong.
import { constants } from 'node:os'
import { parseArgs } from 'node:util'
import { startContacts } from './contacts.ts'
import { describe, type Report, spreadOf } from './report.ts'
import { type Measured, runRound } from './round.ts'
import { ours, plain } from './sides.ts'

const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false } } })
const brokers = process.env.MQ_BROKERS
if (!brokers) throw new Error('MQ_BROKERS is not set: run this by `make bench`')
const roundCount = numberFrom('ROUNDS', 3)
const sides = [
  { side: ours, eventCount: numberFrom('EVENTS', 100_000) },
  { side: plain, eventCount: numberFrom('PLAIN_EVENTS', 10_000) },
]
const WARM_UP_PART = 0.1

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // What was started ends with this process, by its exit handlers.
  process.once(signal, () => process.exit(128 + constants.signals[signal]))
}
// kafkajs computes a time-out of "now" as a negative number, which Node would report in the middle of ours.
process.removeAllListeners('warning')

const results: Record<string, Measured[]> = Object.fromEntries(sides.map(({ side }) => [side.name, []]))
const faults: string[] = []
const contacts = await startContacts()
try {
  for (let round = 1; round <= roundCount; round++) await compare(round)
} finally {
  contacts.stop()
}
const rates = sides.map(({ side }) =>
  (results[side.name] ?? []).map(({ eventsPerSecond }) => eventsPerSecond),
)
const report: Report = {
  settings: {
    roundCount,
    eventCount: Object.fromEntries(sides.map(({ side, eventCount }) => [side.name, eventCount])),
  },
  sides: results,
  ratio: spreadOf((rates[0] ?? []).map((rate, round) => rate / (rates[1]?.[round] ?? Number.NaN))),
  faults,
}
process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : describe(report))
process.exitCode = faults.length === 0 ? 0 : 1

/** One round of every side; who goes first changes from round to round. */
async function compare(round: number): Promise<void> {
  const comparedCount = Math.min(...sides.map(({ eventCount }) => eventCount))
  const hashes = new Set<string>()
  for (const { side, eventCount } of round % 2 === 0 ? sides.toReversed() : sides) {
    const warmUpCount = Math.ceil(eventCount * WARM_UP_PART)
    const measured = await runRound({
      side,
      seed: round,
      eventCount,
      warmUpCount,
      comparedCount,
      contacts,
      brokers: brokers as string,
    })
    results[side.name]?.push(measured)
    hashes.add(measured.rowsHash)
    faults.push(...measured.faults.map((fault) => `round ${round}, ${side.name}: ${fault}`))
    process.stderr.write(
      `round ${round} of ${roundCount}, ${side.name}: ${Math.round(measured.eventsPerSecond)} events/s\n`,
    )
  }
  if (hashes.size > 1) faults.push(`round ${round}: the sides wrote different rows for the same events`)
}

function numberFrom(name: string, byDefault: number): number {
  const text = process.env[name] ?? String(byDefault)
  if (!/^[1-9]\d*$/.test(text))
    throw new Error(`${name} must be a whole number above 0, not ${JSON.stringify(text)}`)
  return Number(text)
}
