// make bench-reads
// Compares reads of the log with a bare Fastify route that runs the very same query through pg, round by round in
// turn. ROUNDS and SECONDS (of one measurement) set the sizes. Exits 1 where an answer is wrong.
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import pg from 'pg'
import { logEntryQuery } from '../../src/postgres/read/get-log-entry.ts'
import { logPageQuery } from '../../src/postgres/read/list-log-entries.ts'
import { fillLog } from '../postgres/fill-log.ts'
import { EXECUTABLE_ENV, MAIN } from '../stack/executable.ts'
import { freePort } from '../stack/free-port.ts'
import { until } from '../stack/until.ts'
import { createWorld } from '../stack/world.ts'
import { cpuMsOf } from './cpu.ts'
import { spreadOf } from './report.ts'

const ROW_COUNT = 100_000
const CONNECTION_COUNT = 20
const roundCount = Number(process.env.ROUNDS ?? 3)
const durationS = Number(process.env.SECONDS ?? 5)

const world = await createWorld()
const client = new pg.Client(world.databaseUrl)
await client.connect()
await fillLog(client, ROW_COUNT)
await client.query(`
  INSERT INTO notifications.decision (
    locator, attempt, event_id, party_locator, event_type, outcome, channel, rule_id, facts, template_revision,
    rule_table_revision, receipt, topic, partition_id, "offset"
  )
  SELECT locator, 1, event_id, party_locator, event_type, 'SEND', channel, 'send-email', jsonb_build_object(
    'eventType', event_type, 'party', 'found', 'optedOut', false, 'preferredChannel', channel, 'emailOnFile', true,
    'phoneOnFile', true
  ), repeat('a', 64), repeat('b', 64), 'recorded', 'claims', 0, 1
  FROM notifications.notification_log WHERE status = 'SENT'`)
await client.query('VACUUM ANALYZE notifications.notification_log, notifications.decision')
const { rows } = await client.query(`
  SELECT locator FROM notifications.notification_log WHERE status = 'SENT' ORDER BY random() LIMIT 1000`)
const entryPaths = rows.map(({ locator }): string => `/log/${locator}`)
await client.end()

type Side = 'ours' | 'plain'
interface Measured {
  readonly requestsPerSecond: number
  /** Of the process that answers; the database's is the same for both. */
  readonly cpuUs: number
}

const children: ChildProcess[] = []
const sides = { ours: await startOurs(), plain: await startPlain() }
const cases = { entry: entryPaths, list: ['/log/list'] }
let isWrong = false
try {
  for (const name of ['entry', 'list'] as const) await compare(name)
} finally {
  for (const child of children) child.kill('SIGKILL')
  await world.close()
}
process.exit(isWrong ? 1 : 0)

async function compare(name: 'entry' | 'list'): Promise<void> {
  const found = { ours: [] as Measured[], plain: [] as Measured[] }
  for (const side of ['ours', 'plain'] as const) await measure(side, name, 2)
  for (let round = 0; round < roundCount; round++) {
    const order = ['ours', 'plain'] as const
    for (const side of round % 2 === 0 ? order : order.toReversed()) {
      found[side].push(await measure(side, name, durationS))
    }
  }
  const median = (side: Side, of: keyof Measured) =>
    Math.round(spreadOf(found[side].map((measured) => measured[of])).median)
  const described = (['ours', 'plain'] as const).map(
    (side) =>
      `${side} ${median(side, 'requestsPerSecond')} requests/s, ${median(side, 'cpuUs')} µs of CPU each`,
  )
  const ratio = spreadOf(
    found.ours.map(
      ({ requestsPerSecond }, round) =>
        requestsPerSecond / (found.plain[round]?.requestsPerSecond ?? Number.NaN),
    ),
  )
  const [least, middle, most] = [ratio.min, ratio.median, ratio.max].map((value) => value.toFixed(2))
  console.log(`${name}: ${described.join('; ')}; ours : plain = ${middle} (${least}–${most})`)
}

async function measure(side: Side, name: 'entry' | 'list', seconds: number): Promise<Measured> {
  const { url, pid } = sides[side]
  const cpuBeforeMs = await cpuMsOf(pid)
  const { requests, non2xx, errors } = await autocannon({
    url,
    connections: CONNECTION_COUNT,
    duration: seconds,
    requests: cases[name].map((path) => ({ path })),
  })
  if (non2xx > 0 || errors > 0) {
    isWrong = true
    console.error(`${side}, ${name}: ${non2xx} answers were no success, ${errors} requests failed`)
  }
  const cpuMs = ((await cpuMsOf(pid)) ?? Number.NaN) - (cpuBeforeMs ?? Number.NaN)
  return { requestsPerSecond: requests.average, cpuUs: (cpuMs * 1_000) / requests.total }
}

/** The service as it is run, its log thrown away. */
async function startOurs() {
  const port = await freePort()
  const child = spawn(MAIN, ['serve'], {
    env: { ...EXECUTABLE_ENV, ...world.env, HOST: '127.0.0.1', PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  children.push(child)
  const url = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${url}/readyz`)).ok, { what: 'the service to be ready' })
  return { url, pid: child.pid ?? 0 }
}

async function startPlain() {
  // What a place holder is called in Slonik's queries.
  const textOf = ({ sql }: { sql: string }) => sql.replaceAll('$slonik_', '$')
  const limits = { maxAgeMs: 86_400_000, attemptCountMax: 3 }
  const list = logPageQuery(limits, {}, { limit: 50, after: null })
  const queries = {
    list: { sql: textOf(list), values: list.values },
    entry: { sql: textOf(logEntryQuery(limits, { locator: '' })) },
  }
  const child = spawn(process.execPath, [fileURLToPath(new URL('./reads-plain.ts', import.meta.url))], {
    env: { PATH: process.env.PATH, DATABASE_URL: world.databaseUrl, QUERIES: JSON.stringify(queries) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  for await (const url of createInterface({ input: child.stdout })) return { url, pid: child.pid ?? 0 }
  throw new Error('the plain app did not start')
}
