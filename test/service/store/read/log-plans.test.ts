import { randomBytes } from 'node:crypto'
import type { QuerySqlToken } from 'slonik'
import t from 'tap'
import { logCountsQuery } from '../../../../src/console/routes/count-log-entries.ts'
import {
  continuationsQuery,
  ENDING_COUNT_MAX,
  endingsQuery,
  namesQuery,
} from '../../../../src/operations/log/search-log.ts'
import { CHANNELS } from '../../../../src/service/decide/party/channel.ts'
import type { LogFilter } from '../../../../src/service/model/log/log-filters.ts'
import type { LogPosition } from '../../../../src/service/model/log/log-page.ts'
import { STATUSES } from '../../../../src/service/model/log/status.ts'
import {
  CANDIDATE_COUNT_MAX,
  listLogEntries,
  logPageQuery,
} from '../../../../src/service/store/read/list-log-entries.ts'
import { explain, readsOf } from '../explain.ts'
import { fillLog, QUIET } from '../fill-log.ts'
import { LIMITS, openDatabase } from '../fixtures.ts'

const ROW_COUNT = 200_000
/** Rows that share their creation time, as those of one transaction do. A page sorts them, so it reads all of them. */
const ROWS_OF_TIME = ROW_COUNT / 2_000
const { pool, client } = await openDatabase(t)
await fillLog(client, ROW_COUNT, ROWS_OF_TIME)
await client.query(`
  INSERT INTO notifications.decision (locator, attempt, event_id, event_type, outcome, channel, rule_id, facts, variables,
    rule_table_revision, topic, partition_id, "offset")
  SELECT locator, attempt_count, event_id, event_type, 'FAIL', channel, 'x', '{}',
    jsonb_build_object('locator', 'CLM-' || row_number() OVER (ORDER BY locator) / 2), 'x', 'claims', 0, 0
  FROM notifications.notification_log`)
/** Longer than an index key can be, and incompressible. */
const LONG_REFERENCE = `CLM-${randomBytes(3_300).toString('hex')}`
await client.query(
  `UPDATE notifications.decision SET variables = jsonb_build_object('locator', $1::text)
  WHERE event_id IN ('event-00120001', 'event-00120002')`,
  [LONG_REFERENCE],
)
await client.query('ANALYZE notifications.decision')

const planOf = (query: QuerySqlToken) => explain(pool, query)

const PARTIES = [undefined, 'party-hot', 'party-1', 'party-of-nobody']
const EVENT_TYPES = [undefined, 'policy.issued', 'claim.paid', 'payment.void', 'unknown']
const TIMES = [
  {},
  QUIET,
  { from: QUIET.from },
  { to: QUIET.to },
  { from: '2027-01-01T00:00:00.000000Z' },
  { to: '2025-01-01T00:00:00.000000Z' },
]
const PLACES = [
  null,
  { createdAt: '2026-01-01T00:20:00.000000Z', locator: 'NTF-01900000-0000-7000-8000-00000001d4e8' },
]

/** Returns the items in turn. */
const oneOf = <Item>(items: readonly Item[], index: number): Item => items[index % items.length] as Item

/** Every combination of filters, each with one of the times. */
const combinations = PARTIES.flatMap((partyLocator) =>
  EVENT_TYPES.flatMap((eventType) =>
    [undefined, ...STATUSES].flatMap((status) =>
      [undefined, ...CHANNELS].map((channel): LogFilter => ({ partyLocator, eventType, status, channel })),
    ),
  ),
).map((filter, i) => ({ ...filter, ...oneOf(TIMES, 5 * i + Math.floor(i / 6)) }))

/** An index finds just the entries of these filters. */
const isExact = ({ partyLocator, eventType, status, channel }: LogFilter) =>
  channel === undefined &&
  [partyLocator, eventType, status].filter((value) => value !== undefined).length <= 1

/** One walk for each status at most, which reads the rows of the first and of the last time whole. */
const WALK_COUNT_MAX = 3
const TIES_MAX = WALK_COUNT_MAX * 2 * ROWS_OF_TIME
/** A page needs no more rows than this in each walk; up to four columns of a row come from its decision. */
const readMaxOf = (filter: LogFilter, limit: number) =>
  TIES_MAX + (isExact(filter) ? 6 * (limit + 1) : CANDIDATE_COUNT_MAX + limit + 1)
/** Blocks of a row in a walk, with its index and its decision; and to begin three walks, each five levels down its index. */
const blocksMaxOf = (read: number) => WALK_COUNT_MAX * 2 * 5 + 3 * read

/** Filters that are added to each combination, in turn, and the number of rows that a page may read. */
const ADDED: Readonly<Record<string, [added: readonly LogFilter[], readMax: typeof readMaxOf]>> = {
  'a bounded number of rows': [[{}], readMaxOf],
  'with an event id, its row and decision at most': [
    ['event-00199990', 'event-00080001', 'unknown'].map((eventId) => ({ eventId })),
    () => 2,
  ],
  // Two rows, each with a decision that names the reference, a look for a later one, and, for its receipt, its last one.
  'with a reference, its decisions and their rows': [
    ['CLM-0', 'CLM-50000', 'CLM-of-nobody', LONG_REFERENCE].map((reference) => ({ reference })),
    () => 8,
  ],
  // A sort of hardly more rows than candidates is cheaper than to stop in time.
  'with a reason, a rule or members not told, a bounded number of rows': [
    [{ reason: 'of no row' }, { rule: 'of-no-row' }, { notTold: true }],
    () => 2 * CANDIDATE_COUNT_MAX + TIES_MAX,
  ],
}
for (const [title, [added, readMax]] of Object.entries(ADDED)) {
  t.test(`a page of any combination of filters reads ${title}`, async (t) => {
    const faults: string[] = []
    for (const [index, combined] of combinations.entries()) {
      const filter = { ...combined, ...oneOf(added, index) }
      const limit = oneOf([1, 50], index)
      for (const after of PLACES) {
        const { rows, read, blocks } = readsOf(await planOf(logPageQuery(LIMITS, filter, { limit, after })))
        if (read > readMax(filter, limit) || blocks > blocksMaxOf(read))
          faults.push(
            `${JSON.stringify({ filter, limit, after })}: ${read} rows, ${blocks} blocks, for ${rows}`,
          )
      }
    }
    t.strictSame(faults, [])
  })
}

t.test('short pages lead to every entry of the filter', async (t) => {
  for (const filter of [
    { partyLocator: 'party-hot', eventType: 'claim.paid', to: QUIET.from },
    { channel: 'IN_APP' },
    { eventType: 'policy.issued', status: 'SENT', to: QUIET.from },
  ] as const) {
    const {
      eventType = null,
      partyLocator = null,
      status = null,
      channel = null,
      to = null,
    } = filter as LogFilter
    const { rows } = await client.query(
      `SELECT locator FROM notifications.notification_log
      WHERE coalesce(event_type = $1, true) AND coalesce(party_locator = $2, true) AND coalesce(status = $3, true)
        AND coalesce(channel = $4, true) AND coalesce(created_at < $5, true)
      ORDER BY created_at DESC, locator DESC`,
      [eventType, partyLocator, status, channel, to],
    )
    const found: string[] = []
    let pageCount = 0
    for (let after: LogPosition | null | undefined; after !== null; pageCount++) {
      const page = await listLogEntries(pool, LIMITS, filter, { limit: 20_000, after: after ?? null })
      found.push(...page.items.map(({ locator }) => locator))
      after = page.next
    }
    t.ok(rows.length > 0 && pageCount > 1, `${rows.length} rows, ${pageCount} pages`)
    t.strictSame(
      found,
      rows.map(({ locator }) => locator),
      JSON.stringify(filter),
    )
  }
})

t.test('a search reads a bounded number of rows, whatever begins with its text', async (t) => {
  for (const text of ['CLM-1', 'CLM-', 'party-', 'party-1', 'p', 'zzz', LONG_REFERENCE]) {
    for (const query of [namesQuery([text]), continuationsQuery([text])]) {
      const { read, blocks } = readsOf(await planOf(query))
      t.ok(read <= 50 && blocks <= 250, `${text.slice(0, 20)}: ${read} rows, ${blocks} blocks`)
    }
  }
})

t.test('a search for an ending reads a bounded number of rows, however many end so', async (t) => {
  for (const [kind, text] of [
    ['reference', '6'],
    ['reference', '5006'],
    ['member', '1'],
    ['member', 'hot'],
    ['member', 'zzz'],
  ] as const) {
    const { read, blocks } = readsOf(await planOf(endingsQuery(kind, text)))
    // A row for each step and one that tells its time; those listed are read for their spellings.
    t.ok(
      read <= 3 * (ENDING_COUNT_MAX + 1) + 20 * 100 && blocks <= 10 * (read + 10),
      `${text}: ${read} rows, ${blocks} blocks`,
    )
  }
})

t.test('counts read as many rows as they count, and stop at their limit', async (t) => {
  const rowCountMax = 1_000
  const allS = { lengthS: 20 * 365 * 86_400, stepS: 86_400 }
  const { read, blocks } = readsOf(await planOf(logCountsQuery(LIMITS, allS, rowCountMax)))
  t.ok(read > rowCountMax && read <= rowCountMax + 1 + 3, `${read} rows`)
  t.ok(blocks <= blocksMaxOf(read), `${blocks} blocks`)
})

t.test('the rows are as skewed as the plans above need', async (t) => {
  const countOf = async (filter: LogFilter) =>
    (await planOf(logPageQuery(LIMITS, filter, { limit: 20_000, after: null })))['Actual Rows']
  t.ok((await countOf({ partyLocator: 'party-hot' })) > 18_000)
  t.ok((await countOf({ eventType: 'policy.issued' })) > 20_000, 'more than a page of 20,000')
  t.ok((await countOf({ status: 'FAILED', channel: 'SMS' })) > 800)
  t.equal(await countOf({ partyLocator: 'party-hot', eventType: 'policy.issued' }), 0)
  t.equal(await countOf({ status: 'FAILED', eventType: 'policy.issued' }), 0)
  t.equal(await countOf({ partyLocator: 'party-hot', status: 'FAILED' }), 0)
  t.equal(await countOf({ status: 'FAILED', channel: 'EMAIL' }), 0)
  t.equal(await countOf({ eventType: 'claim.paid', channel: 'IN_APP' }), 0)
  t.equal(await countOf({ partyLocator: 'party-hot', ...QUIET }), 0)
})
