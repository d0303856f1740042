// make bench-flood
// Dispatch while one client asks for 2,000 pages of the log a second, beside the same client asking a bare server, round by
// round in turn. EVENTS (a round), ROUNDS and RATE set the sizes. Exits 1 where an outcome is wrong or the member left
// its group.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { startService } from '../stack/service.ts'
import { startContacts } from './contacts.ts'
import { brokersFromEnvironment, endWithSignals, numberFrom } from './environment.ts'
import { ratioOf, runInTurn } from './in-turn.ts'
import { cellOf, format, tableOf } from './report.ts'
import type { Measured } from './round.ts'
import type { Side } from './sides.ts'

const brokers = brokersFromEnvironment()
const roundCount = numberFrom('ROUNDS', 5)
const eventCount = numberFrom('EVENTS', 100_000)
const rate = numberFrom('RATE', 2_000)
/** Enough to keep the rate whatever the answers take. */
const CONNECTION_COUNT = 200
/** Longer than any round; a flood ends with its side. */
const FLOOD_S = 3_600
const WARM_UP_PART = 0.3

endWithSignals()

const bare = fork(fileURLToPath(new URL('./bare-server.ts', import.meta.url)))
const [bareUrl] = (await once(bare, 'message')) as [string]
const faults: string[] = []
const answers = { ok: 0, refused: 0 }

/** `serve`, beside a flood of requests to itself or to the bare server. */
const sideOf = (name: 'flooded' | 'beside'): Side => ({
  name,
  start: async (env) => {
    const service = await startService({ ...env, LOG_LEVEL: 'info' })
    const flood = autocannon({
      url: `${name === 'flooded' ? service.url : bareUrl}/log/list`,
      connections: CONNECTION_COUNT,
      overallRate: rate,
      duration: FLOOD_S,
    })
    return {
      pid: service.pid,
      exited: service.exited.then(({ code, signal }) => `ended with ${signal ?? code}`),
      stop: async () => {
        const { stop } = flood as unknown as { stop: () => void }
        stop()
        const { '2xx': ok, statusCodeStats } = await flood
        if (name === 'flooded') {
          answers.ok += ok
          answers.refused += statusCodeStats?.['503']?.count ?? 0
        }
        const joins = service.lines.filter(({ msg }) => msg === 'joined the consumer group')
        if (joins.length !== 1) faults.push(`${name}: joined the consumer group ${joins.length} times`)
        return service.stop()
      },
    }
  },
})
const sides = { flooded: sideOf('flooded'), beside: sideOf('beside') }
const contacts = await startContacts()
const found = await runInTurn(sides, {
  roundCount,
  warmUpPart: WARM_UP_PART,
  eventCount,
  comparedCount: 0,
  contacts,
  brokers,
}).finally(() => {
  contacts.stop()
  bare.kill()
})
const { results } = found
faults.push(...found.faults)

const ratio = ratioOf(results.flooded, results.beside)
const row = (title: string, of: (measured: Measured) => number | null) => [
  title,
  cellOf(results.flooded.map(of), 0),
  cellOf(results.beside.map(of), 0),
]
process.stdout.write(
  [
    `rounds: ${roundCount}; events a round: ${eventCount.toLocaleString('en')}; requests/s: ${rate}; medians (least–most)`,
    '',
    ...tableOf([
      ['', 'flooded', 'beside a flooded server'],
      row('events/s', ({ eventsPerSecond }) => eventsPerSecond),
      row('CPU µs/event, the process', ({ cpu }) => cpu.process),
      row('CPU µs/event, PostgreSQL', ({ cpu }) => cpu.postgres),
    ]),
    '',
    `flooded : beside = ${format(ratio, 2)}; pages answered: ${answers.ok}, refused: ${answers.refused}`,
    ...faults.map((fault) => `WRONG: ${fault}`),
    '',
  ].join('\n'),
)
process.exitCode = faults.length === 0 ? 0 : 1
