// node test/soak/coordinator.ts
// Three brokers under an event every 100 ms for each partition. KILLS (15) times one of them is killed and started again, each
// equally often, and the one that coordinates the groups first: no partition may be without a row for over 3 s longer than one is
// without a message for a librdkafka consumer (kcat) with the same session timeout. Exits 1 where that does not hold.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import kafkajs from 'kafkajs'
import { numberFrom } from '../stack/environment.ts'
import { startApacheCluster } from '../stack/kafka/apache.ts'
import { kafkaJars } from '../stack/kafka/jars.ts'
import { startPostgres } from '../stack/postgres.ts'
import { until } from '../stack/until.ts'
import { anEvent, createWorld } from '../stack/world.ts'
import { result, say } from './report.ts'

const BROKER_COUNT = 3
const SESSION_TIMEOUT_S = 30
const PUBLISH_EVERY_MS = 100
const LONGER_MAX_MS = 3_000
/** Between two kills, so that each is measured by itself. */
const PAUSE_MS = 5_000

await promisify(execFile)('kcat', ['-V']).catch(() => {
  say('skipped: kcat is not installed')
  process.exit()
})
const killCount = numberFrom('KILLS', 15)
const [postgres, cluster] = await Promise.all([
  startPostgres(),
  startApacheCluster(await kafkaJars(say), say, BROKER_COUNT),
])
const brokers = cluster.map((broker) => broker.brokers).join(',')
const children: ChildProcess[] = []
const findings: Record<string, boolean> = {}
const world = await createWorld({ partitionCount: BROKER_COUNT, brokers, serverUrl: postgres.url })
const topic = world.topics.claims
const session = ['-X', `session.timeout.ms=${SESSION_TIMEOUT_S * 1_000}`]
try {
  await world.spawn({ MQ_SESSION_TIMEOUT: `${SESSION_TIMEOUT_S}s`, LOG_LEVEL: 'info' })
  /** When kcat got the messages of each partition, in ms since 1970. */
  const received = Array.from({ length: BROKER_COUNT }, (): number[] => [])
  const consumer = kcat(['-G', `kcat-${topic}`, topic, '-u', '-f', '%p\n', ...session])
  createInterface({ input: consumer.stdout }).on('line', (line) => received[Number(line)]?.push(Date.now()))
  const producers = received.map((_, partition) => kcat(['-P', '-t', topic, '-p', String(partition)]))
  let count = 0
  const publishing = setInterval(() => {
    count++
    for (const [partition, { stdin }] of producers.entries())
      stdin.write(`${anEvent({ eventId: `${partition}-${count}` }).value}\n`)
  }, PUBLISH_EVERY_MS)
  await flowing(Date.now())

  const killCounts = new Map(cluster.map((_, i) => [i + 1, 0]))
  for (let kill = 1; kill <= killCount; kill++) {
    await sleep(PAUSE_MS)
    const coordinatorId = await coordinator()
    const [id = coordinatorId] = [coordinatorId, ...killCounts.keys()].filter(
      (one) => (killCounts.get(one) ?? 0) < killCount / BROKER_COUNT,
    )
    killCounts.set(id, (killCounts.get(id) ?? 0) + 1)
    const victim = cluster[id - 1]
    const killedMs = Date.now()
    await victim?.kill()
    await flowing(killedMs + PAUSE_MS)
    const [ours, theirs] = [longestPauseMs(await rows(), killedMs), longestPauseMs(received, killedMs)]
    const finding = `kill ${kill}, of broker ${id}${id === coordinatorId ? ', the coordinator' : ''}: no rows for ${ours} ms; kcat paused ${theirs} ms`
    findings[finding] = ours <= theirs + LONGER_MAX_MS
    say(finding)
    await victim?.start()
    await inSync()
  }
  clearInterval(publishing)

  /** Waits until both consumers have had messages of every partition that were published after this time. */
  async function flowing(sinceMs: number): Promise<void> {
    const flows = async () => [...(await rows()), ...received].every((times) => (times.at(-1) ?? 0) > sinceMs)
    await until(flows, { what: 'messages of every partition', timeoutMs: 180_000, intervalMs: 500 })
  }
} finally {
  for (const child of children) child.kill('SIGKILL')
  await world.close()
  await Promise.all([postgres, ...cluster].map((server) => server.close()))
}
result(findings)

function kcat(args: readonly string[]) {
  const child = spawn('kcat', ['-q', '-E', '-b', brokers, ...args], { stdio: ['pipe', 'pipe', 'ignore'] })
  void once(child, 'error').then(([error]) => Promise.reject(error))
  children.push(child)
  return child
}

/** When rows of each partition were committed, in ms since 1970. */
async function rows(): Promise<number[][]> {
  const found = await world.sql(`
    SELECT split_part(event_id, '-', 1)::int AS partition,
      array_agg(extract(epoch FROM created_at) * 1000 ORDER BY created_at)::float8[] AS times
    FROM notifications.notification_log GROUP BY 1`)
  return Array.from(
    { length: BROKER_COUNT },
    (_, partition) => found.find((one) => one.partition === partition)?.times ?? [],
  )
}

function longestPauseMs(times: readonly (readonly number[])[], sinceMs: number): number {
  const pauses = times.flatMap((ofPartition) =>
    ofPartition.map((time, i) => (time < sinceMs ? 0 : time - Math.max(ofPartition[i - 1] ?? time, sinceMs))),
  )
  return Math.round(Math.max(...pauses))
}

async function coordinator(): Promise<number> {
  return withAdmin(async (admin) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: ['__consumer_offsets'] })
    return topics[0]?.partitions[0]?.leader ?? 1
  })
}

async function inSync(): Promise<void> {
  const isInSync = () =>
    withAdmin(async (admin) => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic, '__consumer_offsets'] })
      return topics.every(({ partitions }) => partitions.every(({ isr }) => isr.length === BROKER_COUNT))
    })
  await until(isInSync, { what: 'all replicas to be in sync', timeoutMs: 120_000, intervalMs: 500 })
}

async function withAdmin<T>(use: (admin: kafkajs.Admin) => Promise<T>): Promise<T> {
  const { NOTHING } = kafkajs.logLevel
  const admin = new kafkajs.Kafka({ brokers: brokers.split(','), logLevel: NOTHING }).admin()
  await admin.connect()
  try {
    return await use(admin)
  } finally {
    await admin.disconnect()
  }
}
