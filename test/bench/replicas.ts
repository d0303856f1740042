// node test/stack/with-stack.ts -- node test/bench/replicas.ts [--json]
// How the service scales out on one machine: the throughput of 1, 2 and 3 replicas on topics of few and of many
// partitions, and how long an event waits at most when a replica joins, stops or is killed. EVENTS (of each backlog),
// RATE (events/s while replicas come and go) and ROUNDS set the sizes.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import kafkajs from 'kafkajs'
import { until } from '../stack/until.ts'
import { type Arena, inArena } from './arena.ts'
import { watchCommits } from './commits.ts'
import { startContacts } from './contacts.ts'
import { brokersFromEnvironment, endWithSignals, numberFrom } from './environment.ts'
import { generateEvents } from './events.ts'
import { createPublisher } from './open-loop.ts'
import { cellOf, tableOf } from './report.ts'
import { processed } from './round.ts'
import { ours, type Running } from './sides.ts'

const REPLICA_COUNTS = [1, 2, 3]
const PARTITION_COUNTS = [1, 4]
const WARM_UP_COUNT = 5_000
const POLL_INTERVAL_MS = 25
const SESSION_TIMEOUT_MS = 10_000
/** Load before a change, and after it for longer than Kafka takes to miss a member. */
const BEFORE_SECONDS = 5
const AFTER_SECONDS = 25

const CHANGES: Record<string, (replicas: readonly Running[], arena: Arena) => Promise<unknown>> = {
  'a replica joins': (_, { start }) => start(ours),
  'a replica stops (SIGTERM)': async (replicas) => replicas[0]?.stop(),
  'a replica is killed (SIGKILL)': async (replicas) => process.kill(replicas[0]?.pid ?? 0, 'SIGKILL'),
}

interface Throughput {
  readonly partitionCount: number
  readonly replicaCount: number
  readonly eventsPerSecond: number
}
interface Wait {
  readonly change: string
  readonly longestMs: number
}

const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false } } })
const brokers = brokersFromEnvironment()
const roundCount = numberFrom('ROUNDS', 3)
const eventCount = numberFrom('EVENTS', 50_000)
const rate = numberFrom('RATE', 500)
process.env.MQ_SESSION_TIMEOUT = `${SESSION_TIMEOUT_MS}ms`
endWithSignals()

const contacts = await startContacts()
try {
  const throughputs: Throughput[] = []
  const waits: Wait[] = []
  for (let round = 1; round <= roundCount; round++) {
    for (const partitionCount of PARTITION_COUNTS)
      for (const replicaCount of REPLICA_COUNTS)
        throughputs.push(await measureThroughput(partitionCount, replicaCount, round))
    for (const change of Object.keys(CHANGES)) waits.push(await measureWait(change, round))
  }
  process.stdout.write(
    flags.json ? `${JSON.stringify({ throughputs, waits })}\n` : describe(throughputs, waits),
  )
} finally {
  contacts.stop()
}

/** Of a backlog that comes in at once, from when all of it is published. */
function measureThroughput(partitionCount: number, replicaCount: number, seed: number): Promise<Throughput> {
  return withReplicas({ partitionCount, replicaCount }, async ({ client }, _, publisher) => {
    await publisher.publish([...generateEvents(seed, eventCount)])
    const fromMs = performance.now()
    const fromCount = await processed(client)
    while ((await processed(client)) < WARM_UP_COUNT + eventCount) await sleep(POLL_INTERVAL_MS)
    const seconds = (performance.now() - fromMs) / 1_000
    const eventsPerSecond = (WARM_UP_COUNT + eventCount - fromCount) / seconds
    say(`${partitionCount} partitions, ${replicaCount} replicas: ${Math.round(eventsPerSecond)} events/s`)
    return { partitionCount, replicaCount, eventsPerSecond }
  })
}

/** Of the events at a steady rate while two replicas run and the change comes about. */
function measureWait(change: string, seed: number): Promise<Wait> {
  return withReplicas({ partitionCount: 4, replicaCount: 2 }, async (arena, replicas, publisher) => {
    const stop = new AbortController()
    const commits = watchCommits(arena.client, stop.signal)
    try {
      const events = [...generateEvents(seed, rate * (BEFORE_SECONDS + AFTER_SECONDS))]
      const fromMs = performance.now()
      const changing = sleep(BEFORE_SECONDS * 1_000).then(() => CHANGES[change]?.(replicas, arena))
      await publisher.publishAtRate(events, rate)
      await changing
      await commits.caughtUp(publisher.schedule)
      const longestMs = Math.max(...commits.latenciesOf(publisher.schedule, fromMs))
      say(`${change}: an event waited ${Math.round(longestMs)} ms at most`)
      return { change, longestMs }
    } finally {
      stop.abort()
      await commits.watching
    }
  })
}

/** With replicas that share the partitions and have their code compiled. */
function withReplicas<T>(
  { partitionCount, replicaCount }: { partitionCount: number; replicaCount: number },
  use: (
    arena: Arena,
    replicas: readonly Running[],
    publisher: Awaited<ReturnType<typeof createPublisher>>,
  ) => Promise<T>,
): Promise<T> {
  return inArena(
    brokers,
    contacts,
    async (arena) => {
      const replicas: Running[] = []
      for (let i = 0; i < replicaCount; i++) replicas.push(await arena.start(ours))
      await untilMembers(arena.groupIdOf(ours), replicaCount)
      const publisher = await createPublisher(brokers, arena.topics, partitionCount)
      try {
        await publisher.publish([...generateEvents(0, WARM_UP_COUNT)])
        await until(async () => (await processed(arena.client)) === WARM_UP_COUNT, {
          what: 'the first events to be processed',
        })
        return await use(arena, replicas, publisher)
      } finally {
        await publisher.close()
      }
    },
    { partitionCount },
  )
}

/** Until the group has so many members and each has its partitions. */
async function untilMembers(groupId: string, count: number): Promise<void> {
  const admin = new kafkajs.Kafka({
    brokers: brokers.split(','),
    logLevel: kafkajs.logLevel.NOTHING,
  }).admin()
  await admin.connect()
  try {
    await until(
      async () => {
        const { groups } = await admin.describeGroups([groupId])
        return groups[0]?.state === 'Stable' && groups[0].members.length === count
      },
      { what: `the group to have ${count} members` },
    )
  } finally {
    await admin.disconnect()
  }
}

function describe(throughputs: readonly Throughput[], waits: readonly Wait[]): string {
  const throughputOf = (partitionCount: number, replicaCount: number) =>
    throughputs
      .filter((one) => one.partitionCount === partitionCount && one.replicaCount === replicaCount)
      .map(({ eventsPerSecond }) => eventsPerSecond)
  return [
    `rounds: ${roundCount}; backlogs of ${eventCount.toLocaleString('en')} events; medians (least–most)`,
    '',
    ...tableOf([
      ['events/s', ...REPLICA_COUNTS.map((count) => `${count} ${count === 1 ? 'replica' : 'replicas'}`)],
      ...PARTITION_COUNTS.map((partitionCount) => [
        `3 topics, ${partitionCount} ${partitionCount === 1 ? 'partition' : 'partitions'} each`,
        ...REPLICA_COUNTS.map((replicaCount) => cellOf(throughputOf(partitionCount, replicaCount), 0)),
      ]),
    ]),
    '',
    ...tableOf([
      [`two replicas at ${rate} events/s, session of ${SESSION_TIMEOUT_MS / 1_000} s`, 'longest wait, ms'],
      ...Object.keys(CHANGES).map((change) => [
        change,
        cellOf(
          waits.filter((wait) => wait.change === change).map(({ longestMs }) => longestMs),
          0,
        ),
      ]),
    ]),
    '',
  ].join('\n')
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
