import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { putPreferences, untilReady } from '../stack/ask.ts'
import { backlog } from '../stack/backlog.ts'
import { createMigratedDatabase } from '../stack/databases.ts'
import { preloading } from '../stack/executable.ts'
import { freePort } from '../stack/free-port.ts'
import { startKafkaCluster } from '../stack/kafka/apache.ts'
import { assertJava, kafkaJars } from '../stack/kafka/jars.ts'
import { startNetwork } from '../stack/network.ts'
import { startPgBouncer } from '../stack/pgbouncer.ts'
import { isNginxInstalled, startNginx } from '../stack/proxy.ts'
import type { LogLine } from '../stack/service.ts'
import { createTopics, type Offsets, TOPIC_NAMES, type TopicName, type Topics } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import type { Send } from './check.ts'
import { PARTY_KINDS } from './parties.ts'
import { REFUSE_SQL, RETRY_LIMITS } from './people.ts'
import { startPolicyAdministrationThread } from './policy-administration-thread.ts'
import { type Replica, startReplica } from './replica.ts'
import { startServers } from './servers.ts'
import { WITNESS_SQL } from './snapshot.ts'
import { writeSecondHouse } from './tables.ts'

export const PARTITION_COUNT = 4
const REPLICATED: readonly TopicName[] = ['claims', 'billing']

/** A broker, a database, policy administration and the replicas between them: all of it may be broken. */
export type Stack = Awaited<ReturnType<typeof openStack>> & { close(): Promise<void> }

interface Place {
  readonly topic: string
  readonly partition: number
}

/** A replica's report of a blocked partition. */
interface BlockedLine extends Place {
  readonly atMs: number
  readonly reason: string
}

/** A fault to inject. */
export interface Strike extends Stack {
  readonly replica: Replica
  readonly durationMs: number
  readonly dice: number
}

export type PoolMode = 'session' | 'transaction'

export interface StackOptions {
  readonly replicaCount: number
  /** With three, two of the topics have a replica on each. */
  readonly brokerCount: number
  /** The replicas reach the database through PgBouncer. */
  readonly poolMode: PoolMode | null
  /** Folder of the replicas' logs. */
  readonly logDir: string
  readonly log: (line: string) => void
}

const SETTINGS = {
  MQ_SESSION_TIMEOUT: '6s',
  BATCH_MAX: '50',
  POLICY_ADMIN_DEADLINE: '3s',
  // Whatever fails for long must still be tried at the end.
  ...RETRY_LIMITS,
  LOG_LEVEL: 'debug',
}

/** Of a replica: `DATABASE_POOL_MAX` and `DATABASE_HTTP_POOL_MAX`. */
const CONNECTION_COUNT_MAX = 14

/** nginx, between the replicas and policy administration, closes each connection after a few requests. */
const KEEP_ALIVE_REQUESTS = 50
const RECORD_RECIPIENTS = preloading(new URL('../stack/record-recipients.ts', import.meta.url))
/** A replica may be asleep, or the database down. */
const BLOCKED_WAIT_MS = 20_000

export async function startStack(options: StackOptions): Promise<Stack> {
  const closers: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const closer of closers.toReversed()) await closer()
  }
  try {
    return { ...(await openStack(options, closers)), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openStack(
  { replicaCount, brokerCount, poolMode, logDir, log }: StackOptions,
  closers: (() => Promise<unknown>)[],
) {
  const [{ cluster, networks }, servers] = await Promise.all([
    startBrokers(brokerCount, replicaCount, closers, log),
    startServers(log),
  ])
  closers.push(servers.close)
  const policyAdministration = await startPolicyAdministrationThread()
  closers.push(policyAdministration.stop)
  const rotating = (await isNginxInstalled())
    ? await startNginx(Number(new URL(policyAdministration.url).port), KEEP_ALIVE_REQUESTS)
    : null
  if (rotating === null) log('nginx is not installed: look-ups go to policy administration directly')
  else closers.push(rotating.close)
  const database = await createMigratedDatabase(servers.url)
  const pooler =
    poolMode &&
    (await startPgBouncer(servers.url, {
      pool_mode: poolMode,
      // By session it must have one for each connection of the replicas, or batches wait. The default is 20.
      default_pool_size: String(replicaCount * CONNECTION_COUNT_MAX),
      // Otherwise it would wait 15 s after each refused connection.
      server_login_retry: '1',
    }))
  if (pooler) closers.push(() => pooler.close())
  const pool = new pg.Pool({ connectionString: database.url, max: 2, application_name: 'chaos' })
  pool.on('error', () => {})
  // One that is in use, between two statements.
  pool.on('connect', (client) => client.on('error', () => {}))
  closers.push(() => pool.end())
  await pool.query(WITNESS_SQL + REFUSE_SQL)

  const brokers = cluster.map((broker) => broker.brokers).join()
  const topics = await createTopics(brokers, PARTITION_COUNT, brokerCount === 3 ? REPLICATED : [])
  const sends: Send[] = []
  const blocked: BlockedLine[] = []
  const noteLine = ({ msg, time, ...fields }: LogLine) => {
    const { channel, idempotencyKey, to, topic, partition, reason } = fields
    const atMs = Date.parse(String(time))
    if (msg === 'message handed over')
      sends.push({ atMs, channel: String(channel), key: String(idempotencyKey), to: String(to) })
    if (msg.startsWith('a partition is blocked'))
      blocked.push({ atMs, topic: String(topic), partition: Number(partition), reason: String(reason) })
  }
  const replicaEnv = {
    ...SETTINGS,
    ...RECORD_RECIPIENTS,
    MQ_TOPICS: TOPIC_NAMES.map((name) => topics[name]).join(','),
    POLICY_ADMIN_URL: rotating?.url ?? policyAdministration.url,
  }
  const wayTo = pooler?.through(database.url) ?? database.url
  mkdirSync(logDir, { recursive: true })
  const secondHouse = join(logDir, 'second-house')
  writeSecondHouse(secondHouse)
  const replicas: readonly Replica[] = await Promise.all(
    networks.map(async (ways, i) => {
      const name = `replica-${i + 1}`
      const logFile = join(logDir, `${name}.log`)
      const replica = await startReplica(name, wayTo, ways, replicaEnv, secondHouse, noteLine, logFile)
      closers.push(replica.close)
      return replica
    }),
  )
  await putAllPreferences(replicas[0]?.url() ?? '')

  return {
    cluster,
    /** Bootstrap servers, on a way that no fault strikes. */
    brokers,
    servers,
    /** On a way that no fault strikes but those of the server. */
    databaseUrl: database.url,
    policyAdministration,
    topics,
    replicas,
    sends: sends as readonly Send[],
    /** Uses a connection that no fault strikes. Rejects while the database is down. */
    withDatabase: async <T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
      const client = await pool.connect()
      let fault: Error | undefined
      try {
        return await work(client)
      } catch (error) {
        fault = error as Error
        throw error
      } finally {
        client.release(fault)
      }
    },
    /** Number of messages between the checkpoints and these ends. */
    backlog: async (ends: ReadonlyMap<string, Offsets>): Promise<number> => {
      const sql = async (query: string, values?: unknown[]) => (await pool.query(query, values)).rows
      const counts = await Promise.all([...ends].map(([topic, ofTopic]) => backlog(sql, topic, ofTopic)))
      return counts.reduce((sum, count) => sum + count, 0)
    },
    /** True if a replica reports in time that this partition is blocked for this reason. */
    isBlocked: ({ topic, partition }: Place, reason: string, sinceMs: number): Promise<boolean> => {
      const isSaid = (line: BlockedLine) =>
        line.topic === topic && line.partition === partition && line.reason === reason && line.atMs >= sinceMs
      const what = `it to be blocked as ${reason}`
      return until(() => blocked.some(isSaid), { what, timeoutMs: BLOCKED_WAIT_MS }).catch(() => false)
    },
  }
}

/** Starts the brokers, and networks between each replica and each of them. */
async function startBrokers(
  brokerCount: number,
  replicaCount: number,
  closers: (() => Promise<unknown>)[],
  log: (line: string) => void,
) {
  await assertJava()
  const jarsDir = await kafkaJars(log)
  const connect = async () => {
    const port = await freePort()
    const network = await startNetwork(port)
    closers.push(network.close)
    return { network, route: { port, advertisedPort: network.port } }
  }
  const ways = await Promise.all(
    Array.from({ length: replicaCount }, () =>
      Promise.all(Array.from({ length: brokerCount }, () => connect())),
    ),
  )
  const routes = Array.from({ length: brokerCount }, (_, broker) =>
    ways.flatMap((ofReplica) => ofReplica[broker]?.route ?? []),
  )
  const cluster = await startKafkaCluster(jarsDir, log, brokerCount, routes)
  closers.push(() => Promise.all(cluster.map((broker) => broker.close())))
  return { cluster, networks: ways.map((ofReplica) => ofReplica.map(({ network }) => network)) }
}

/** A random partition; all are equally likely. */
export function placeBy(dice: number, topics: Topics): Place {
  const name = TOPIC_NAMES[dice % TOPIC_NAMES.length] as TopicName
  return { topic: topics[name], partition: Math.floor(dice / TOPIC_NAMES.length) % PARTITION_COUNT }
}

/** Puts the preferences by the service itself, as users do. */
async function putAllPreferences(url: string): Promise<void> {
  await untilReady(url)
  for (const { prefix, partyCount, preferences } of PARTY_KINDS) {
    for (let i = 0; preferences !== undefined && i < partyCount; i++) {
      const { status } = await putPreferences(url, `${prefix}${i}`, preferences)
      if (status !== 200) throw new Error(`PUT /preferences/${prefix}${i} was answered ${status}`)
    }
  }
}
