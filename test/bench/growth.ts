// make bench-growth
// How throughput changes as the log grows: `serve` works off the same number of events on logs of several sizes, round
// by round in turn, with event ids that are random (UUIDv4) and with ones that are ordered by time (UUIDv7). SIZES, IDS,
// EVENTS and ROUNDS set what is measured. Then how long lists of the largest log take: READS sets how often each page is read.
// The filled databases stay on the server of DATABASE_URL, where the next run finds them. Exits 1 where
// an outcome is wrong.
import type pg from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { createMigratedDatabase } from '../stack/databases.ts'
import { brokersFromEnvironment, endWithSignals, numberFrom } from '../stack/environment.ts'
import { inArena } from './arena.ts'
import { type Contacts, startContacts } from './contacts.ts'
import { type BenchEvent, generateEvents } from './events.ts'
import { EVENT_IDS, type EventIds, grownLog, warmUp } from './grown-log.ts'
import { describeLists, measureLists } from './queries.ts'
import { cellOf, format, ratioOf, type Spread, tableOf } from './report.ts'
import { type Measured, measure, publish } from './round.ts'
import { ours } from './sides.ts'

interface Round extends Pick<Measured, 'eventsPerSecond' | 'cpu'> {
  readonly walBytesPerEvent: number
}

interface Size {
  readonly rowCount: number
  readonly rounds: readonly Round[]
  /** Ratios to the first size in the same round: events/s, and events per second of CPU. */
  readonly ratio: Spread
  readonly cpuRatio: Spread
}

/** The measurements of logs of one kind, all sizes of each round in turn. */
interface Growth {
  readonly eventIds: EventIds
  readonly sizes: readonly Size[]
}

const brokers = brokersFromEnvironment()
const serverUrl = String(process.env.DATABASE_URL)
const sizes = listFrom('SIZES', '0,1000000,10000000').map(Number)
const kinds = listFrom('IDS', EVENT_IDS.join(',')) as EventIds[]
const roundCount = numberFrom('ROUNDS', 5)
const eventCount = numberFrom('EVENTS', 100_000)
const readCount = numberFrom('READS', 100)
/**
 * As long as a service has run before anyone looks: the connections of a new one meet the pages of the server's memory
 * for the first time, each at the price of a page fault.
 */
const warmUpCount = Math.ceil(eventCount * 1.5)
/** Ids that no earlier run used: its rows are still there. */
const firstSeed = Date.now()
const say = (line: string) => void process.stderr.write(`${line}\n`)

endWithSignals()

const faults: string[] = []
const growths: Growth[] = []
const contacts = await startContacts()
try {
  for (const eventIds of kinds) growths.push(await measureGrowth(eventIds, contacts))
} finally {
  contacts.stop()
}
const largest = Math.max(1, ...sizes)
const { url: largestUrl } = await grownLog(serverUrl, largest, kinds[0] ?? 'random', say)
const read = await measureLists(largestUrl, brokers, largest, readCount)
faults.push(...read.faults)
process.stdout.write(describe())
process.exitCode = faults.length === 0 ? 0 : 1

async function measureGrowth(eventIds: EventIds, contacts: Contacts): Promise<Growth> {
  for (const rowCount of sizes.filter((size) => size > 0))
    await warmUp((await grownLog(serverUrl, rowCount, eventIds, say)).url, rowCount, eventIds)
  const logs = sizes.map((rowCount) => ({ rowCount, rounds: [] as Round[] }))
  for (let round = 1; round <= roundCount; round++) {
    for (const { rowCount, rounds } of round % 2 === 0 ? logs.toReversed() : logs) {
      const measured = await runRound(rowCount, eventIds, firstSeed + round, contacts)
      rounds.push(measured)
      say(
        `round ${round} of ${roundCount}, ${eventIds} ids, ${rowCount} rows: ${Math.round(measured.eventsPerSecond)} events/s, ${Math.round(measured.cpu.postgres ?? Number.NaN)} µs of CPU each in PostgreSQL`,
      )
    }
  }
  const [smallest] = logs
  const spread = (log: { rounds: Round[] }, speedOf: (round: Round) => number) =>
    ratioOf(log.rounds.map(speedOf), smallest?.rounds.map(speedOf) ?? [])
  return {
    eventIds,
    sizes: logs.map((log) => ({
      ...log,
      ratio: spread(log, ({ eventsPerSecond }) => eventsPerSecond),
      cpuRatio: spread(log, eventsPerCpuSecond),
    })),
  }
}

/** CPU time of service and database, which depends little on other load of the machine. */
function eventsPerCpuSecond({ cpu }: Round): number {
  return 1e6 / ((cpu.process ?? 0) + (cpu.postgres ?? 0) + (cpu.contacts ?? 0))
}

function runRound(rowCount: number, eventIds: EventIds, seed: number, contacts: Contacts): Promise<Round> {
  const totalCount = warmUpCount + eventCount
  const open = () =>
    rowCount === 0 ? createMigratedDatabase() : grownLog(serverUrl, rowCount, eventIds, say)
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
      faults.push(...(await findFaults(client, [...ids])).map((fault) => `${rowCount} rows: ${fault}`))
      return { ...measured, walBytesPerEvent }
    },
    { open },
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

async function findFaults(client: pg.Client, eventIds: readonly string[]): Promise<string[]> {
  const { rows } = await client.query(
    `SELECT count(*)::integer AS logged, count(decision.locator)::integer AS decided
     FROM notifications.notification_log LEFT JOIN notifications.decision USING (locator)
     WHERE notification_log.event_id = ANY($1)`,
    [eventIds],
  )
  return Object.entries(rows[0]).flatMap(([what, count]) =>
    count === eventIds.length ? [] : [`${count} ${what} of ${eventIds.length} distinct event ids`],
  )
}

function listFrom(name: string, byDefault: string): string[] {
  return (process.env[name] ?? byDefault).split(',')
}

function describe(): string {
  const tables = growths.map(({ eventIds, sizes }) => {
    const row = (title: string, digits: number, of: (round: Round) => number | null) => [
      title,
      ...sizes.map(({ rounds }) => cellOf(rounds.map(of), digits)),
    ]
    return tableOf([
      [`${eventIds} ids`, ...sizes.map(({ rowCount }) => `${rowCount.toLocaleString('en')} rows`)],
      row('events/s', 0, ({ eventsPerSecond }) => eventsPerSecond),
      ['of the first', ...sizes.map(({ ratio }) => format(ratio, 2))],
      ['of the first, per CPU', ...sizes.map(({ cpuRatio }) => format(cpuRatio, 2))],
      row('CPU µs/event, the process', 0, ({ cpu }) => cpu.process),
      row('CPU µs/event, PostgreSQL', 0, ({ cpu }) => cpu.postgres),
      row('WAL bytes/event', 0, ({ walBytesPerEvent }) => walBytesPerEvent),
    ])
  })
  return [
    `rounds: ${roundCount}; events a round: ${eventCount.toLocaleString('en')}; medians (least–most)`,
    ...tables.flatMap((lines) => ['', ...lines]),
    '',
    ...describeLists(read.lists, largest, readCount),
    ...faults.map((fault) => `WRONG: ${fault}`),
    '',
  ].join('\n')
}
