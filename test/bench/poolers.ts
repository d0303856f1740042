// make bench-poolers
// Dispatch directly to the database, and through PgBouncer in session and in transaction mode, round by round in turn. EVENTS
// (a round) and ROUNDS set the sizes. Exits 1 where an outcome is wrong.
import { NO_PGBOUNCER, startPgBouncer } from '../stack/pgbouncer.ts'
import { startContacts } from './contacts.ts'
import { brokersFromEnvironment, endWithSignals, numberFrom } from './environment.ts'
import { ratioOf, runInTurn } from './in-turn.ts'
import { cellOf, format, tableOf } from './report.ts'
import type { Measured } from './round.ts'
import { ours, type Side } from './sides.ts'

if (NO_PGBOUNCER) throw new Error(NO_PGBOUNCER)
const brokers = brokersFromEnvironment()
const roundCount = numberFrom('ROUNDS', 5)
const eventCount = numberFrom('EVENTS', 100_000)
const WARM_UP_PART = 0.1

endWithSignals()

const poolers = await Promise.all(
  ['session', 'transaction'].map((pool_mode) =>
    startPgBouncer(process.env.DATABASE_URL ?? '', { pool_mode }),
  ),
)
const through = (pooler: (typeof poolers)[number] | undefined): Side => ({
  name: 'ours',
  start: (env) => ours.start({ ...env, DATABASE_URL: pooler?.through(env.DATABASE_URL) ?? env.DATABASE_URL }),
})
const sides = { direct: ours, session: through(poolers[0]), transaction: through(poolers[1]) }
const contacts = await startContacts()
const { results, faults } = await runInTurn(sides, {
  roundCount,
  warmUpPart: WARM_UP_PART,
  eventCount,
  comparedCount: eventCount,
  contacts,
  brokers,
}).finally(async () => {
  contacts.stop()
  await Promise.all(poolers.map((pooler) => pooler.close()))
})
const { direct, session, transaction } = results
const row = (title: string, of: (measured: Measured) => number | null, digits: number) => [
  title,
  ...[direct, session, transaction].map((side) => cellOf(side.map(of), digits)),
]
process.stdout.write(
  [
    `rounds: ${roundCount}; events a round: ${eventCount.toLocaleString('en')}; medians (least–most)`,
    '',
    ...tableOf([
      ['', 'direct', 'session mode', 'transaction mode'],
      row('events/s', ({ eventsPerSecond }) => eventsPerSecond, 0),
      row('CPU µs/event, the process', ({ cpu }) => cpu.process, 1),
    ]),
    '',
    `session : direct = ${format(ratioOf(session, direct), 2)}, transaction : direct = ${format(ratioOf(transaction, direct), 2)}`,
    ...faults.map((fault) => `WRONG: ${fault}`),
    '',
  ].join('\n'),
)
process.exitCode = faults.length === 0 ? 0 : 1
