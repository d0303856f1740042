import { sql } from 'slonik'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { recordedEntryPages } from '../../../../src/operations/replay/list-recorded-entries.ts'
import type { PreferenceChange } from '../../../../src/service/decide/party/preferences.ts'
import type { ListPage, LogPosition } from '../../../../src/service/model/log/log-page.ts'
import type { RetryTarget } from '../../../../src/service/model/request/schemas.ts'
import { listDueEntries } from '../../../../src/service/store/read/list-due-entries.ts'
import { listLogEntries } from '../../../../src/service/store/read/list-log-entries.ts'
import {
  ALL_REJECTED,
  listRejected,
  readRejected,
} from '../../../../src/service/store/read/list-rejected-messages.ts'
import {
  listPreferenceChanges,
  listPreferences,
} from '../../../../src/service/store/read/read-preferences.ts'
import { listRetryCandidates } from '../../../../src/service/store/read/read-retry-candidates.ts'
import {
  jsonBytes,
  PAGE_BYTES_MAX,
  textBytes,
  withinBytes,
} from '../../../../src/service/store/sql/page-bytes.ts'
import { decisionPages, openDatabase } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)
const COUNT = 7
const ROW_BYTES = 1_000_000
const LIMITS = { maxAgeMs: 3e12, attemptCountMax: 3 }
const GIVEN_UP_LIMITS = { ...LIMITS, attemptCountMax: 0 }
const DUE_LIMITS = { ...LIMITS, minPauseMs: 0 }
const ALL = Array.from({ length: COUNT }, (_, i) => `NTF-${String(i + 1).padStart(2, '0')}`)

/** Rows with a text of 1 MB, or with a decision of 1 MB, or with both. Text that is repeated is stored compressed. */
async function fill({
  body = 1,
  variables = 1,
  text = 'x',
}: {
  body?: number
  variables?: number
  text?: string
}) {
  await client.query(`
    TRUNCATE notifications.notification_log, notifications.decision, notifications.rejected_message,
      notifications.notification_preferences`)
  await client.query(
    `INSERT INTO notifications.notification_log (
      locator, event_id, event_type, channel, status, subject, body, failure_reason, attempt_count, created_at
    )
    SELECT 'NTF-' || to_char(n, 'FM00'), n, 'claim.paid', 'EMAIL', 'FAILED', '', repeat($1, $2), 'late', 0,
      now() - n * interval '1 s'
    FROM generate_series(1, ${COUNT}) AS n`,
    [text, Math.floor((body * ROW_BYTES) / text.length)],
  )
  await client.query(
    `INSERT INTO notifications.decision (locator, attempt, event_id, event_type, outcome, channel, rule_id, facts, variables,
      rule_table_revision, topic, partition_id, "offset")
    SELECT locator, 0, event_id, event_type, 'FAIL', channel, 'x', '{}',
      jsonb_build_object('locator', 'CLM-1', 'reason', repeat($1, $2)), 'x', 'claims', 0, 0
    FROM notifications.notification_log`,
    [text, Math.floor((variables * ROW_BYTES) / text.length)],
  )
}

type Pages = readonly (readonly string[])[]

/** The ids of each page that has rows. `read` gets the cursor of the page before. */
async function pagesOf<After>(
  read: (after: After | null) => Promise<{ readonly ids: readonly string[]; readonly next: After | null }>,
): Promise<Pages> {
  const pages: (readonly string[])[] = []
  for (let after: After | null | undefined; after !== null; ) {
    const { ids, next } = await read(after ?? null)
    if (ids.length > 0) pages.push(ids)
    after = next
  }
  return pages
}

const locatorsIn = (rows: readonly { readonly locator: string }[]) => rows.map(({ locator }) => locator)

const logPages = (filter = {}) =>
  pagesOf<LogPosition>(async (after) => {
    const { items, next } = await listLogEntries(pool, LIMITS, filter, { limit: 200, after })
    return { ids: locatorsIn(items), next }
  })

const candidatePages = (target: RetryTarget) =>
  pagesOf<LogPosition>(async (after) => {
    const { candidates, next } = await listRetryCandidates(pool, GIVEN_UP_LIMITS, target, after)
    return { ids: locatorsIn(candidates), next }
  })

/** Every way to read the log, in the order of locators. */
const READERS = {
  log: () => logPages(),
  filtered: () => logPages({ channel: 'EMAIL', eventType: 'claim.paid' }),
  due: async () => {
    const pages = await pagesOf<LogPosition>(async (after) => {
      const { due, next } = await listDueEntries(pool, DUE_LIMITS, after, 500)
      return { ids: locatorsIn(due), next }
    })
    return pages.map((page) => page.toReversed()).toReversed()
  },
  candidates: () => candidatePages({ locators: ALL }),
  'candidates by filter': () => candidatePages({ filter: { to: '2999-01-01T00:00:00.000Z' } }),
  recorded: async () => {
    const pages: string[][] = []
    for await (const page of recordedEntryPages(pool, 2_000))
      if (page.length > 0) pages.push(locatorsIn(page))
    return pages
  },
}
type Reader = keyof typeof READERS
const ALL_READERS = Object.keys(READERS) as Reader[]
const OF_DECISIONS: readonly Reader[] = ['due', 'candidates', 'candidates by filter', 'recorded']

/** Every page has as many rows as fit, or fewer if compression hides their size; together they have every row once. */
function areBounded(t: Test, pages: Pages, rowBytes: number, isExact: boolean, what: string) {
  const fitting = Math.ceil(PAGE_BYTES_MAX / rowBytes)
  t.strictSame(pages.flat(), ALL, what)
  t.ok(pages.length > 1 && pages.every(({ length }) => length <= fitting), `${what}: no more than fit`)
  const full = pages.filter(({ length }) => length === fitting).length
  if (isExact) t.equal(full, Math.floor(COUNT / fitting), `${what}: as many as fit`)
}

const INCOMPRESSIBLE = await incompressibleText()
const withIncompressible = (assignment: string) => async () => {
  await fill({ body: 0, variables: 0 })
  await client.query(`UPDATE notifications.${assignment} = $1::text`, [INCOMPRESSIBLE])
}
const CASES: readonly (readonly [
  what: string,
  prepare: () => Promise<void>,
  readers: readonly Reader[],
  rowBytes?: number,
])[] = [
  ['texts', () => fill({ variables: 0 }), ALL_READERS, ROW_BYTES],
  ['texts larger than a page', () => fill({ body: 6, variables: 0 }), ALL_READERS, 6 * ROW_BYTES],
  ['variables', () => fill({ body: 0 }), OF_DECISIONS],
  ['variables that cannot be compressed', () => fill({ body: 0, text: INCOMPRESSIBLE }), OF_DECISIONS],
  ['reasons of rows', withIncompressible('notification_log SET failure_reason'), ['recorded']],
  ['reasons of decisions', withIncompressible('decision SET reason'), ['recorded']],
  [
    'errors of a sender',
    withIncompressible("decision SET outcome = 'SEND', reason = NULL, send_error"),
    ['recorded'],
  ],
]
for (const [what, prepare, readers, rowBytes] of CASES) {
  t.test(`a page of rows with large ${what} ends early, and the next one goes on`, async (t) => {
    await prepare()
    for (const reader of readers)
      areBounded(t, await READERS[reader](), rowBytes ?? ROW_BYTES, rowBytes !== undefined, reader)
  })
}

t.test('a list without large rows is one page, up to its limit', async (t) => {
  await fill({ body: 0, variables: 0 })
  t.strictSame(await logPages(), [ALL])
  const full = await listLogEntries(pool, LIMITS, {}, { limit: COUNT, after: null })
  t.equal(full.next, null)
  const cut = await listLogEntries(pool, LIMITS, {}, { limit: COUNT - 1, after: null })
  t.strictSame([cut.items.length, cut.next?.locator], [COUNT - 1, ALL[COUNT - 2]])
})

/** Key, value, headers and error of a rejected message, and the error of its redrive. */
const REJECTED: Readonly<Record<string, readonly unknown[]>> = {
  key: [Buffer.from(INCOMPRESSIBLE), null, '{}', 'no', 'no'],
  value: [null, Buffer.from(INCOMPRESSIBLE), '{}', 'no', 'no'],
  headers: [null, null, JSON.stringify({ header: [INCOMPRESSIBLE] }), 'no', 'no'],
  error: [null, null, '{}', INCOMPRESSIBLE, 'no'],
  'error of its redrive': [null, null, '{}', 'no', INCOMPRESSIBLE],
}
for (const [what, columns] of Object.entries(REJECTED)) {
  t.test(`a page of rejected messages with a large ${what} ends early`, async (t) => {
    await client.query('TRUNCATE notifications.rejected_message, notifications.redrive')
    await client.query(
      `WITH stored AS (
        INSERT INTO notifications.rejected_message (topic, partition_id, "offset", key, value, headers, code, error)
        SELECT 'claims', 0, n, $1, $2, $3, 'not-json', $4 FROM generate_series(1, ${COUNT}) AS n
        RETURNING id
      )
      INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, code, error)
      SELECT id, 'alice', 'rejected', 'not-json', $5 FROM stored`,
      [...columns],
    )
    const read: string[][] = []
    for await (const page of readRejected(pool, ALL_REJECTED))
      read.push(page.map(({ message }) => String(message.offset)))
    t.strictSame(
      read.flat(),
      ALL.map((_, i) => String(i + 1)),
    )
    t.ok(read.length >= 2, `${read.length} pages`)
    const listed = await pagesOf<bigint>(async (after) => {
      const { items, next } = await listRejected(pool, ALL_REJECTED, { limit: 50, after })
      return { ids: items.map(({ offset }) => String(offset)), next }
    })
    t.strictSame(listed.flat().toReversed(), read.flat())
    if (what.startsWith('error')) t.ok(listed.length >= 2, `${listed.length} pages`)
  })
}

t.test('a page of changes of preferences with many opt-outs ends early', async (t) => {
  const optOuts = Array.from({ length: 200 }, (_, i) => `${i}`.padEnd(255, 'é'))
  const preferences = { email: null, phone: null, preferredChannel: 'EMAIL', optedOutEvents: optOuts }
  await client.query(
    `INSERT INTO notifications.preference_change (party_locator, before, after)
    SELECT 'party-1', $1, $1 FROM generate_series(1, 201)`,
    [preferences],
  )
  let found = 0
  let pageCount = 0
  let after: bigint | null = null
  do {
    const page: ListPage<PreferenceChange, bigint> = await listPreferenceChanges(pool, 'party-1', {
      limit: 100,
      after,
    })
    found += page.items.length
    after = page.next
    pageCount++
  } while (after !== null)
  t.equal(found, 201)
  t.ok(pageCount > 3, `${pageCount} pages`)
})

t.test('a page of decisions with many or large facts ends early', async (t) => {
  await client.query('TRUNCATE notifications.decision')
  await client.query(
    `INSERT INTO notifications.decision (locator, attempt, event_id, event_type, outcome, channel, rule_id, facts,
      rule_table_revision, topic, partition_id, "offset")
    SELECT 'NTF-' || to_char(n, 'FM00'), attempt, n, 'claim.paid', 'FAIL', 'EMAIL', 'x',
      jsonb_build_object('eventType', 'claim.paid', 'later', left($1, 100000)), 'x', 'claims', 0, 0
    FROM generate_series(1, ${COUNT}) AS n, generate_series(0, 29) AS attempt`,
    [INCOMPRESSIBLE],
  )
  const pages = await decisionPages(pool, '1970-01-01T00:00:00Z', { decisionCountMax: 100 })
  t.strictSame(
    pages.map(({ groups }) => groups.flatMap(({ locators }) => locators)),
    [...ALL.map((locator) => [locator]), []],
    '3 MB of each event',
  )
})

t.test('a page of preferences with many opt-outs ends early', async (t) => {
  await client.query(`
    INSERT INTO notifications.notification_preferences (party_locator, opted_out_events)
    SELECT 'party-' || to_char(n, 'FM000'), (
      SELECT jsonb_agg((SELECT string_agg(md5(n || '-' || i || '-' || j), '') FROM generate_series(1, 7) AS j))
      FROM generate_series(1, 200) AS i
    ) FROM generate_series(1, 201) AS n`)
  const pages = await pagesOf<string>(async (after) => {
    const { items, next } = await listPreferences(pool, { limit: 200, after })
    return { ids: items.map(({ partyLocator }) => partyLocator), next }
  })
  t.strictSame([pages.flat().length, new Set(pages.flat()).size], [201, 201])
  t.ok(pages.length > 2, `${pages.length} pages`)
})

const explained = z.object({ 'QUERY PLAN': z.custom<readonly [{ readonly Plan: Record<string, number> }]>() })

t.test('the sizes of large values are known without reading them', async (t) => {
  await fill({ text: INCOMPRESSIBLE })
  const entries = sql.fragment`
    SELECT locator, subject, body, variables FROM notifications.notification_log JOIN notifications.decision USING (locator)`
  const bytes = sql.fragment`(${textBytes(sql.fragment`body`)} + ${jsonBytes(sql.fragment`variables`)})`
  const page = withinBytes(entries, sql.fragment`locator`, bytes)
  const { 'QUERY PLAN': plan } = await pool.one(
    sql.type(explained)`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT locator FROM (${page}) AS page`,
  )
  const { 'Shared Hit Blocks': hit = 0, 'Shared Read Blocks': read = 0 } = plan[0].Plan
  t.ok(hit + read < 100, `${hit + read} blocks, where each value has more`)
})

/** PostgreSQL compresses no value whose first 1,024 bytes (`first_success_by` of pglz) have nothing that is repeated. */
const REPEATED = INCOMPRESSIBLE.slice(0, 600)

t.test('the size of compressed variables is known if they are small, and else never too low', async (t) => {
  const sizes = z.object({ stored: z.number(), counted: z.bigint(), real: z.number() })
  for (const [kilobytes, countedMax] of [
    [6, 1],
    [1_000, 90],
  ] as const) {
    await fill({ body: 0, variables: kilobytes / 1_000, text: REPEATED })
    const { stored, counted, real } = await pool.one(sql.type(sizes)`
      SELECT pg_column_size(variables) AS stored, ${jsonBytes(sql.fragment`variables`)} AS counted,
        octet_length(variables::text) AS real
      FROM notifications.decision LIMIT 1`)
    t.ok(stored < real / 2, `${stored} bytes stored of ${real}`)
    t.ok(counted >= real && Number(counted) <= countedMax * real, `${counted} counted`)
  }
})

/** 1 MB that cannot be compressed, the same in each run. */
async function incompressibleText(): Promise<string> {
  const { rows } = await client.query(
    `SELECT string_agg(md5(n::text), '' ORDER BY n) AS text FROM generate_series(1, ${ROW_BYTES / 32}) AS n`,
  )
  return rows[0].text
}
