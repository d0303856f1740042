import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { startService } from '../stack/service.ts'
import { createTopics } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { PARTY_OF_MOST, PARTY_OF_MOST_LACKS } from './grown-log.ts'
import { tableOf } from './report.ts'

type Query = Readonly<Record<string, string>>
type Few = Readonly<Record<'partyLocator' | 'eventId' | 'reference', string>>
type Place = Readonly<Record<'createdAt' | 'locator', string>>

/** Times are in ms. */
export interface List {
  readonly query: Query
  readonly page: (typeof PAGES)[number]
  readonly rowCount: number
  readonly p50: number
  readonly p99: number
}

const PAGES = ['first', 'deep'] as const
const LIMIT = 50
const SAMPLE_COUNT = 100_000
/** Unmeasured reads, in which the service prepares a statement and the database plans it. */
const WARM_UP_READS = 5

/**
 * Times the list of a large log, asked for over HTTP from a `serve` process, one request at a time: by each filter and each
 * pair of filters, of what there is much of, little and nothing; the first page and one in the middle. Each page is read
 * `readCount` times.
 */
export async function measureLists(
  databaseUrl: string,
  brokers: string,
  size: number,
  readCount: number,
): Promise<{ lists: readonly List[]; faults: readonly string[] }> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const { few, middle } = await sample(client, size)
  await client.end()
  const topics = await createTopics(brokers, { claims: 1 })
  const service = await startService({
    DATABASE_URL: databaseUrl,
    MQ_BROKERS: brokers,
    MQ_TOPICS: topics.claims,
    MQ_GROUP_ID: topics.claims,
    POLICY_ADMIN_URL: 'http://127.0.0.1:9',
    LOG_LEVEL: 'info',
  })
  const lists: List[] = []
  const faults: string[] = []
  try {
    await until(async () => (await fetch(`${service.url}/readyz`)).ok, { what: 'the service to be ready' })
    for (const query of queries(few, middle)) {
      for (const page of PAGES) {
        const url = new URL('/log/list', service.url)
        url.search = new URLSearchParams({ ...query, limit: String(LIMIT) }).toString()
        if (page === 'deep') url.searchParams.set('cursor', cursorOf(middle))
        const measured = await measure(url, readCount)
        if (typeof measured === 'number') faults.push(`${url.search}: ${measured}`)
        else lists.push({ query, page, ...measured })
      }
    }
  } finally {
    await service.stop()
  }
  return { lists, faults }
}

/** A row of a party with few rows, and a position in the middle of the log. */
async function sample(client: pg.Client, size: number) {
  const samplePercent = Math.min((100 * SAMPLE_COUNT) / size, 100)
  const { rows } = await client.query(`
    WITH sample AS (SELECT * FROM notifications.notification_log TABLESAMPLE SYSTEM (${samplePercent}) REPEATABLE (1)),
      middle AS (SELECT min(created_at) + (max(created_at) - min(created_at)) / 2 AS at FROM sample)
    SELECT party_locator AS "partyLocator", event_id AS "eventId",
      (SELECT variables ->> 'locator' FROM notifications.decision WHERE decision.locator = sample.locator) AS reference,
      (SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') FROM middle) AS "createdAt"
    FROM sample WHERE party_locator > 'party-09' AND status = 'SENT' ORDER BY party_locator LIMIT 1`)
  const [{ partyLocator, eventId, reference, createdAt }] = rows
  return { few: { partyLocator, eventId, reference }, middle: { createdAt, locator: 'NTF-' } }
}

function queries(few: Few, middle: Place): Query[] {
  const filters: readonly (readonly Query[])[] = [
    [PARTY_OF_MOST, few.partyLocator, 'party-of-nobody'].map((partyLocator) => ({ partyLocator })),
    ['policy.issued', 'claim.paid', PARTY_OF_MOST_LACKS, 'unknown'].map((eventType) => ({ eventType })),
    ['SENT', 'SKIPPED', 'FAILED'].map((status) => ({ status })),
    ['EMAIL', 'SMS', 'IN_APP'].map((channel) => ({ channel })),
    [{ from: middle.createdAt }, { to: middle.createdAt }],
    [few.eventId, randomUUID()].map((eventId) => ({ eventId })),
    [few.reference, 'CLA-of-nobody'].map((reference) => ({ reference })),
  ]
  const pairs = filters.flatMap((some, i) =>
    filters.slice(i + 1).flatMap((others) => some.flatMap((a) => others.map((b) => ({ ...a, ...b })))),
  )
  return [{}, ...filters.flat(), ...pairs]
}

/** Times in ms, or the status of a wrong answer. */
async function measure(
  url: URL,
  readCount: number,
): Promise<Pick<List, 'rowCount' | 'p50' | 'p99'> | number> {
  const times: number[] = []
  let rowCount = 0
  for (let i = -WARM_UP_READS; i < readCount; i++) {
    const startedMs = performance.now()
    const response = await fetch(url)
    const body = await response.text()
    if (i >= 0) times.push(performance.now() - startedMs)
    if (response.status !== 200) return response.status
    rowCount = JSON.parse(body).items.length
  }
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN
  return { rowCount, p50: at(0.5), p99: at(0.99) }
}

/** The cursor that a client would have got from the previous page. */
function cursorOf(place: Place): string {
  return Buffer.from(`log${JSON.stringify(place)}`).toString('base64url')
}

/** One line per kind of filter: its slowest list by median and by 99th percentile. */
export function describeLists(lists: readonly List[], size: number, readCount: number): string[] {
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
  ]
}
