// node test/stack/with-stack.ts -- node test/bench/latency.ts
// How long it takes from the moment at which an event should be published until its commit is seen, at parts of the
// service's own capacity, for the service and for the floor in turn. EVENTS (to measure the capacity), SECONDS (of each
// run) and ROUNDS set the sizes.

import { brokersFromEnvironment, endWithSignals, numberFrom } from '../stack/environment.ts'
import { inArena } from './arena.ts'
import { watchCommits } from './commits.ts'
import { startContacts } from './contacts.ts'
import { generateEvents } from './events.ts'
import { createPublisher } from './open-loop.ts'
import { cellOf, tableOf } from './report.ts'
import { runRound } from './round.ts'
import { floor, ours, type Side } from './sides.ts'

const LOADS = [0.1, 0.5, 0.8]
const QUANTILES = { p50: 0.5, p99: 0.99, 'p99.9': 0.999 }
/** A backlog so that V8 compiles the code, and the second after it, are not measured. */
const WARM_UP_COUNT = 10_000
const SETTLE_SECONDS = 1

/** In ms. */
type Latencies = Readonly<Record<keyof typeof QUANTILES, number>>
interface Found {
  readonly side: string
  readonly load: number
  readonly latencies: Latencies
}

const brokers = brokersFromEnvironment()
const roundCount = numberFrom('ROUNDS', 3)
const seconds = numberFrom('SECONDS', 10)
const capacityEventCount = numberFrom('EVENTS', 50_000)
endWithSignals()

const contacts = await startContacts()
try {
  const capacity = await measureCapacity()
  const found: Found[] = []
  for (let round = 1; round <= roundCount; round++) {
    for (const load of LOADS) {
      for (const side of round % 2 === 0 ? [floor, ours] : [ours, floor]) {
        const latencies = await measure(side, capacity * load, round)
        found.push({ side: side.name, load, latencies })
        process.stderr.write(`round ${round}, ${side.name} at ${load * 100} %: p99 ${latencies.p99} ms\n`)
      }
    }
  }
  process.stdout.write(describe(capacity, found))
} finally {
  contacts.stop()
}

/** Events/s of the service with a backlog. */
async function measureCapacity(): Promise<number> {
  const eventCount = capacityEventCount
  const warmUpCount = Math.ceil(eventCount / 5)
  const options = { side: ours, seed: 1, eventCount, warmUpCount, contacts, brokers }
  const { eventsPerSecond, faults } = await runRound(options)
  if (faults.length > 0) throw new Error(faults.join('; '))
  return eventsPerSecond
}

function measure(side: Side, eventsPerSecond: number, seed: number): Promise<Latencies> {
  return inArena(brokers, contacts, async ({ client, topics, start }) => {
    const measuredCount = Math.ceil(eventsPerSecond * (SETTLE_SECONDS + seconds))
    const events = [...generateEvents(seed, WARM_UP_COUNT + measuredCount)]
    const publisher = await createPublisher(brokers, topics)
    const stop = new AbortController()
    const commits = watchCommits(client, stop.signal)
    try {
      await start(side)
      await publisher.publish(events.slice(0, WARM_UP_COUNT))
      await commits.caughtUp(publisher.schedule)
      const fromMs = performance.now() + SETTLE_SECONDS * 1_000
      await publisher.publishAtRate(events.slice(WARM_UP_COUNT), eventsPerSecond)
      await commits.caughtUp(publisher.schedule)
      return quantilesOf(commits.latenciesOf(publisher.schedule, fromMs))
    } finally {
      stop.abort()
      await commits.watching
      await publisher.close()
    }
  })
}

function quantilesOf(latencies: readonly number[]): Latencies {
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN
  return { p50: at(QUANTILES.p50), p99: at(QUANTILES.p99), 'p99.9': at(QUANTILES['p99.9']) }
}

function describe(capacity: number, found: readonly Found[]): string {
  const rows = LOADS.flatMap((load) =>
    Object.keys(QUANTILES).map((name) => [
      `${load * 100} %, ${name}, ms`,
      ...[ours, floor].map((side) =>
        cellOf(
          found
            .filter((one) => one.side === side.name && one.load === load)
            .map(({ latencies }) => latencies[name as keyof Latencies]),
          1,
        ),
      ),
    ]),
  )
  return [
    `capacity: ${Math.round(capacity)} events/s; rounds: ${roundCount}, ${seconds} s each; medians (least–most)`,
    '',
    ...tableOf([['load', ours.name, floor.name], ...rows]),
    '',
  ].join('\n')
}
