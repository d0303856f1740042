import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { untilReady } from '../stack/ask.ts'
import { startService } from '../stack/service.ts'
import { createTopics } from '../stack/topics.ts'
import { PARTY_OF_MOST, PARTY_OF_MOST_LACKS } from './grown-log.ts'
import { quantileOf, tableOf } from './report.ts'

type Query = Readonly<Record<string, string>>
type Sample = Readonly<Record<'partyLocator' | 'eventId' | 'reference' | 'middle', string>>

const PAGES = ['first', 'deep'] as const
const LIMIT = 50
const SAMPLE_COUNT = 100_000
/** Unmeasured reads, in which the service prepares a statement and the database plans it. */
const WARM_UP_READS = 5

/**
 * Times the list of a large log over HTTP, one request at a time: by each filter and each pair of filters, for values that are
 * frequent, rare and absent; the first page and one in the middle. Each page is read `readCount` times. Reports one line per kind
 * of filter: its slowest list by median and by 99th percentile.
 */
export async function measureLists(databaseUrl: string, brokers: string, size: number, readCount: number) {
  const sampled = await sample(databaseUrl, size)
  const { claims } = await createTopics(brokers, 1)
  const service = await startService({
    DATABASE_URL: databaseUrl,
    MQ_BROKERS: brokers,
    MQ_TOPICS: claims,
    MQ_GROUP_ID: claims,
    POLICY_ADMIN_URL: 'http://127.0.0.1:9',
    LOG_LEVEL: 'info',
  })
  const faults: string[] = []
  const lists: { kind: string; page: (typeof PAGES)[number]; search: string; p50: number; p99: number }[] = []
  await untilReady(service.url)
  for (const query of queriesFor(sampled)) {
    for (const page of PAGES) {
      const cursor = Buffer.from(`log${JSON.stringify({ createdAt: sampled.middle, locator: 'NTF-' })}`)
      const search = new URLSearchParams({ ...query, limit: String(LIMIT) })
      if (page === 'deep') search.set('cursor', cursor.toString('base64url'))
      const timesMs: number[] = []
      for (let i = -WARM_UP_READS; i < readCount; i++) {
        const startedMs = performance.now()
        const response = await fetch(`${service.url}/log/list?${search}`)
        await response.text()
        if (i >= 0) timesMs.push(performance.now() - startedMs)
        if (!response.ok) faults.push(`${search}: ${response.status}`)
      }
      const kind = Object.keys(query).join(', ') || '(none)'
      lists.push({
        kind,
        page,
        search: String(search),
        p50: quantileOf(timesMs, 0.5),
        p99: quantileOf(timesMs, 0.99),
      })
    }
  }
  await service.stop()

  const cells = (some: typeof lists) =>
    PAGES.flatMap((wanted) => {
      const ofPage = some.filter(({ page }) => page === wanted)
      return [ofPage.map(({ p50 }) => p50), ofPage.map(({ p99 }) => p99)].map((ms) =>
        Math.max(...ms).toFixed(1),
      )
    })
  const slowest = lists.toSorted((a, b) => b.p99 - a.p99)[0]
  const lines = [
    `rows: ${size.toLocaleString('en')}; lists: ${lists.length}, each read ${readCount} times; ms, of the slowest list of each line`,
    '',
    ...tableOf([
      ['filter', 'lists', ...PAGES.flatMap((page) => [`${page} p50`, `${page} p99`])],
      ...[...Map.groupBy(lists, ({ kind }) => kind)].map(([kind, some]) => [
        kind,
        String(some.length),
        ...cells(some),
      ]),
      ['all', String(lists.length), ...cells(lists)],
    ]),
    '',
    `slowest: ${slowest?.search}`,
  ]
  return { lines, faults }
}

/** A row of a party with few rows, and the time in the middle of the log. */
async function sample(databaseUrl: string, size: number): Promise<Sample> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const samplePercent = Math.min((100 * SAMPLE_COUNT) / size, 100)
  const { rows } = await client.query(`
    WITH sample AS (SELECT * FROM notifications.notification_log TABLESAMPLE SYSTEM (${samplePercent}) REPEATABLE (1)),
      middle AS (SELECT min(created_at) + (max(created_at) - min(created_at)) / 2 AS at FROM sample)
    SELECT party_locator AS "partyLocator", event_id AS "eventId",
      (SELECT variables ->> 'locator' FROM notifications.decision WHERE decision.locator = sample.locator) AS reference,
      (SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') FROM middle) AS middle
    FROM sample WHERE party_locator > 'party-09' AND status = 'SENT' ORDER BY party_locator LIMIT 1`)
  await client.end()
  return rows[0]
}

function queriesFor({ partyLocator: few, eventId: known, reference: about, middle }: Sample): Query[] {
  const filters: readonly (readonly Query[])[] = [
    [PARTY_OF_MOST, few, 'party-of-nobody'].map((partyLocator) => ({ partyLocator })),
    ['policy.issued', 'claim.paid', PARTY_OF_MOST_LACKS, 'unknown'].map((eventType) => ({ eventType })),
    ['SENT', 'SKIPPED', 'FAILED'].map((status) => ({ status })),
    ['EMAIL', 'SMS', 'IN_APP'].map((channel) => ({ channel })),
    [{ from: middle }, { to: middle }],
    [known, randomUUID()].map((eventId) => ({ eventId })),
    [about, 'CLA-of-nobody'].map((reference) => ({ reference })),
  ]
  const pairs = filters.flatMap((some, i) =>
    filters.slice(i + 1).flatMap((others) => some.flatMap((a) => others.map((b) => ({ ...a, ...b })))),
  )
  return [{}, ...filters.flat(), ...pairs]
}
