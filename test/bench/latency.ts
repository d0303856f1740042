// make bench-latency
// Time from the moment at which an event is due for publishing until its commit is seen, at parts of the service's own capacity,
// for the service and for the floor in turn. EVENTS (to measure the capacity), SECONDS (of each run) and ROUNDS set the sizes.
import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Producer } from 'kafkajs'
import type { Client } from 'pg'
import { brokersFromEnvironment, endWithSignals, numberFrom } from '../stack/environment.ts'
import { inArena, PARTITION_COUNT } from './arena.ts'
import { startContacts } from './contacts.ts'
import { type BenchEvent, generateEvents } from './events.ts'
import { cellOf, print, quantileOf, tableOf } from './report.ts'
import { runRound } from './round.ts'
import { floor, ours, type Side } from './sides.ts'

const LOADS = [0.1, 0.5, 0.8]
const QUANTILES = { p50: 0.5, p99: 0.99, 'p99.9': 0.999 }
/** A backlog so that V8 compiles the code, and the second after it, are not measured. */
const WARM_UP_COUNT = 10_000
/** Far more events/s than the broker accepts. */
const WARM_UP_RATE = 1_000_000
const SETTLE_SECONDS = 1
/** Precision of the time of a commit, and of publishing. */
const TICK_MS = 4
const STALL_MAX_MS = 60_000
/** A request may carry 1 MB for each partition. */
const SEND_COUNT_MAX = 2_000

const brokers = brokersFromEnvironment()
const roundCount = numberFrom('ROUNDS', 3)
const seconds = numberFrom('SECONDS', 10)
const eventCount = numberFrom('EVENTS', 50_000)
endWithSignals()

const contacts = await startContacts()
const { eventsPerSecond: capacity, faults } = await runRound({
  side: ours,
  seed: 1,
  eventCount,
  warmUpCount: Math.ceil(eventCount / 5),
  contacts,
  brokers,
})
if (faults.length > 0) throw new Error(faults.join('; '))
const found: { readonly side: Side; readonly load: number; readonly latenciesMs: readonly number[] }[] = []
for (let round = 1; round <= roundCount; round++) {
  for (const load of LOADS) {
    for (const side of round % 2 === 0 ? [floor, ours] : [ours, floor]) {
      const latenciesMs = await measure(side, capacity * load, round)
      found.push({ side, load, latenciesMs })
      const p99 = quantileOf(latenciesMs, QUANTILES.p99)
      process.stderr.write(`round ${round}, ${side.name} at ${load * 100} %: p99 ${p99} ms\n`)
    }
  }
}
const cell = (wanted: Side, atLoad: number, part: number) =>
  cellOf(
    found
      .filter(({ side, load }) => side === wanted && load === atLoad)
      .map(({ latenciesMs }) => quantileOf(latenciesMs, part)),
    1,
  )
print([
  `capacity: ${Math.round(capacity)} events/s; rounds: ${roundCount}, ${seconds} s each; medians (least–most)`,
  '',
  ...tableOf([
    ['load', ours.name, floor.name],
    ...LOADS.flatMap((load) =>
      Object.entries(QUANTILES).map(([name, part]) => [
        `${load * 100} %, ${name}, ms`,
        cell(ours, load, part),
        cell(floor, load, part),
      ]),
    ),
  ]),
])

function measure(side: Side, eventsPerSecond: number, seed: number): Promise<number[]> {
  return inArena(brokers, contacts, async ({ client, topics, start }) => {
    const measuredCount = Math.ceil(eventsPerSecond * (SETTLE_SECONDS + seconds))
    const events = [...generateEvents(seed, WARM_UP_COUNT + measuredCount)]
    const kafka = new kafkajs.Kafka({ brokers: brokers.split(','), logLevel: kafkajs.logLevel.NOTHING })
    const producer = kafka.producer({ allowAutoTopicCreation: false })
    await producer.connect()
    const stop = new AbortController()
    /** By `topic/partition`: the time at which each message was due, in the order of offsets. */
    const dueMs = new Map<string, number[]>()
    const commits = watchCommits(client, stop.signal)
    const publish = (some: readonly BenchEvent[], rate: number) =>
      publishAtRate(producer, some, rate, ({ topic }) => topics[topic], dueMs)
    try {
      await start(side)
      await publish(events.slice(0, WARM_UP_COUNT), WARM_UP_RATE)
      await commits.caughtUp(dueMs)
      const fromMs = performance.now() + SETTLE_SECONDS * 1_000
      await publish(events.slice(WARM_UP_COUNT), eventsPerSecond)
      await commits.caughtUp(dueMs)
      return commits.latenciesOf(dueMs, fromMs)
    } finally {
      stop.abort()
      await commits.watching
      await producer.disconnect()
    }
  })
}

/** Publishes each message when it is due; after a slow request, the next one contains more messages. */
async function publishAtRate(
  producer: Producer,
  events: readonly BenchEvent[],
  eventsPerSecond: number,
  nameOf: (event: BenchEvent) => string,
  dueMs: Map<string, number[]>,
): Promise<void> {
  const startMs = performance.now()
  for (let sent = 0; sent < events.length; ) {
    const dueCount = Math.ceil(((performance.now() - startMs) * eventsPerSecond) / 1_000)
    const end = Math.min(dueCount, events.length, sent + SEND_COUNT_MAX)
    const messages = events.slice(sent, end).map((event, i) => {
      const partition = Number(event.key.slice(-6)) % PARTITION_COUNT
      const place = `${nameOf(event)}/${partition}`
      const due = dueMs.get(place) ?? []
      dueMs.set(place, due)
      due.push(startMs + ((sent + i) * 1_000) / eventsPerSecond)
      return { topic: nameOf(event), key: event.key, value: event.value, partition }
    })
    const topicMessages = [...Map.groupBy(messages, ({ topic }) => topic)].map(([topic, ofTopic]) => ({
      topic,
      messages: ofTopic,
    }))
    if (messages.length > 0) await producer.sendBatch({ topicMessages })
    sent = end
    await sleep(TICK_MS)
  }
}

/** Polls the checkpoints until the signal aborts. */
function watchCommits(client: Client, stop: AbortSignal) {
  /** By `topic/partition`: each observed offset with the time of its first observation. */
  const seen = new Map<string, { offset: number; atMs: number }[]>()

  async function watch(): Promise<void> {
    while (!stop.aborted) {
      const { rows } = await client.query({
        name: 'checkpoints',
        text: `SELECT topic || '/' || partition_id AS place, "offset"::integer FROM notifications.projection_checkpoints`,
      })
      const atMs = performance.now()
      for (const { place, offset } of rows) {
        const steps = seen.get(place) ?? []
        if (offset > (steps.at(-1)?.offset ?? -1)) steps.push({ offset, atMs })
        seen.set(place, steps)
      }
      await sleep(TICK_MS)
    }
  }

  type Due = ReadonlyMap<string, readonly number[]>
  return {
    watching: watch(),
    /** Waits until everything published is committed. */
    caughtUp: async (dueMs: Due): Promise<void> => {
      const deadlineMs = performance.now() + STALL_MAX_MS
      const isBehind = ([place, due]: [string, readonly number[]]) =>
        (seen.get(place)?.at(-1)?.offset ?? -1) < due.length - 1
      while ([...dueMs].some(isBehind)) {
        if (performance.now() > deadlineMs) throw new Error(`not all is committed after ${STALL_MAX_MS} ms`)
        await sleep(TICK_MS)
      }
    },
    /** Latencies in ms of the events due at `fromMs` or later; all must be committed. */
    latenciesOf: (dueMs: Due, fromMs: number): number[] =>
      [...dueMs].flatMap(([place, due]) => {
        const steps = seen.get(place) ?? []
        let step = 0
        return due.flatMap((ms, offset) => {
          while ((steps[step]?.offset ?? Number.POSITIVE_INFINITY) < offset) step++
          return ms < fromMs ? [] : [(steps[step]?.atMs ?? Number.NaN) - ms]
        })
      }),
  }
}
