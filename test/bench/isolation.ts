// make bench-isolation
// The cost of blocked partitions for the others. One of twelve is blocked in the middle of a run: the rate of the other eleven meanwhile,
// against their rate before. Eleven of twelve are held: the rate of the twelfth, against its rate alone. A lock on its checkpoint
// blocks a partition; at the end all are freed and must catch up. SECONDS (of the rate before), HOLD (seconds for which the one
// is held), EVENTS (of twelve partitions, if eleven are held) and ROUNDS set the sizes. Exits 1 if an outcome is wrong.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { brokersFromEnvironment, endWithSignals, numberFrom } from '../stack/environment.ts'
import { until } from '../stack/until.ts'
import { type Arena, inArena } from './arena.ts'
import { startContacts } from './contacts.ts'
import { peakMemoryMbOf } from './cpu.ts'
import { type BenchEvent, generateEvents } from './events.ts'
import { cellOf, print, ratioOf, tableOf } from './report.ts'
import { findFaults, processed, publish } from './round.ts'
import { ours } from './sides.ts'

const brokers = brokersFromEnvironment()
const roundCount = numberFrom('ROUNDS', 3)
const seconds = numberFrom('SECONDS', 8)
const holdSeconds = numberFrom('HOLD', 60)
const eventCount = numberFrom('EVENTS', 500_000)
const PARTITION_COUNT = 12
const ALL = Array.from({ length: PARTITION_COUNT }, (_, partition) => partition)
const OTHERS = ALL.slice(1)
/** Time until rates are steady. */
const WARM_UP_PART = 0.1
/** More than is processed, so that the others have a backlog until the held one is released. */
const EVENTS_PER_SECOND_MAX = 35_000
const CATCH_UP_MS_MAX = 300_000

endWithSignals()
const contacts = await startContacts()
const rates = { before: [] as number[], beside: [] as number[], alone: [] as number[], last: [] as number[] }
const peaksMb: number[] = []
const faults: string[] = []
for (let round = 1; round <= roundCount; round++) {
  await holdOne(round)
  rates.alone.push(await rateOfFirst(round, []))
  rates.last.push(await rateOfFirst(round, OTHERS))
  const last = Object.entries(rates).map(([name, all]) => `${name} ${Math.round(all.at(-1) ?? 0)}`)
  process.stderr.write(`round ${round}, events/s: ${last.join(', ')}\n`)
}
print(
  [
    `rounds: ${roundCount}; one held for ${holdSeconds} s; medians (least–most)`,
    '',
    ...tableOf([
      ['', 'events/s'],
      ['eleven partitions of twelve', cellOf(rates.before)],
      ['the same eleven while the twelfth is held', cellOf(rates.beside)],
      ['one partition alone', cellOf(rates.alone)],
      ['one partition while eleven are held', cellOf(rates.last)],
      ['peak memory, MB', cellOf(peaksMb)],
    ]),
    '',
    `one held: the others at ${ratioOf(rates.beside, rates.before)}; eleven held: the last at ${ratioOf(rates.last, rates.alone)}`,
  ],
  faults,
)

/** Events/s of eleven partitions before and while the twelfth is held. */
async function holdOne(round: number): Promise<void> {
  const measuredCount = EVENTS_PER_SECOND_MAX * (seconds + holdSeconds)
  const ownCount = Math.ceil((measuredCount * (1 + WARM_UP_PART)) / PARTITION_COUNT)
  await inTwelve(`round ${round}, one held`, round, ALL, ownCount, async (arena) => {
    const { client } = arena
    await arena.start(ours)
    await passed(client, ALL, measuredCount * WARM_UP_PART)
    rates.before.push(await rateOf(client, OTHERS, () => sleep(seconds * 1_000)))
    const free = await hold(arena, [0])
    rates.beside.push(await rateOf(client, OTHERS, () => sleep(holdSeconds * 1_000)))
    const counts = await Promise.all(OTHERS.map((partition) => processed(client, [partition])))
    if (Math.max(...counts) >= ownCount)
      faults.push(`round ${round}, one held: the others had nothing left to do before it was freed`)
    await free()
  })
}

/** Events/s of the first partition while these others are held. */
async function rateOfFirst(round: number, held: readonly number[]): Promise<number> {
  const ownCount = Math.floor(eventCount / PARTITION_COUNT)
  const what = `round ${round}, ${held.length} held`
  return inTwelve(what, round, [0, ...held], ownCount, async (arena) => {
    const { client } = arena
    await client.query(
      `INSERT INTO notifications.projection_checkpoints (topic, partition_id, "offset")
       SELECT $1, partition, -1 FROM unnest($2::int[]) AS partition`,
      [arena.topics.claims, held],
    )
    const free = await hold(arena, held)
    await arena.start(ours)
    await passed(client, [0], ownCount * WARM_UP_PART)
    const rate = await rateOf(client, [0], () => passed(client, [0], ownCount * 0.9))
    await free()
    return rate
  })
}

/** Publishes this number of events to each of these partitions of twelve, runs `use`, and waits until all is processed. */
function inTwelve<T>(
  what: string,
  seed: number,
  partitions: readonly number[],
  ownCount: number,
  use: (arena: Arena) => Promise<T>,
): Promise<T> {
  function* events(): Generator<BenchEvent, void> {
    let index = 0
    for (const event of generateEvents(seed, ownCount * partitions.length))
      yield { ...event, topic: 'claims', partition: partitions[index++ % partitions.length] as number }
  }
  return inArena(
    brokers,
    contacts,
    async (arena) => {
      const ids = await publish(brokers, arena.topics, events())
      const result = await use(arena)
      let found: string[] = []
      const isSettled = async () => {
        found = await findFaults(arena.client, brokers, arena.topics, ids.size)
        return found.length === 0
      }
      await until(isSettled, { what, timeoutMs: CATCH_UP_MS_MAX, intervalMs: 500 }).catch(() =>
        faults.push(...found.map((fault) => `${what}: ${fault}`)),
      )
      peaksMb.push(...(await Promise.all(arena.started.map(({ pid }) => peakMemoryMbOf(pid)))))
      return result
    },
    { partitionCount: PARTITION_COUNT },
  )
}

function passed(client: pg.Client, partitions: readonly number[], count: number): Promise<unknown> {
  const isPassed = async () => (await processed(client, partitions)) >= count
  return until(isPassed, { what: `${count} events`, intervalMs: 10, timeoutMs: CATCH_UP_MS_MAX })
}

/** Events/s of these partitions during `wait`. */
async function rateOf(
  client: pg.Client,
  partitions: readonly number[],
  wait: () => Promise<unknown>,
): Promise<number> {
  const fromMs = performance.now()
  const from = await processed(client, partitions)
  await wait()
  return ((await processed(client, partitions)) - from) / ((performance.now() - fromMs) / 1_000)
}

/** Locks checkpoints like a forgotten session. Returns a function that releases them. */
async function hold(
  { databaseUrl, topics }: Arena,
  partitions: readonly number[],
): Promise<() => Promise<void>> {
  const locker = new pg.Client(databaseUrl)
  await locker.connect()
  await locker.query('BEGIN')
  await locker.query(
    'SELECT FROM notifications.projection_checkpoints WHERE topic = $1 AND partition_id = ANY($2) FOR UPDATE',
    [topics.claims, partitions],
  )
  return () => locker.end()
}
