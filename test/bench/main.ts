// make bench
// Compares the service with the floor under it: the same events through a real broker into a real database, round by round in
// turn; with BEFORE, also with the service of that checkout. EVENTS (a round) and ROUNDS set the sizes; --json prints JSON.
// Exits 1 if an outcome is wrong.
import { parseArgs } from 'node:util'
import { brokersFromEnvironment, endWithSignals, numberFrom } from '../stack/environment.ts'
import { startContacts } from './contacts.ts'
import { inTurn, ratesOf } from './in-turn.ts'
import { print, type Row, ratioOf, tableOfResults } from './report.ts'
import { CPU_ROWS, type Measured, runRound } from './round.ts'
import { SIDE_NAMES, SIDES, type SideName } from './sides.ts'

const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false } } })
const brokers = brokersFromEnvironment()
const roundCount = numberFrom('ROUNDS', 5)
const eventCount = numberFrom('EVENTS', 150_000)
/** Duration of the measurement of an idle service, after an unmeasured round. */
const idleSeconds = numberFrom('IDLE_SECONDS', 20)
/** Part of the events that are processed before the measurement, so that V8 has compiled the code. */
const WARM_UP_PART = 0.5
const ROW_BYTES_RATIO_MAX = 1.03

endWithSignals()
const contacts = await startContacts()

function run(name: SideName, seed: number, idle = 0): Promise<Measured> {
  const warmUpCount = Math.ceil(eventCount * WARM_UP_PART)
  return runRound({ side: SIDES[name], seed, eventCount, warmUpCount, contacts, brokers, idleSeconds: idle })
}

// Unmeasured: the first side would otherwise pay for memory and files that later ones reuse.
const idleCpu = (await run('ours', 0, idleSeconds)).idleCpu * 100
for (const name of SIDE_NAMES.slice(1)) await run(name, 0)
const sides = await inTurn(roundCount, SIDE_NAMES, run)
const ratios = SIDE_NAMES.slice(1).map(
  (name) => `ours : ${name} = ${ratioOf(ratesOf(sides.ours), ratesOf(sides[name]))}`,
)
const faults = Object.entries(sides).flatMap(([name, rounds]) =>
  rounds.flatMap((measured, i) => measured.faults.map((fault) => `round ${i + 1}, ${name}: ${fault}`)),
)
for (const [i, { rowsHash, rowBytes }] of sides.ours.entries()) {
  const other = sides.floor[i] as Measured
  if (rowsHash !== other.rowsHash)
    faults.push(`round ${i + 1}: the sides wrote different rows for the same events`)
  const sizes = [rowBytes, other.rowBytes]
  if (Math.max(...sizes) > Math.min(...sizes) * ROW_BYTES_RATIO_MAX)
    faults.push(
      `round ${i + 1}: the sides wrote rows of other sizes: ${sizes.map(Math.round).join(', ')} bytes`,
    )
}
const rows: readonly Row<Measured>[] = [
  ['events/s', ({ eventsPerSecond }) => eventsPerSecond],
  ...CPU_ROWS,
  ['look-ups/event', ({ lookUpsPerEvent }) => lookUpsPerEvent, 3],
  ['peak memory, MB', ({ peakMemoryMb }) => peakMemoryMb],
]
print(
  flags.json
    ? [JSON.stringify({ settings: { roundCount, eventCount }, sides, idleCpu, faults })]
    : [
        `rounds: ${roundCount}; events a round: ${eventCount.toLocaleString('en')}; medians (least–most)`,
        '',
        ...tableOfResults('', sides, rows),
        '',
        `idle: ${idleCpu.toFixed(2)} % of a core; events/s, ${ratios.join(', ')}`,
      ],
  flags.json ? [] : faults,
)
process.exitCode = faults.length === 0 ? 0 : 1
