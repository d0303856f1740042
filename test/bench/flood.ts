import autocannon from 'autocannon'
import { numberFrom } from '../stack/environment.ts'
import { startService } from '../stack/service.ts'
import { type Contacts, startContacts } from './contacts.ts'
import { cellOf, format, rateOfEach, ratioOf, tableOf } from './report.ts'
import { type Measured, runRound } from './round.ts'
import type { Side } from './sides.ts'

/** Enough connections for the rate, however slow the answers are. */
const CONNECTION_COUNT = 200
/** Longer than any round: a flood ends with its side. */
const FLOOD_S = 3_600
const WARM_UP_PART = 0.3
const NAMES = ['flooded', 'beside'] as const

/**
 * Dispatch while one client asks for pages of the log, beside the same client asking a bare server, round by round in turn.
 * FLOOD_ROUNDS, FLOOD_EVENTS (of a round) and RATE (requests/s) set the sizes. Also a fault: the member left its group.
 */
export async function measureFlood(contacts: Contacts, brokers: string) {
  const roundCount = numberFrom('FLOOD_ROUNDS', 5)
  const eventCount = numberFrom('FLOOD_EVENTS', 100_000)
  const rate = numberFrom('RATE', 2_000)
  const bare = await startContacts()
  const faults: string[] = []
  const answers = { ok: 0, refused: 0 }

  /** `serve`, beside a flood of requests to itself or to the bare server. */
  const sideOf = (name: (typeof NAMES)[number]): Side => ({
    name,
    start: async (env) => {
      const service = await startService({ ...env, LOG_LEVEL: 'info' })
      const flood = autocannon({
        url: `${name === 'flooded' ? service.url : bare.url}/log/list`,
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
  const results = { flooded: [] as Measured[], beside: [] as Measured[] }
  try {
    for (let round = 1; round <= roundCount; round++) {
      for (const name of round % 2 === 0 ? NAMES : NAMES.toReversed()) {
        const measured = await runRound({
          side: sideOf(name),
          seed: round,
          eventCount,
          warmUpCount: Math.ceil(eventCount * WARM_UP_PART),
          contacts,
          brokers,
        })
        results[name].push(measured)
        faults.push(...measured.faults.map((fault) => `round ${round}, ${name}: ${fault}`))
        const eventsPerSecond = Math.round(measured.eventsPerSecond)
        process.stderr.write(`flood, round ${round} of ${roundCount}, ${name}: ${eventsPerSecond} events/s\n`)
      }
    }
  } finally {
    bare.stop()
  }

  const ratio = ratioOf(rateOfEach(results.flooded), rateOfEach(results.beside))
  const row = (title: string, of: (measured: Measured) => number | null) => [
    title,
    cellOf(results.flooded.map(of), 0),
    cellOf(results.beside.map(of), 0),
  ]
  return {
    faults,
    lines: [
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
    ],
  }
}
