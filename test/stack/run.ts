// node test/stack/run.ts
// Starts PostgreSQL, Kafka, a stand-in for policy administration and the service, publishes a few hundred events,
// shows their outcomes, and stays up until Ctrl-C. On the servers of DATABASE_URL and MQ_BROKERS, if set, it has its own database,
// topics and group, and removes them at the end. The service listens on PORT (4006; 0 picks a free one), on loopback only.
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, relative } from 'node:path'
import pg from 'pg'
import { backlog } from './backlog.ts'
import { createDatabase } from './databases.ts'
import { makePublication, PREFERENCES } from './demo/messages.ts'
import { report } from './demo/report.ts'
import { requireWritable } from './environment.ts'
import { EXECUTABLE_ENV, MAIN } from './executable.ts'
import { freePort } from './free-port.ts'
import { type Keeper, keep } from './keep.ts'
import { startPolicyAdministration } from './policy-administration.ts'
import { children } from './processes.ts'
import { kafkaServer, postgresServer, type Server } from './servers.ts'
import { timed } from './timed.ts'
import {
  createTopics,
  deleteTopics,
  endOffsets,
  ensureTopics,
  produce,
  TOPIC_NAMES,
  type Topics,
} from './topics.ts'
import { until } from './until.ts'

const ROOT = join(import.meta.dirname, '../..')
const HOST = '127.0.0.1'
const PARTITION_COUNT = 3
const READY_TIMEOUT_MS = 60_000
const PROCESSED_TIMEOUT_MS = 120_000
const STOP_TIMEOUT_MS = 15_000
/** For all servers, with what they have written. */
const END_TIMEOUT_MS = 60_000
const PARENT_CHECK_MS = 500

type Sql = (query: string, values?: unknown[]) => Promise<pg.QueryResultRow[]>

/** Rejects when a part of the stack has ended by itself. */
const broken = Promise.withResolvers<never>()
let service: Keeper | undefined
/** Remove what the run made on servers that are not its own. */
const removals: (() => Promise<unknown>)[] = []

async function run(): Promise<void> {
  const port = await choosePort()
  const managementPort = await freePort()
  print('The notifications service, with its own data\n')
  await requireWritable(join(ROOT, '.cache'))
  const servers = await startServers()
  const [postgres, kafka] = servers
  const brokers = kafka.env.MQ_BROKERS ?? ''
  const databaseUrl = await ownDatabase(postgres)
  const policyAdministration = await step('policy administration, a stand-in,', () =>
    startPolicyAdministration(),
  )
  const topics = await step(
    (made) => `topics ${Object.values(made).join(', ')}`,
    () => ownTopics(kafka, brokers),
  )

  const runDir = join(ROOT, '.cache/run', String(port))
  const env = {
    DATABASE_URL: databaseUrl,
    MQ_BROKERS: brokers,
    MQ_TOPICS: Object.values(topics).join(','),
    ...(!kafka.local && { MQ_GROUP_ID: topics.claims.replace('claims', 'notifications-service') }),
    POLICY_ADMIN_URL: policyAdministration.url,
    HOST,
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    SHUTDOWN_GRACE: '10s',
  }
  await rm(runDir, { recursive: true, force: true })
  const signals = { stopSignal: 'SIGTERM', abandonSignal: 'SIGTERM' } as const
  const keeper = await keep({ name: 'the service', dir: runDir, ...signals, stopTimeoutMs: STOP_TIMEOUT_MS })
  const envFile = await writeEnvironment(join(runDir, 'env'), env)
  await step('database schema', () => keeper.run(command('migrate', env)))
  const serviceUrl = `http://${HOST}:${port}`
  await step(`service at ${serviceUrl}`, () =>
    keeper.start(
      command('serve', env),
      async () => (await fetch(`${serviceUrl}/readyz`)).ok,
      READY_TIMEOUT_MS,
    ),
  )
  watch('the service', keeper)
  print(`    its log: ${relative(process.cwd(), join(runDir, 'log'))}`)
  service = keeper

  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  // Its end is reported as the end of PostgreSQL.
  pool.on('error', () => {})
  const sql: Sql = async (query, values) => (await pool.query(query, values)).rows
  await step(`preferences of ${PREFERENCES.length} parties`, () =>
    sql(
      `INSERT INTO notifications.notification_preferences (party_locator, preferred_channel, opted_out_events)
       SELECT party, channel, "optedOut" FROM jsonb_to_recordset($1) AS each (party text, channel text, "optedOut" jsonb)
       ON CONFLICT (party_locator) DO UPDATE
       SET preferred_channel = excluded.preferred_channel, opted_out_events = excluded.opted_out_events`,
      [JSON.stringify(PREFERENCES)],
    ),
  )
  const publication = makePublication(topics, Date.now())
  const { messages } = publication
  await step(`${messages.length} messages published`, () => produce(brokers, messages))
  await step('all of them processed', () => processed(sql, brokers, topics))

  const database = postgres.local ? databaseUrl : `"$(. ./${envFile}; echo "$DATABASE_URL")"`
  const consoleUrl = `http://${HOST}:${managementPort}/console`
  print(`\n${await report(sql, publication, { serviceUrl, consoleUrl, database, brokers, topics, envFile })}`)
  print('\nAll of it stays up until Ctrl-C.')
}

function startServers(): Promise<[Server, Server]> {
  const started = async (starting: Promise<Server>) => {
    const server = await starting
    print(`  ✓ ${server.description}`)
    watch(server.name, server)
    return server
  }
  return Promise.all([started(postgresServer()), started(kafkaServer((line) => print(`    ${line}`)))])
}

/** Returns a URL. The log and the preferences of a database that is in use must not get those of the demo. */
async function ownDatabase({ local, env: { DATABASE_URL: url = '' } }: Server): Promise<string> {
  if (local) return url
  const database = await createDatabase(url)
  removals.push(database.drop)
  return database.url
}

/** The topics and the group of a broker that is in use are read by a service that tells real members. */
async function ownTopics({ local }: Server, brokers: string): Promise<Topics> {
  if (!local) {
    const topics = await createTopics(brokers, PARTITION_COUNT)
    removals.push(() => deleteTopics(brokers, Object.values(topics)))
    return topics
  }
  await ensureTopics(brokers, TOPIC_NAMES, PARTITION_COUNT)
  return Object.fromEntries(TOPIC_NAMES.map((name) => [name, name])) as Topics
}

/**
 * Writes the environment of the service to a file that a shell can source, for the command line. It may hold a password: it
 * is for this user alone. Returns its path from here.
 */
async function writeEnvironment(file: string, env: Readonly<Record<string, string>>): Promise<string> {
  const lines = Object.entries(env).map(([name, value]) => `${name}='${value.replaceAll("'", `'\\''`)}'\n`)
  await writeFile(file, lines.join(''), { mode: 0o600 })
  return relative(process.cwd(), file)
}

function command(name: 'migrate' | 'serve', env: Record<string, string>) {
  return { file: MAIN, args: [name], env: { ...env, ...EXECUTABLE_ENV } }
}

async function processed(sql: Sql, brokers: string, topics: Topics): Promise<void> {
  const ends = await Promise.all(
    Object.values(topics).map(async (topic) => ({ topic, ends: await endOffsets(brokers, topic) })),
  )
  const isDone = async () => {
    const open = await Promise.all(ends.map(({ topic, ends }) => backlog(sql, topic, ends)))
    return open.every((count) => count === 0)
  }
  try {
    await until(isDone, {
      what: 'the messages to be processed',
      timeoutMs: PROCESSED_TIMEOUT_MS,
      intervalMs: 100,
    })
  } catch (error) {
    throw new Error(`${(error as Error).message}; the service's log ends in\n${await service?.logTail()}`)
  }
}

function watch(name: string, part: Pick<Keeper, 'ended' | 'logTail'>): void {
  void part.ended().then(async (how) => {
    broken.reject(new Error(`${name} has ended by itself (${how}). Its log ends in\n${await part.logTail()}`))
  })
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Takes one step, then says what was done and how long it took. */
async function step<T>(what: string | ((value: T) => string), work: () => Promise<T>): Promise<T> {
  const { value, seconds } = await timed(work)
  print(`  ✓ ${typeof what === 'string' ? what : what(value)} in ${seconds} s`)
  return value
}

/** Throws, with the remedy, if the port is taken: before anything is started. */
async function choosePort(): Promise<number> {
  const port = Number(process.env.PORT || 4006)
  if (port === 0) return freePort()
  const server = createServer().listen(port, HOST)
  await once(server, 'listening').catch(({ message }: Error) => {
    throw new Error(
      `The service cannot listen on port ${port} (${message}). Choose another, for example by: make run PORT=4007`,
    )
  })
  server.close()
  await once(server, 'close')
  return port
}

/** Resolves at the first signal, or once the parent is gone; a second signal ends this process at once, and all that it started. */
function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    const parent = process.ppid
    setInterval(() => process.ppid !== parent && resolve(), PARENT_CHECK_MS).unref()
    let isFirst = true
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (!isFirst) process.exit(1)
        isFirst = false
        resolve()
      })
    }
  })
}

/** Tells all children to go, those of a start half done included, and waits until none is left. */
async function endChildren(): Promise<void> {
  const told = new Set<number>()
  const allGone = () => {
    const pids = children(process.pid)
    for (const pid of pids.filter((pid) => !told.has(pid))) {
      told.add(pid)
      process.kill(pid, 'SIGTERM')
    }
    return pids.length === 0
  }
  await until(allGone, { what: 'all that was started to end', timeoutMs: END_TIMEOUT_MS })
}

let exitCode = 0
try {
  const interruption = interrupted()
  await Promise.race([run().then(() => interruption), interruption, broken.promise])
} catch (error) {
  print(`\n${(error as Error).message}`)
  exitCode = 1
}
print('\nStopping …')
// The service in order; the servers, whose data nobody will miss, as they are.
await service?.stop()
for (const remove of removals.reverse())
  await remove().catch(({ message }: Error) => print(`not removed: ${message}`))
await endChildren()
print('Stopped.')
process.exit(exitCode)
