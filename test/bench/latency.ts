// make bench-latency
// What events cost at everyday rates, and how long they take from the moment at which they are due for publishing until their
// commit, for the sides in turn. RATES, SECONDS (of each run), ROUNDS, EVENTS (to measure the capacity), PARTITIONS and BEFORE are
// described in README.md; --json prints JSON. Exits 1 if an outcome is wrong.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import kafkajs, { type Producer } from 'kafkajs'
import type { Client } from 'pg'
import { onServer } from '../stack/databases.ts'
import { brokersFromEnvironment, endWithSignals, numberFrom } from '../stack/environment.ts'
import { until } from '../stack/until.ts'
import { inArena } from './arena.ts'
import { startContacts } from './contacts.ts'
import { cpuMsOf, cpuMsOfFamily } from './cpu.ts'
import { type BenchEvent, generateEvents } from './events.ts'
import { inTurn } from './in-turn.ts'
import { cellOf, print, quantileOf, type Row, tableOf } from './report.ts'
import { findFaults, processed, publish, runRound, serverPid } from './round.ts'
import { SIDE_NAMES, SIDES, type SideName } from './sides.ts'

interface Load {
  readonly name: string
  readonly eventsPerSecond: number
  /** Duration of the measurement. */
  readonly seconds: number
}

/** Events/s, a part of the capacity, or single events with a pause between them. */
const RATE = /^([1-9]\d*%?|lone)$/
const LONE_COUNT = 20
const LONE_PAUSE_SECONDS = 1.5
/** A backlog so that V8 compiles the code, and the second after it, are not measured. */
const WARM_UP_COUNT = 10_000
const SETTLE_SECONDS = 1
const TICK_MS = 1
const STALL_MAX_MS = 60_000
/** A request may carry 1 MB for each partition. */
const SEND_COUNT_MAX = 2_000
/** As Java's producer. */
const REQUEST_COUNT_MAX = 5

const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false } } })
const brokers = brokersFromEnvironment()
const roundCount = numberFrom('ROUNDS', 3)
const secondCount = numberFrom('SECONDS', 10)
const eventCount = numberFrom('EVENTS', 50_000)
const rates = (process.env.RATES || 'lone,20,100,500,1500,5000,80%').split(',')
const wrong = rates.find((rate) => !RATE.test(rate))
if (wrong !== undefined)
  throw new Error(`RATES must be like lone,100,80%, not contain ${JSON.stringify(wrong)}`)
endWithSignals()
await assertCommitTimes()

const contacts = await startContacts()
const capacity = rates.some((rate) => rate.endsWith('%')) ? await measureCapacity() : null
const loads = rates.map(loadOf)
type Measured = Awaited<ReturnType<typeof measure>>
const results: { readonly load: string; readonly side: SideName; readonly rounds: readonly Measured[] }[] = []
for (const load of loads) {
  process.stderr.write(`${load.name}:\n`)
  const sides = await inTurn(roundCount, SIDE_NAMES, (name, round) => measure(name, load, round))
  results.push(...SIDE_NAMES.map((side) => ({ load: load.name, side, rounds: sides[side] })))
}
const faults = results.flatMap(({ load, side, rounds }) =>
  rounds.flatMap((run, i) => run.faults.map((fault) => `${load}, round ${i + 1}, ${side}: ${fault}`)),
)
const columns: readonly Row<Measured>[] = [
  ['serve, %', ({ cpu }) => cpu.serve, 1],
  ['PostgreSQL, %', ({ cpu }) => cpu.postgres, 1],
  ['broker, %', ({ cpu }) => cpu.broker, 1],
  ['median, ms', ({ latencyMs }) => latencyMs.p50, 1],
  ['p99, ms', ({ latencyMs }) => latencyMs.p99, 1],
  ['p99.9, ms', ({ latencyMs }) => latencyMs['p99.9'], 1],
  ['events/transaction', ({ eventsPerTransaction }) => eventsPerTransaction, 1],
]
const lags = loads.map(({ name }) => {
  const rounds = results.flatMap((result) => (result.load === name ? result.rounds : []))
  return `${name}: ${Math.max(...rounds.map(({ lagMs }) => lagMs)).toFixed(1)}`
})
print(
  flags.json
    ? [JSON.stringify({ settings: { roundCount, secondCount, capacity }, results, faults })]
    : [
        `rounds: ${roundCount}, ${secondCount} s each; medians (least–most); CPU in % of one core`,
        '',
        ...tableOf([
          ['events/s', 'side', ...columns.map(([title]) => title)],
          ...results.map(({ load, side, rounds }) => [
            load,
            side,
            ...columns.map(([, of, digits]) => cellOf(rounds.map(of), digits)),
          ]),
        ]),
        '',
        `The publisher was late by (p99 of the worst run, in ms, part of the latency) ${lags.join('; ')}`,
      ],
  flags.json ? [] : faults,
)
process.exitCode = faults.length === 0 ? 0 : 1

async function assertCommitTimes(): Promise<void> {
  await onServer(process.env.DATABASE_URL ?? '', async (client) => {
    const { rows } = await client.query('SHOW track_commit_timestamp')
    if (rows[0].track_commit_timestamp === 'on') return
    throw new Error(
      'The server of DATABASE_URL does not record the times of commits: set track_commit_timestamp = on and restart it, or unset ' +
        'DATABASE_URL to use a server of the stack.',
    )
  })
}

/** Events/s of the service with a backlog. */
async function measureCapacity(): Promise<number> {
  const warmUpCount = Math.ceil(eventCount / 5)
  const { eventsPerSecond, faults } = await runRound({
    ...{ side: SIDES.ours, seed: 1, eventCount, warmUpCount, contacts, brokers },
  })
  if (faults.length > 0) throw new Error(faults.join('; '))
  process.stderr.write(`capacity: ${Math.round(eventsPerSecond)} events/s\n`)
  return eventsPerSecond
}

function loadOf(rate: string): Load {
  if (rate === 'lone') {
    const seconds = LONE_COUNT * LONE_PAUSE_SECONDS
    return { name: 'lone event', eventsPerSecond: 1 / LONE_PAUSE_SECONDS, seconds }
  }
  const number = Number.parseInt(rate, 10)
  if (!rate.endsWith('%')) return { name: rate, eventsPerSecond: number, seconds: secondCount }
  const eventsPerSecond = Math.round(((capacity ?? 0) * number) / 100)
  return { name: `${rate} (${eventsPerSecond})`, eventsPerSecond, seconds: secondCount }
}

function measure(sideName: SideName, { eventsPerSecond, seconds }: Load, seed: number) {
  return inArena(brokers, contacts, async ({ client, topics, start }) => {
    const measuredCount = Math.ceil(eventsPerSecond * (SETTLE_SECONDS + seconds))
    const events = [...generateEvents(seed, WARM_UP_COUNT + measuredCount)]
    const measured = events.slice(WARM_UP_COUNT)
    await client.query('CHECKPOINT')
    const { pid } = await start(SIDES[sideName])
    const warmUpIds = await publish(brokers, topics, events.slice(0, WARM_UP_COUNT))
    await passed(client, WARM_UP_COUNT)
    // Autovacuum would otherwise do it for the warm-up during the measurement.
    await client.query('VACUUM ANALYZE')

    const postgresPid = await serverPid(client)
    const readCpu = async () => ({
      serve: await cpuMsOf(pid),
      postgres: await cpuMsOfFamily(postgresPid),
      broker: await cpuMsOf(Number(process.env.KAFKA_PID ?? Number.NaN)),
    })
    const producer = createProducer()
    await producer.connect()
    // The clock of the commits; performance.now() drifts from it.
    const startMs = Date.now()
    const fromMs = startMs + SETTLE_SECONDS * 1_000
    const dueMsOf = (index: number) => startMs + (index * 1_000) / eventsPerSecond
    const messages = measured.map(({ topic, key, value }) => ({ topic: topics[topic], key, value }))
    const [lagsMs, cpu] = await Promise.all([
      publishWhenDue(producer, messages, dueMsOf),
      sharesOfCore(readCpu, fromMs, fromMs + seconds * 1_000),
    ])
    await producer.disconnect()
    await passed(client, events.length)

    /** By event id; an event that came before has no commit of its own. */
    const dueMs = new Map<string, number>()
    for (const [i, { eventId }] of measured.entries())
      if (!warmUpIds.has(eventId) && !dueMs.has(eventId)) dueMs.set(eventId, dueMsOf(i))
    const commits = (await commitsOf(client)).flatMap(({ eventId, atMs, transaction }) => {
      const due = dueMs.get(eventId) ?? 0
      return due < fromMs ? [] : [{ latencyMs: atMs - due, transaction }]
    })
    const latenciesMs = commits.map(({ latencyMs }) => latencyMs)
    return {
      eventsPerSecond: commits.length / seconds,
      cpu,
      latencyMs: {
        p50: quantileOf(latenciesMs, 0.5),
        p99: quantileOf(latenciesMs, 0.99),
        'p99.9': quantileOf(latenciesMs, 0.999),
      },
      eventsPerTransaction: commits.length / new Set(commits.map(({ transaction }) => transaction)).size,
      lagMs: quantileOf(lagsMs, 0.99),
      faults: await findFaults(client, brokers, topics, new Set(events.map(({ eventId }) => eventId)).size),
    }
  })
}

async function passed(client: Client, count: number): Promise<void> {
  const isPassed = async () => (await processed(client)) >= count
  await until(isPassed, { what: `${count} events to be committed`, timeoutMs: STALL_MAX_MS })
}

function createProducer(): Producer {
  const kafka = new kafkajs.Kafka({
    brokers: brokers.split(','),
    logLevel: kafkajs.logLevel.NOTHING,
    // The operating system would otherwise hold back a request until the one before is acknowledged.
    socketFactory: ({ host, port, onConnect }) => connect({ host, port, noDelay: true }, onConnect),
  })
  const createPartitioner = kafkajs.Partitioners.DefaultPartitioner
  return kafka.producer({ allowAutoTopicCreation: false, createPartitioner })
}

/**
 * Publishes each message when it is due, and returns by how many ms each was late. With five requests in flight it waits, and the
 * next request contains more messages.
 */
async function publishWhenDue(
  producer: Producer,
  messages: readonly (Pick<BenchEvent, 'key' | 'value'> & { topic: string })[],
  dueMsOf: (index: number) => number,
): Promise<number[]> {
  const lagsMs: number[] = []
  const requests = new Set<Promise<unknown>>()
  while (lagsMs.length < messages.length) {
    const first = lagsMs.length
    const atMs = Date.now()
    const isDue = (index: number) => index < messages.length && dueMsOf(index) <= atMs
    for (let next = first; isDue(next) && next < first + SEND_COUNT_MAX; next++)
      lagsMs.push(atMs - dueMsOf(next))
    if (lagsMs.length > first) {
      const byTopic = Map.groupBy(messages.slice(first, lagsMs.length), ({ topic }) => topic)
      const topicMessages = [...byTopic].map(([topic, ofTopic]) => ({ topic, messages: ofTopic }))
      const request = producer.sendBatch({ topicMessages }).finally(() => requests.delete(request))
      requests.add(request)
    }
    if (requests.size === REQUEST_COUNT_MAX) await Promise.race(requests)
    await sleep(Math.max(TICK_MS, dueMsOf(lagsMs.length) - Date.now()))
  }
  await Promise.all(requests)
  return lagsMs
}

/** CPU times between these moments in % of one core. */
async function sharesOfCore<Name extends string>(
  readCpuMs: () => Promise<Record<Name, number>>,
  fromMs: number,
  toMs: number,
): Promise<Record<Name, number>> {
  await sleep(fromMs - Date.now())
  const before = await readCpuMs()
  await sleep(toMs - Date.now())
  const after = await readCpuMs()
  const share = (name: Name) => ((after[name] - before[name]) * 100) / (toMs - fromMs)
  const names = Object.keys(after) as Name[]
  return Object.fromEntries(names.map((name) => [name, share(name)])) as Record<Name, number>
}

/** The commit of each event's row. Its time is taken just before the commit is flushed to disk. */
async function commitsOf(client: Client): Promise<{ eventId: string; atMs: number; transaction: string }[]> {
  const { rows } = await client.query(`
    SELECT event_id AS "eventId", xmin::text AS transaction,
      (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000)::float8 AS "atMs"
    FROM notifications.notification_log`)
  return rows
}
