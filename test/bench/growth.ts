// make bench-growth
// How throughput changes as the log grows: `serve` works off the same number of events on logs of several sizes, in turn, with
// event ids that are random (UUIDv4) or ordered by time (UUIDv7). SIZES, IDS, EVENTS and ROUNDS set what is measured. Then how
// long lists of the largest log take: READS sets how often each page is read. The filled databases stay on the server of
// DATABASE_URL, where the next run finds them. Exits 1 if an outcome is wrong.
import type pg from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { createMigratedDatabase } from '../stack/databases.ts'
import { brokersFromEnvironment, endWithSignals, numberFrom } from '../stack/environment.ts'
import { inArena } from './arena.ts'
import { startContacts } from './contacts.ts'
import { type BenchEvent, generateEvents } from './events.ts'
import { EVENT_IDS, type EventIds, grownLog, warmUp } from './grown-log.ts'
import { inTurn } from './in-turn.ts'
import { measureLists } from './queries.ts'
import { print, ratioOf, tableOf, tableOfResults } from './report.ts'
import { CPU_ROWS, findCountFaults, measure, publish } from './round.ts'
import { ours } from './sides.ts'

const listFrom = (name: string, byDefault: string) => (process.env[name] ?? byDefault).split(',')
const brokers = brokersFromEnvironment()
const serverUrl = String(process.env.DATABASE_URL)
const sizes = listFrom('SIZES', '0,1000000,10000000')
const kinds = listFrom('IDS', EVENT_IDS.join(',')) as EventIds[]
const roundCount = numberFrom('ROUNDS', 5)
const eventCount = numberFrom('EVENTS', 100_000)
const readCount = numberFrom('READS', 100)
/** Events before the measurement: until then, each connection takes a page fault for each page of shared buffers. */
const warmUpCount = Math.ceil(eventCount * 1.5)
const totalCount = warmUpCount + eventCount
/** Ids that no earlier run used: its rows are still there. */
const firstSeed = Date.now()
const largest = Math.max(1, ...sizes.map(Number))
const say = (line: string) => void process.stderr.write(`${line}\n`)

endWithSignals()
const contacts = await startContacts()
const faults: string[] = []
const lines = [
  `rounds: ${roundCount}; events a round: ${eventCount.toLocaleString('en')}; medians (least–most)`,
]
for (const eventIds of kinds) lines.push('', ...(await measureGrowth(eventIds)))
const { url } = await grownLog(serverUrl, largest, kinds[0] ?? 'random', say)
const lists = await measureLists(url, brokers, largest, readCount)
print([...lines, '', ...lists.lines], [...faults, ...lists.faults])

type Round = Awaited<ReturnType<typeof runRound>>

async function measureGrowth(eventIds: EventIds): Promise<string[]> {
  for (const size of sizes.filter((rowCount) => rowCount !== '0'))
    await warmUp((await grownLog(serverUrl, Number(size), eventIds, say)).url, Number(size), eventIds)
  const results = await inTurn(roundCount, sizes, (size, round) =>
    runRound(size, eventIds, firstSeed + round),
  )
  const ratios = (title: string, speedOf: (round: Round) => number) => [
    title,
    ...Object.values(results).map((rounds) =>
      ratioOf(rounds.map(speedOf), results[sizes[0] ?? '']?.map(speedOf) ?? []),
    ),
  ]
  return [
    ...tableOfResults(`${eventIds} ids, by rows`, results, [
      ['events/s', ({ eventsPerSecond }) => eventsPerSecond],
      ...CPU_ROWS.slice(0, 2),
      ['WAL bytes/event', ({ walBytesPerEvent }) => walBytesPerEvent],
    ]),
    ...tableOf([
      ratios('of the first', ({ eventsPerSecond }) => eventsPerSecond),
      // CPU time of service and database depends little on other load of the machine.
      ratios('of the first, per CPU', ({ cpu }) => 1e6 / (cpu.process + cpu.postgres + cpu.contacts)),
    ]),
  ]
}

function runRound(size: string, eventIds: EventIds, seed: number) {
  const open = () =>
    size === '0' ? createMigratedDatabase() : grownLog(serverUrl, Number(size), eventIds, say)
  return inArena(
    brokers,
    contacts,
    async ({ client, topics, start }) => {
      // Rows of earlier rounds would be counted.
      await client.query('TRUNCATE notifications.projection_checkpoints, notifications.checkpoint_message')
      const events = generateEvents(seed, totalCount)
      const ids = await publish(brokers, topics, eventIds === 'random' ? events : inOrder(events))
      const walBefore = await walBytes(client)
      const measured = await measure(client, await start(ours), contacts, { warmUpCount, totalCount })
      const walBytesPerEvent = ((await walBytes(client)) - walBefore) / totalCount
      const found = await findCountFaults(
        client,
        ids.size,
        `SELECT count(*)::integer AS logged, count(decision.locator)::integer AS decided
         FROM notifications.notification_log LEFT JOIN notifications.decision USING (locator)
         WHERE notification_log.event_id = ANY($1)`,
        [[...ids]],
      )
      faults.push(...found.map((fault) => `${size} rows: ${fault}`))
      return { ...measured, walBytesPerEvent }
    },
    open,
  )
}

/** The same events with ids ordered by time. */
function* inOrder(events: Iterable<BenchEvent>): Generator<BenchEvent, void> {
  const ordered = new Map<string, string>()
  for (const event of events) {
    const eventId = ordered.get(event.eventId) ?? uuidv7()
    ordered.set(event.eventId, eventId)
    yield { ...event, eventId, value: event.value.replace(event.eventId, eventId) }
  }
}

async function walBytes(client: pg.Client): Promise<number> {
  const { rows } = await client.query(`SELECT (pg_current_wal_lsn() - '0/0')::float8 AS bytes`)
  return rows[0].bytes
}
