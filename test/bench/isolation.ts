// make bench-isolation
// What partitions that are held cost the others. One of twelve is held in the middle of a run: the rate of the other eleven
// while it is, against their rate before. Eleven of twelve are held: the rate of the twelfth, against what it does alone. A
// partition is blocked by a lock on its checkpoint; at the end all are freed and must catch up. SECONDS (of the rate before), HOLD
// (seconds for which the one is held), EVENTS (of twelve partitions, where eleven are held) and ROUNDS set the sizes. Then
// dispatch under a flood of requests for the log: FLOOD_EVENTS, FLOOD_ROUNDS and RATE (requests/s) set the sizes. Exits 1 where
// an outcome is wrong.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { brokersFromEnvironment, endWithSignals, numberFrom } from '../stack/environment.ts'
import { produce, type TestMessage } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { type Arena, inArena } from './arena.ts'
import { startContacts } from './contacts.ts'
import { peakMemoryMbOf } from './cpu.ts'
import { generateEvents } from './events.ts'
import { measureFlood } from './flood.ts'
import { cellOf, format, ratioOf, tableOf } from './report.ts'
import { findFaults, processed } from './round.ts'
import { ours, type Running } from './sides.ts'

const brokers = brokersFromEnvironment()
const roundCount = numberFrom('ROUNDS', 3)
const seconds = numberFrom('SECONDS', 8)
const holdSeconds = numberFrom('HOLD', 60)
const eventCount = numberFrom('EVENTS', 500_000)
const PARTITION_COUNT = 12
const ALL = Array.from({ length: PARTITION_COUNT }, (_, partition) => partition)
const OTHERS = ALL.slice(1)
/** As many as fit into one batch of 1 MB, the usual limit of producers. */
const PUBLISH_COUNT_MAX = 2_000
/** Time until rates are steady. */
const WARM_UP_PART = 0.1
/** More than is processed, so that the others have a backlog until the held one is released. */
const EVENTS_PER_SECOND_MAX = 35_000

endWithSignals()

let flood: Awaited<ReturnType<typeof measureFlood>>
const rates = { before: [] as number[], beside: [] as number[], alone: [] as number[], last: [] as number[] }
const peaksMb: number[] = []
const faults: string[] = []
const contacts = await startContacts()
try {
  for (let round = 1; round <= roundCount; round++) {
    await holdOne(round)
    rates.alone.push(await rateOfFirst(round, []))
    rates.last.push(await rateOfFirst(round, OTHERS))
    const [before, beside, alone, last] = Object.values(rates).map((all) => Math.round(all.at(-1) ?? 0))
    process.stderr.write(
      `round ${round}: eleven ${before} events/s, beside a held one ${beside}; one alone ${alone}, the last one ${last}\n`,
    )
  }
  flood = await measureFlood(contacts, brokers)
} finally {
  contacts.stop()
}
faults.push(...flood.faults)

/** Events/s of eleven partitions before and while the twelfth is held. */
async function holdOne(round: number): Promise<void> {
  const measuredCount = EVENTS_PER_SECOND_MAX * (seconds + holdSeconds)
  const ownCount = Math.ceil((measuredCount * (1 + WARM_UP_PART)) / PARTITION_COUNT)
  await inTwelve(round, ALL, ownCount, async ({ client, topics }, running, distinctCount) => {
    await until(async () => (await processed(client)) > measuredCount * WARM_UP_PART, {
      what: 'the warm-up',
      intervalMs: 10,
    })
    rates.before.push(await rateOf(client, OTHERS, seconds))
    const free = await hold(client, topics.claims, [0])
    rates.beside.push(await rateOf(client, OTHERS, holdSeconds))
    const counts = await Promise.all(OTHERS.map((partition) => processedOf(client, [partition])))
    if (Math.max(...counts) >= ownCount)
      faults.push(`round ${round}, one held: the others had nothing left to do before it was freed`)
    await free()
    await settled(client, running, topics, distinctCount, `round ${round}, one held`)
  })
}

/** Events/s of the first partition while these others are held. */
async function rateOfFirst(round: number, held: readonly number[]): Promise<number> {
  const own = Math.floor(eventCount / PARTITION_COUNT)
  return inTwelve(
    round,
    [0, ...held],
    own,
    async ({ client, topics, start }, _, distinctCount) => {
      await client.query(
        `INSERT INTO notifications.projection_checkpoints (topic, partition_id, "offset")
       SELECT $1, partition, -1 FROM unnest($2::int[]) AS partition`,
        [topics.claims, held],
      )
      const free = await hold(client, topics.claims, held)
      const running = await start(ours)
      await until(async () => (await processedOf(client, [0])) > own * WARM_UP_PART, {
        what: 'the warm-up',
        intervalMs: 10,
      })
      const fromMs = performance.now()
      const from = await processedOf(client, [0])
      await until(async () => (await processedOf(client, [0])) >= own * 0.9, {
        what: 'the first partition',
        intervalMs: 10,
        timeoutMs: 300_000,
      })
      const rate = ((await processedOf(client, [0])) - from) / ((performance.now() - fromMs) / 1_000)
      await free()
      await settled(client, running, topics, distinctCount, `round ${round}, ${held.length} held`)
      return rate
    },
    false,
  )
}

/** Creates a topic with this number of events in each partition. */
function inTwelve<T>(
  seed: number,
  partitions: readonly number[],
  ownCount: number,
  use: (arena: Arena, running: Running, distinctCount: number) => Promise<T>,
  startNow = true,
): Promise<T> {
  return inArena(
    brokers,
    contacts,
    async (arena) => {
      const count = ownCount * partitions.length
      const ids = new Set<string>()
      let messages: TestMessage[] = []
      let index = 0
      for (const { eventId, value } of generateEvents(seed, count)) {
        ids.add(eventId)
        const partition = partitions[index++ % partitions.length] as number
        messages.push({ topic: arena.topics.claims, partition, value })
        if (messages.length < PUBLISH_COUNT_MAX && index < count) continue
        await produce(brokers, messages)
        messages = []
      }
      const running = startNow ? await arena.start(ours) : ({} as Running)
      return use(arena, running, ids.size)
    },
    { partitionCount: PARTITION_COUNT },
  )
}

async function rateOf(client: pg.Client, partitions: readonly number[], forSeconds: number): Promise<number> {
  const fromMs = performance.now()
  const from = await processedOf(client, partitions)
  await sleep(forSeconds * 1_000)
  return ((await processedOf(client, partitions)) - from) / ((performance.now() - fromMs) / 1_000)
}

async function processedOf(client: pg.Client, partitions: readonly number[]): Promise<number> {
  const { rows } = await client.query(
    `SELECT coalesce(sum("offset" + 1), 0)::integer AS count FROM notifications.projection_checkpoints
     WHERE partition_id = ANY($1) AND "offset" >= 0`,
    [partitions],
  )
  return rows[0].count
}

/** Locks checkpoints like a forgotten session; returns a function that releases them. */
async function hold(
  client: pg.Client,
  topic: string,
  partitions: readonly number[],
): Promise<() => Promise<void>> {
  const { host, port, user, password, database = '' } = client
  const locker = new pg.Client({ host, port, database, ...(user && { user }), ...(password && { password }) })
  await locker.connect()
  await locker.query('BEGIN')
  await locker.query(
    'SELECT FROM notifications.projection_checkpoints WHERE topic = $1 AND partition_id = ANY($2) FOR UPDATE',
    [topic, partitions],
  )
  return () => locker.end()
}

async function settled(
  client: pg.Client,
  running: Running,
  topics: Arena['topics'],
  distinctCount: number,
  what: string,
): Promise<void> {
  let found: string[] = []
  await until(
    async () => {
      found = await findFaults(client, brokers, topics, distinctCount)
      return found.length === 0
    },
    { what: `${what}: all to be processed`, timeoutMs: 300_000, intervalMs: 500 },
  ).catch(() => faults.push(...found.map((fault) => `${what}: ${fault}`)))
  peaksMb.push((await peakMemoryMbOf(running.pid)) ?? Number.NaN)
}

const ratio = (over: readonly number[], under: readonly number[]) => format(ratioOf(over, under), 2)
process.stdout.write(
  [
    `rounds: ${roundCount}; one held for ${holdSeconds} s; medians (least–most)`,
    '',
    ...tableOf([
      ['', 'events/s'],
      ['eleven partitions of twelve', cellOf(rates.before, 0)],
      ['the same eleven while the twelfth is held', cellOf(rates.beside, 0)],
      ['one partition alone', cellOf(rates.alone, 0)],
      ['one partition while eleven are held', cellOf(rates.last, 0)],
      ['peak memory, MB', cellOf(peaksMb, 0)],
    ]),
    '',
    `one held: the others at ${ratio(rates.beside, rates.before)}; eleven held: the last at ${ratio(rates.last, rates.alone)}`,
    '',
    ...flood.lines,
    ...faults.map((fault) => `WRONG: ${fault}`),
    '',
  ].join('\n'),
)
process.exitCode = faults.length === 0 ? 0 : 1
