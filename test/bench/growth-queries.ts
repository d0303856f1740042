// make bench-queries
// How long the list of a large log takes, asked for over HTTP from a `serve` process, one request at a time: by each
// filter and each pair of filters, of what there is much of, little and nothing; the first page and one in the middle.
// SIZE (rows) and READS (of each page) set what is measured; --json prints JSON. The filled database stays on the server
// of DATABASE_URL, where the next run finds it. Exits 1 where an answer is wrong.
import { randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startService } from '../stack/service.ts'
import { createTopics } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { brokersFromEnvironment, endWithSignals, numberFrom } from './environment.ts'
import { grownLog, PARTY_OF_MOST, PARTY_OF_MOST_LACKS } from './grown-log.ts'
import { tableOf } from './report.ts'

type Query = Readonly<Record<string, string>>

/** Times are in ms. */
interface List {
  readonly query: Query
  readonly page: (typeof PAGES)[number]
  readonly rowCount: number
  readonly p50: number
  readonly p99: number
}

const PAGES = ['first', 'deep'] as const
const LIMIT = 50
const SAMPLE_COUNT = 100_000
/** Before those that count: the service prepares a statement, the database plans it. */
const WARM_UP_READS = 5

const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false } } })
const brokers = brokersFromEnvironment()
const size = numberFrom('SIZE', 10_000_000)
const readCount = numberFrom('READS', 100)

endWithSignals()

const faults: string[] = []
const database = await grownLog(String(process.env.DATABASE_URL), size, 'random', (line) => {
  process.stderr.write(`${line}\n`)
})
const client = new pg.Client(database.url)
await client.connect()
const { few, middle } = await sample()
await client.end()
const topics = await createTopics(brokers, { claims: 1 })
const service = await startService({
  DATABASE_URL: database.url,
  MQ_BROKERS: brokers,
  MQ_TOPICS: topics.claims,
  MQ_GROUP_ID: topics.claims,
  POLICY_ADMIN_URL: 'http://127.0.0.1:9',
  LOG_LEVEL: 'info',
})
const lists: List[] = []
try {
  await until(async () => (await fetch(`${service.url}/readyz`)).ok, { what: 'the service to be ready' })
  for (const query of queries()) {
    for (const page of PAGES) lists.push(await measure(query, page))
  }
} finally {
  await service.stop()
}
process.stdout.write(flags.json ? `${JSON.stringify({ size, readCount, lists, faults })}\n` : describe())
process.exitCode = faults.length === 0 ? 0 : 1

/** A row of a party that has few, and a place amid the whole log. */
async function sample() {
  const samplePercent = Math.min((100 * SAMPLE_COUNT) / size, 100)
  const { rows } = await client.query(`
    WITH sample AS (SELECT * FROM notifications.notification_log TABLESAMPLE SYSTEM (${samplePercent}) REPEATABLE (1)),
      middle AS (SELECT min(created_at) + (max(created_at) - min(created_at)) / 2 AS at FROM sample)
    SELECT party_locator AS "partyLocator", event_id AS "eventId",
      (SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') FROM middle) AS "createdAt"
    FROM sample WHERE party_locator > 'party-09' ORDER BY party_locator LIMIT 1`)
  const [{ partyLocator, eventId, createdAt }] = rows
  return { few: { partyLocator, eventId }, middle: { createdAt, locator: 'NTF-' } }
}

function queries(): Query[] {
  const filters: readonly (readonly Query[])[] = [
    [PARTY_OF_MOST, few.partyLocator, 'party-of-nobody'].map((partyLocator) => ({ partyLocator })),
    ['policy.issued', 'claim.paid', PARTY_OF_MOST_LACKS, 'unknown'].map((eventType) => ({ eventType })),
    ['SENT', 'SKIPPED', 'FAILED'].map((status) => ({ status })),
    ['EMAIL', 'SMS', 'IN_APP'].map((channel) => ({ channel })),
    [{ from: middle.createdAt }, { to: middle.createdAt }],
    [few.eventId, randomUUID()].map((eventId) => ({ eventId })),
  ]
  const pairs = filters.flatMap((some, i) =>
    filters.slice(i + 1).flatMap((others) => some.flatMap((a) => others.map((b) => ({ ...a, ...b })))),
  )
  return [{}, ...filters.flat(), ...pairs]
}

async function measure(query: Query, page: List['page']): Promise<List> {
  const url = new URL('/log/list', service.url)
  url.search = new URLSearchParams({ ...query, limit: String(LIMIT) }).toString()
  if (page === 'deep') url.searchParams.set('cursor', cursorOf(middle))
  const times: number[] = []
  let rowCount = 0
  for (let i = -WARM_UP_READS; i < readCount; i++) {
    const startedMs = performance.now()
    const response = await fetch(url)
    const body = await response.text()
    if (i >= 0) times.push(performance.now() - startedMs)
    if (response.status !== 200) {
      faults.push(`${url.search}: ${response.status}`)
      break
    }
    rowCount = JSON.parse(body).items.length
  }
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN
  return { query, page, rowCount, p50: at(0.5), p99: at(0.99) }
}

/** As the service makes it: a client would have got it from the page before. */
function cursorOf(place: { createdAt: string; locator: string }): string {
  return Buffer.from(`log${JSON.stringify(place)}`).toString('base64url')
}

/** One line for each kind of filter: the slowest of its lists, by the median and by the 99th percentile. */
function describe(): string {
  const cells = (some: readonly List[]) =>
    PAGES.flatMap((page) => {
      const those = some.filter((list) => list.page === page)
      return [those.map(({ p50 }) => p50), those.map(({ p99 }) => p99)].map((times) =>
        Math.max(...times).toFixed(1),
      )
    })
  const kinds = Map.groupBy(lists, ({ query }) => Object.keys(query).join(', ') || '(none)')
  const slowest = lists.toSorted((a, b) => b.p99 - a.p99)[0]
  return [
    `rows: ${size.toLocaleString('en')}; lists: ${lists.length}, each read ${readCount} times; ms, of the slowest list of each line`,
    '',
    ...tableOf([
      ['filter', 'lists', ...PAGES.flatMap((page) => [`${page} p50`, `${page} p99`])],
      ...[...kinds].map(([kind, some]) => [kind, String(some.length), ...cells(some)]),
      ['all', String(lists.length), ...cells(lists)],
    ]),
    '',
    ...(slowest ? [`slowest: ${slowest.page} page of ${new URLSearchParams(slowest.query)}`] : []),
    ...faults.map((fault) => `WRONG: ${fault}`),
    '',
  ].join('\n')
}
