import autocannon from 'autocannon'
import { numberFrom } from '../stack/environment.ts'
import { type Contacts, startContacts } from './contacts.ts'
import { inTurn, ratesOf } from './in-turn.ts'
import { ratioOf, tableOfResults } from './report.ts'
import { CPU_ROWS, runRound } from './round.ts'
import { ours, type Side } from './sides.ts'

/** Enough connections for the rate, however slow the answers are. */
const CONNECTION_COUNT = 200
/** Longer than any round: a flood ends with its side. */
const FLOOD_S = 3_600
const WARM_UP_PART = 0.3

/**
 * Dispatch while one client asks for pages of the log, and beside the same client asking a bare server, in turn. FLOOD_ROUNDS,
 * FLOOD_EVENTS (of a round) and RATE (requests/s) set the sizes. It is a fault if the member leaves its group.
 */
export async function measureFlood(contacts: Contacts, brokers: string) {
  const roundCount = numberFrom('FLOOD_ROUNDS', 5)
  const eventCount = numberFrom('FLOOD_EVENTS', 100_000)
  const rate = numberFrom('RATE', 2_000)
  const bare = await startContacts()
  const faults: string[] = []
  const answers = { ok: 0, refused: 0 }

  const sideOf = (isFlooded: boolean): Side => ({
    name: ours.name,
    start: async (env) => {
      const service = await ours.start(env)
      const flood = autocannon({
        url: `${isFlooded ? service.url : bare.url}/log/list`,
        connections: CONNECTION_COUNT,
        overallRate: rate,
        duration: FLOOD_S,
      })
      const stop = async () => {
        ;(flood as unknown as { stop: () => void }).stop()
        const { '2xx': ok, statusCodeStats } = await flood
        if (isFlooded) {
          answers.ok += ok
          answers.refused += statusCodeStats?.['503']?.count ?? 0
        }
        const joins = service.lines.filter(({ msg }) => msg === 'joined the consumer group')
        if (joins.length !== 1) faults.push(`the service joined the consumer group ${joins.length} times`)
        return service.stop()
      }
      return { ...service, stop }
    },
  })
  const results = await inTurn(roundCount, ['flooded', 'beside a flood'], async (name, seed) => {
    const side = sideOf(name === 'flooded')
    const warmUpCount = Math.ceil(eventCount * WARM_UP_PART)
    const measured = await runRound({ side, seed, eventCount, warmUpCount, contacts, brokers })
    faults.push(...measured.faults.map((fault) => `round ${seed}, ${name}: ${fault}`))
    return measured
  })
  bare.stop()
  const ratio = ratioOf(ratesOf(results.flooded), ratesOf(results['beside a flood']))
  return {
    faults,
    lines: [
      `rounds: ${roundCount}; events a round: ${eventCount.toLocaleString('en')}; requests/s: ${rate}; medians (least–most)`,
      '',
      ...tableOfResults('', results, [
        ['events/s', ({ eventsPerSecond }) => eventsPerSecond],
        ...CPU_ROWS.slice(0, 2),
      ]),
      '',
      `flooded : beside = ${ratio}; pages answered: ${answers.ok}, refused: ${answers.refused}`,
    ],
  }
}
