// node test/stack/run.ts
// Starts PostgreSQL, Kafka, a stand-in for policy administration and the service, publishes a few hundred events,
// shows what became of them, and stays up until Ctrl-C. DATABASE_URL and MQ_BROKERS, where set, win over servers of
// its own. The service listens on PORT (4006; 0 picks a free one), on loopback only.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import pg from 'pg'
import { backlog } from './backlog.ts'
import { endChildren, interrupted } from './demo/ending.ts'
import { makePublication, TOPIC_NAMES, type Topics } from './demo/messages.ts'
import { readOutcome } from './demo/outcome.ts'
import { PREFERENCES } from './demo/parties.ts'
import { choosePort } from './demo/port.ts'
import { reportText } from './demo/report.ts'
import { done, print, step } from './demo/screen.ts'
import { EXECUTABLE_ENV, MAIN } from './executable.ts'
import { freePort } from './free-port.ts'
import { type Keeper, keep } from './keep.ts'
import { startPolicyAdministration } from './policy-administration.ts'
import { kafkaServer, postgresServer, type Server } from './servers.ts'
import { createTopics, endOffsets, ensureTopics, produce } from './topics.ts'
import { until } from './until.ts'

const ROOT = join(import.meta.dirname, '../..')
const HOST = '127.0.0.1'
const PARTITION_COUNT = 3
const READY_TIMEOUT_MS = 30_000
const PROCESSED_TIMEOUT_MS = 120_000
const STOP_TIMEOUT_MS = 15_000

type Sql = (query: string, values?: unknown[]) => Promise<pg.QueryResultRow[]>

/** Rejects when a part of the stack has ended by itself. */
const broken = Promise.withResolvers<never>()
let service: Keeper | undefined

async function run(): Promise<void> {
  const port = await choosePort(HOST)
  const managementPort = await freePort()
  print('The notifications service on a stack of its own\n')
  const servers = await startServers()
  const { DATABASE_URL: databaseUrl = '', MQ_BROKERS: brokers = '' } = Object.assign(
    {},
    ...servers.map(({ env }) => env),
  )
  const policyAdministration = await step('policy administration, a stand-in,', () =>
    startPolicyAdministration(),
  )
  const topics = await step(
    (made) => `topics ${Object.values(made).join(', ')}`,
    () => makeTopics(servers, brokers),
  )

  const logDir = join(ROOT, '.cache/run', String(port))
  const env = {
    DATABASE_URL: databaseUrl,
    MQ_BROKERS: brokers,
    MQ_TOPICS: Object.values(topics).join(','),
    POLICY_ADMIN_URL: policyAdministration.url,
    HOST,
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    SHUTDOWN_GRACE: '10s',
  }
  const keeper = await serviceKeeper(logDir)
  const envFile = await writeEnvironment(env)
  await step('database schema', () => keeper.run(command('migrate', env)))
  const serviceUrl = `http://${HOST}:${port}`
  await step(`service at ${serviceUrl}`, () =>
    keeper.start(command('serve', env), () => isReady(serviceUrl), READY_TIMEOUT_MS),
  )
  watch('the service', keeper)
  print(`    its log: ${relative(process.cwd(), join(logDir, 'log'))}`)
  service = keeper

  const sql = openDatabase(databaseUrl)
  await step(`preferences of ${PREFERENCES.length} parties`, () => setPreferences(sql))
  const publication = makePublication(topics, new Date())
  const { messages } = publication
  await step(`${messages.length} messages published`, () => produce(brokers, messages))
  await step('all of them processed', () => processed(sql, brokers, topics))

  const database = process.env.DATABASE_URL ? '"$DATABASE_URL"' : databaseUrl
  print(
    `\n${reportText(publication, await readOutcome(sql, publication), {
      serviceUrl,
      consoleUrl: `http://${HOST}:${managementPort}/console`,
      database,
      brokers,
      topics,
      envFile,
    })}`,
  )
  print('\nAll of it stays up until Ctrl-C.')
}

function startServers(): Promise<Server[]> {
  const note = (line: string) => print(`    ${line}`)
  return Promise.all(
    [postgresServer(), kafkaServer(note)].map(async (starting) => {
      const server = await starting
      done(server.description)
      watch(server.name, server)
      return server
    }),
  )
}

/** A new broker under an old database gets topics of other names: the checkpoints there are of another broker's. */
async function makeTopics([postgres, kafka]: Server[], brokers: string): Promise<Topics> {
  const partitionCounts = { claims: PARTITION_COUNT, billing: PARTITION_COUNT, enrollment: PARTITION_COUNT }
  if (kafka?.local && !postgres?.local) return createTopics(brokers, partitionCounts)
  await ensureTopics(brokers, partitionCounts)
  return Object.fromEntries(TOPIC_NAMES.map((name) => [name, name])) as Topics
}

async function serviceKeeper(dir: string): Promise<Keeper> {
  await rm(dir, { recursive: true, force: true })
  await mkdir(dir, { recursive: true })
  return keep({
    name: 'the service',
    dir,
    stopSignal: 'SIGTERM',
    abandonSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
  })
}

/**
 * Writes the environment of the service to a file that a shell can source, for the command line. It may hold a password: it
 * is for this user alone. Returns its path.
 */
async function writeEnvironment(env: Readonly<Record<string, string>>): Promise<string> {
  const file = join(ROOT, '.cache/run.env')
  const lines = Object.entries(env).map(([name, value]) => `${name}='${value.replaceAll("'", `'\\''`)}'\n`)
  await rm(file, { force: true })
  await writeFile(file, lines.join(''), { mode: 0o600 })
  return relative(process.cwd(), file)
}

function command(name: 'migrate' | 'serve', env: Record<string, string>) {
  return { file: MAIN, args: [name], env: { ...env, ...EXECUTABLE_ENV } }
}

async function isReady(serviceUrl: string): Promise<boolean> {
  return (await fetch(`${serviceUrl}/readyz`)).ok
}

function openDatabase(databaseUrl: string): Sql {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  // Its end is reported as the end of PostgreSQL.
  pool.on('error', () => {})
  return async (query, values) => (await pool.query(query, values)).rows
}

async function setPreferences(sql: Sql): Promise<void> {
  await sql(
    `INSERT INTO notifications.notification_preferences (party_locator, preferred_channel, opted_out_events)
     SELECT "partyLocator", "preferredChannel", "optedOutEvents"
     FROM jsonb_to_recordset($1) AS party ("partyLocator" text, "preferredChannel" text, "optedOutEvents" jsonb)
     ON CONFLICT (party_locator) DO UPDATE
     SET preferred_channel = excluded.preferred_channel, opted_out_events = excluded.opted_out_events`,
    [JSON.stringify(PREFERENCES)],
  )
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
await endChildren(STOP_TIMEOUT_MS)
print('Stopped.')
process.exit(exitCode)
