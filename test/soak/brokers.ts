// node test/soak/brokers.ts
// Three brokers, each of which in turn is stopped (SIGSTOP) for 40 s, is killed, and has a network to its consumers that is cut, loses
// answers or requests, or is slow, ROUNDS (1) times; KINDS=frozen,killed for those alone. The partitions that the other two lead must
// pause at most 2 s longer than those of a consumer by librdkafka (kcat) beside ours; after a kill, 3 s.
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import { pino } from 'pino'
import { Cluster } from '../../src/service/consume/cluster.ts'
import { Consumer } from '../../src/service/consume/consumer.ts'
import type { Checkpoint } from '../../src/service/decide/event/position.ts'
import { committedAt } from '../service/build.ts'
import { numberFrom } from '../stack/environment.ts'
import { freePort } from '../stack/free-port.ts'
import { type Kafka, type Route, startKafkaCluster } from '../stack/kafka/apache.ts'
import { kafkaJars } from '../stack/kafka/jars.ts'
import { type Network, startNetwork } from '../stack/network.ts'
import { until } from '../stack/until.ts'
import { result, say } from './report.ts'

const BROKER_COUNT = 3
const PARTITION_COUNT = 6
/** Deaf: requests do not reach it; mute: its answers reach nobody; slow: both take a second longer. */
const KINDS = ['frozen', 'killed', 'cut off', 'deaf', 'mute', 'slow'] as const
type Kind = (typeof KINDS)[number]
const wanted = process.env.KINDS?.split(',').map(findKind) ?? KINDS
const SLOW_MS = 1_000
const TOPIC = 'claims'
const PUBLISH_EVERY_MS = 50
/** kcat waits until it has read 1 kB. */
const LINE = `${'x'.repeat(1023)}\n`
const FREEZE_MS = 40_000
const DEAD_MS = 15_000
/** Until all is as before. */
const CALM_MS = 25_000
const LONGER_MAX_MS = 2_000
const KILLED_LONGER_MAX_MS = 3_000

/** Times at which messages of a partition arrived, in ms. */
type Arrivals = Map<number, number[]>

const arrived = (arrivals: Arrivals, partition: number): void => {
  const times = arrivals.get(partition) ?? []
  arrivals.set(partition, times)
  times.push(performance.now())
}

const networks: Network[] = []
const routes: Route[][] = []
for (let broker = 0; broker < BROKER_COUNT; broker++) {
  const port = await freePort()
  const network = await startNetwork(port)
  networks.push(network)
  routes.push([{ port, advertisedPort: network.port }])
}
const cluster = await startKafkaCluster(await kafkaJars(say), say, BROKER_COUNT, routes)
/** For producers, on a way that no network disturbs, and for both consumers. */
const addresses = cluster.map(({ brokers }) => brokers)
const routed = networks.map(({ port }) => `127.0.0.1:${port}`)
const children: ChildProcess[] = []
try {
  await createTopic()
  const ours: Arrivals = new Map()
  const theirs: Arrivals = new Map()
  const consumer = consume(ours)
  const running = consumer.run()
  readByKcat(theirs)
  publishByKcat()
  const everywhere = (arrivals: Arrivals) => arrivals.size === PARTITION_COUNT
  await until(() => everywhere(ours) && everywhere(theirs), { what: 'both consumers', timeoutMs: 60_000 })
  await sleep(5_000)

  const findings: Record<string, boolean> = {}
  for (let round = 1; round <= numberFrom('ROUNDS', 1); round++)
    for (const [i, broker] of cluster.entries())
      for (const kind of wanted) {
        const { led, coordinator } = await describe()
        const others = [...led].filter(([, leader]) => leader !== i + 1).map(([partition]) => partition)
        const startMs = performance.now()
        await disturb(broker, networks[i], kind)
        const [our, their] = [longestPause(ours, others, startMs), longestPause(theirs, others, startMs)]
        const longerMaxMs = kind === 'killed' ? KILLED_LONGER_MAX_MS : LONGER_MAX_MS
        const role = coordinator === i + 1 ? ', the coordinator' : ''
        findings[
          `round ${round}: broker ${i + 1}${role} ${kind}: the others pause ${seconds(our)}, by librdkafka ${seconds(their)}`
        ] = our <= their + longerMaxMs
        say(Object.keys(findings).at(-1) ?? '')
      }
  await consumer.stop()
  await running
  result(findings)
} finally {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all([...cluster, ...networks].map((one) => one.close()))
}

async function disturb(broker: Kafka, network: Network | undefined, kind: Kind): Promise<void> {
  if (kind === 'frozen') {
    process.kill(broker.pid() ?? 0, 'SIGSTOP')
    await sleep(FREEZE_MS)
    process.kill(broker.pid() ?? 0, 'SIGCONT')
  } else if (kind === 'killed') {
    await broker.kill()
    await sleep(DEAD_MS)
    await broker.start()
  } else {
    if (kind === 'slow') network?.slow(SLOW_MS)
    if (kind === 'cut off' || kind === 'deaf') network?.cut('requests')
    if (kind === 'cut off' || kind === 'mute') network?.cut('answers')
    await sleep(FREEZE_MS)
    network?.mend()
  }
  await sleep(CALM_MS)
}

/** One replica of each partition, so that the other brokers' partitions need nothing of the one that stands still. */
async function createTopic(): Promise<void> {
  const replicaAssignment = Array.from({ length: PARTITION_COUNT }, (_, partition) => ({
    partition,
    replicas: [1 + (partition % 3)],
  }))
  await withAdmin((admin) =>
    admin.createTopics({ topics: [{ topic: TOPIC, replicaAssignment }], waitForLeaders: true }),
  )
}

/** The leaders of the partitions, and the broker that coordinates our group. */
async function describe() {
  const led = await withAdmin(async (admin) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [TOPIC] })
    return new Map(topics[0]?.partitions.map(({ partitionId, leader }) => [partitionId, leader]))
  })
  const looking = new Cluster(
    { brokers: addresses, ssl: null, sasl: null },
    'soak',
    pino({ level: 'silent' }),
  )
  const coordinator = await looking.findCoordinator('ours')
  looking.close()
  return { led, coordinator }
}

async function withAdmin<T>(use: (admin: kafkajs.Admin) => Promise<T>): Promise<T> {
  const kafka = new kafkajs.Kafka({ brokers: addresses, logLevel: kafkajs.logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await use(admin)
  } finally {
    await admin.disconnect()
  }
}

function findKind(name: string): Kind {
  const kind = KINDS.find((kind) => kind === name)
  if (kind === undefined) throw new Error(`KINDS must be of ${KINDS.join(', ')}, not ${JSON.stringify(name)}`)
  return kind
}

function consume(arrivals: Arrivals) {
  const checkpoints = new Map<string, Checkpoint>()
  return new Consumer(
    {
      connection: { brokers: routed, ssl: null, sasl: null },
      groupId: 'ours',
      topics: [TOPIC],
      sessionTimeoutMs: 30_000,
      batchCountMax: 500,
      build: {
        version: '1.0.0',
        ruleTableRevision: 'a',
        envelopeMapRevision: null,
        startedMs: 0,
        replica: null,
      },
    },
    {
      ensureCheckpoint: async (topic, partition) =>
        checkpoints.get(`${topic}/${partition}`) ?? { offset: -1n, lastMessage: null },
      listCheckpoints: async () =>
        [...checkpoints].map(([key, { offset }]) => ({
          topic: TOPIC,
          partition: Number(key.split('/')[1]),
          offset,
        })),
      resetCheckpoint: async (_topic, _partition, _held, offset) => offset,
      processNext: async ({ take }) => {
        const batch = await take()
        if (batch === null) return null
        const { topic, partition, lastOffset, lastMessage, messages } = batch
        checkpoints.set(`${topic}/${partition}`, { offset: lastOffset, lastMessage })
        for (const _ of messages) arrived(arrivals, partition)
        return { batch, result: { ...committedAt(lastOffset), wasSlow: false } }
      },
      findHold: async () => null,
      findReason: () => 'not-committed',
      countLost: () => {},
      countRowsLost: () => {},
      database: { id: '00000000-0000-4000-8000-000000000001', place: '' },
    },
    pino({ level: process.env.LOG_LEVEL ?? 'warn' }, process.stderr),
  )
}

function readByKcat(arrivals: Arrivals): void {
  const options = ['-X', 'session.timeout.ms=30000', '-X', 'auto.offset.reset=earliest', '-u', '-q']
  const child = start(['-b', routed.join(), ...options, '-f', '%p\n', '-G', 'theirs', TOPIC])
  if (child.stdout) createInterface(child.stdout).on('line', (line) => arrived(arrivals, Number(line)))
}

/** A producer for each partition: none waits for a broker that another one needs. By -E it outlives its broker. */
function publishByKcat(): void {
  for (let partition = 0; partition < PARTITION_COUNT; partition++) {
    const child = start([
      '-b',
      addresses.join(),
      '-P',
      '-E',
      '-q',
      '-t',
      TOPIC,
      '-p',
      String(partition),
      '-X',
      'linger.ms=0',
    ])
    const timer = setInterval(() => child.stdin?.write(LINE), PUBLISH_EVERY_MS)
    child.on('exit', (code) => {
      clearInterval(timer)
      if (code !== null) throw new Error(`the producer of partition ${partition} ended with ${code}`)
    })
  }
}

function start(args: readonly string[]): ChildProcess {
  const child = spawn('kcat', args, { stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin?.on('error', () => {})
  children.push(child)
  return child
}

function longestPause(arrivals: Arrivals, partitions: readonly number[], sinceMs: number): number {
  return Math.max(
    ...partitions.map((partition) => {
      const times = [
        sinceMs,
        ...(arrivals.get(partition) ?? []).filter((ms) => ms > sinceMs),
        performance.now(),
      ]
      return Math.max(...times.slice(1).map((ms, i) => ms - (times[i] ?? ms)))
    }),
  )
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
