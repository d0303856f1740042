import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { backlog } from '../stack/backlog.ts'
import { createMigratedDatabase } from '../stack/databases.ts'
import type { Kafka } from '../stack/kafka/apache.ts'
import { startKafka } from '../stack/kafka.ts'
import { startPgBouncer } from '../stack/pgbouncer.ts'
import { isInstalled, nginx, startProxy } from '../stack/proxy.ts'
import type { LogLine } from '../stack/service.ts'
import { createTopics, type Offsets } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import type { Send } from './check.ts'
import { TOPIC_NAMES, type TopicName } from './load.ts'
import { PARTY_KINDS } from './parties.ts'
import { type BlockedLine, type Bomb, noteBlocked, PARTITION_COUNT } from './places.ts'
import {
  type PolicyAdministrationThread,
  startPolicyAdministrationThread,
} from './policy-administration-thread.ts'
import { Replica } from './replica.ts'
import { type Servers, startServers } from './servers.ts'
import { WITNESS_SQL } from './snapshot.ts'
import { REFUSED_EVENT_TYPE } from './truth.ts'

/** A broker, a database, policy administration and the replicas between them: all of it may be broken. */
export interface Stack {
  readonly kafka: Kafka
  readonly servers: Servers
  readonly policyAdministration: PolicyAdministrationThread
  readonly topics: Record<TopicName, string>
  readonly replicas: readonly Replica[]
  readonly sends: readonly Send[]
  /** What the replicas said of partitions that could not go on. */
  readonly held: readonly BlockedLine[]
  /** Those of this cycle. */
  readonly bombs: Bomb[]
  /** For commands: the settings of the replicas, with the database that no fault of theirs is between. */
  readonly env: Record<string, string>
  /** On a connection that no fault is aimed at. Rejects while the database is down. */
  withDatabase<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T>
  /** How far the checkpoints are from these ends. */
  backlog(ends: ReadonlyMap<string, Offsets>): Promise<number>
  close(): Promise<void>
}

export type PoolMode = 'session' | 'transaction'

export interface StackOptions {
  readonly replicaCount: number
  /** Replicas reach the database through PgBouncer. */
  readonly poolMode: PoolMode | null
  /** Where the replicas' logs go. */
  readonly logDir: string
  readonly log: (line: string) => void
}

const SETTINGS = {
  MQ_SESSION_TIMEOUT: '6s',
  BATCH_MAX: '50',
  POLICY_ADMIN_DEADLINE: '3s',
  // Whatever fails for long is still to be tried at the end.
  RETRY_MAX_ATTEMPTS: '1000',
  LOG_LEVEL: 'debug',
}

/** Between the replicas and policy administration; it closes each connection after a few requests. */
const ROTATING = nginx(50)

const RECORD_RECIPIENTS = `--import=${new URL('../stack/record-recipients.ts', import.meta.url).href}`

export async function startStack({ replicaCount, poolMode, logDir, log }: StackOptions): Promise<Stack> {
  const closers: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const closer of closers.toReversed()) await closer()
  }
  try {
    const [kafka, servers] = await Promise.all([startKafka({ log }), startServers(log)])
    closers.push(() => Promise.all([kafka.close(), servers.close()]))
    if (kafka.kind === 'mock') throw new Error('chaos needs a real broker: the mock cannot be started again')
    const policyAdministration = await startPolicyAdministrationThread()
    closers.push(() => policyAdministration.stop())
    const rotating = (await isInstalled(ROTATING))
      ? await startProxy(ROTATING, Number(new URL(policyAdministration.url).port))
      : null
    if (rotating === null) log('nginx is not installed: look-ups go to policy administration directly')
    else closers.push(rotating.close)
    const database = await createMigratedDatabase(servers.url)
    // Otherwise it would wait 15 s after each refused connection.
    const pooler =
      poolMode && (await startPgBouncer(servers.url, { pool_mode: poolMode, server_login_retry: '1' }))
    if (pooler) closers.push(() => pooler.close())
    const wayTo = (url: string) => pooler?.through(url) ?? url
    const pool = new pg.Pool({ connectionString: database.url, max: 2, application_name: 'chaos' })
    pool.on('error', () => {})
    closers.push(() => pool.end())
    await pool.query(WITNESS_SQL)
    await pool.query(`ALTER TABLE notifications.notification_log
      ADD CONSTRAINT chaos_refuses CHECK (event_type <> '${REFUSED_EVENT_TYPE}')`)

    const topics = await createTopics(kafka.brokers, {
      claims: PARTITION_COUNT,
      billing: PARTITION_COUNT,
      enrollment: PARTITION_COUNT,
    })
    const sends: Send[] = []
    const held: BlockedLine[] = []
    const noteLine = (line: LogLine) => {
      noteSend(sends, line)
      noteBlocked(held, line)
    }
    const env = {
      ...SETTINGS,
      DATABASE_URL: database.url,
      MQ_BROKERS: kafka.brokers,
      MQ_TOPICS: TOPIC_NAMES.map((name) => topics[name]).join(','),
      POLICY_ADMIN_URL: rotating?.url ?? policyAdministration.url,
    }
    const replicaEnv = { ...env, NODE_OPTIONS: RECORD_RECIPIENTS }
    mkdirSync(logDir, { recursive: true })
    const replicas = await Promise.all(
      Array.from({ length: replicaCount }, async (_, i) => {
        const name = `replica-${i + 1}`
        const logFile = createWriteStream(join(logDir, `${name}.log`))
        const replica = await Replica.start(name, wayTo(database.url), replicaEnv, noteLine, logFile)
        closers.push(() => closeReplica(replica, logFile))
        return replica
      }),
    )
    await putPreferences(replicas[0]?.url ?? '')

    return {
      kafka,
      servers,
      policyAdministration,
      topics,
      replicas,
      sends,
      held,
      bombs: [],
      env,
      withDatabase: async (work) => {
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
      backlog: async (ends) => {
        const sql = async (query: string, values?: unknown[]) => (await pool.query(query, values)).rows
        const counts = await Promise.all([...ends].map(([topic, ofTopic]) => backlog(sql, topic, ofTopic)))
        return counts.reduce((sum, count) => sum + count, 0)
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function closeReplica(replica: Replica, logFile: WriteStream): Promise<void> {
  await replica.close()
  logFile.end()
}

function noteSend(sends: Send[], line: LogLine): void {
  if (line.msg !== 'message handed over') return
  sends.push({
    atMs: Date.parse(String(line.time)),
    channel: String(line.channel),
    key: String(line.idempotencyKey),
    to: String(line.to),
  })
}

/** By the service itself, as users do it. */
async function putPreferences(url: string): Promise<void> {
  await until(async () => (await fetch(`${url}/readyz`)).ok, {
    what: 'the service to be ready',
  })
  for (const { prefix, partyCount, preferences } of PARTY_KINDS) {
    for (let i = 0; preferences !== undefined && i < partyCount; i++) {
      const { status } = await fetch(`${url}/preferences/${prefix}${i}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(preferences),
      })
      if (status !== 200) throw new Error(`PUT /preferences/${prefix}${i} was answered ${status}`)
    }
  }
}
