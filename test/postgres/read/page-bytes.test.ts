import { sql } from 'slonik'
import t, { type Test } from 'tap'
import { z } from 'zod'
import type { LogPosition } from '../../../src/core/log/log-page.ts'
import { decisionGroups } from '../../../src/postgres/read/group-decisions.ts'
import { listDueEntries } from '../../../src/postgres/read/list-due-entries.ts'
import { listLogEntries } from '../../../src/postgres/read/list-log-entries.ts'
import { recordedEntryPages } from '../../../src/postgres/read/list-recorded-entries.ts'
import {
  ALL_REJECTED,
  listRejected,
  readRejected,
} from '../../../src/postgres/read/list-rejected-messages.ts'
import { listPreferenceChanges, listPreferences } from '../../../src/postgres/read/read-preferences.ts'
import { readRetryCandidates } from '../../../src/postgres/read/read-retry-candidates.ts'
import { jsonBytes, PAGE_BYTES_MAX, textBytes, withinBytes } from '../../../src/postgres/sql/page-bytes.ts'
import { openDatabase } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)
const COUNT = 7
const ROW_BYTES = 1_000_000
const LIMITS = { maxAgeMs: 3e12, attemptCountMax: 3 }
const DUE_LIMITS = { ...LIMITS, minPauseMs: 0 }
const locatorOf = (n: number) => `NTF-${String(n).padStart(2, '0')}`
const ALL = Array.from({ length: COUNT }, (_, i) => locatorOf(i + 1))

/** Rows with a text of 1 MB, or with a decision of 1 MB, or with both. Random text is stored as it is, repeated text compressed. */
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

/** Every page has at least one row, and no more than fit; together they have every row once. */
function areBounded(
  t: Test,
  pages: readonly (readonly string[])[],
  rowBytes: number,
  all: readonly string[],
) {
  t.same(pages.flat(), all)
  for (const page of pages.slice(0, -1))
    t.equal(page.length, Math.ceil(PAGE_BYTES_MAX / rowBytes), `${page.length} rows of ${rowBytes} bytes`)
  t.ok(pages.length > 1, `${pages.length} pages`)
}

async function logPages(filter: object): Promise<string[][]> {
  const pages: string[][] = []
  for (let after: LogPosition | null | undefined; after !== null; ) {
    const page = await listLogEntries(pool, LIMITS, filter, { limit: 200, after: after ?? null })
    pages.push(page.items.map(({ locator }) => locator))
    after = page.next
  }
  return pages
}

async function duePages(): Promise<string[][]> {
  const pages: string[][] = []
  for (let after: LogPosition | null | undefined; after !== null; ) {
    const { due, next } = await listDueEntries(pool, DUE_LIMITS, after ?? null, 500)
    pages.push(due.map(({ locator }) => locator))
    after = next
  }
  return pages
}

async function candidatePages(): Promise<string[][]> {
  const pages: string[][] = []
  for (let left = ALL; left.length > 0; ) {
    const page = await readRetryCandidates(pool, LIMITS, left)
    const locators = page.map(({ locator }) => locator)
    pages.push(locators)
    left = left.filter((locator) => !locators.includes(locator))
  }
  return pages
}

async function recordedPages(): Promise<string[][]> {
  const pages: string[][] = []
  for await (const page of recordedEntryPages(pool, 2_000)) pages.push(page.map(({ locator }) => locator))
  return pages
}

t.test('a page of large texts ends early, and the next one goes on', async (t) => {
  await fill({ variables: 0 })
  areBounded(t, await logPages({}), ROW_BYTES, ALL)
  areBounded(t, await logPages({ channel: 'EMAIL', eventType: 'claim.paid' }), ROW_BYTES, ALL)
  areBounded(t, await duePages(), ROW_BYTES, ALL.toReversed())
  areBounded(t, await candidatePages(), ROW_BYTES, ALL)
  areBounded(t, await recordedPages(), ROW_BYTES, ALL)
})

t.test('so does a page of small texts with large variables', async (t) => {
  for (const text of ['x', await randomText()]) {
    await fill({ body: 0, variables: 1, text })
    for (const [pages, all] of [
      [await duePages(), ALL.toReversed()],
      [await candidatePages(), ALL],
      [await recordedPages(), ALL],
    ] as const) {
      t.same(pages.flat(), all)
      t.ok(pages.every(({ length }) => length <= Math.ceil(PAGE_BYTES_MAX / ROW_BYTES)))
    }
  }
})

t.test('so does one with large reasons or errors of a sender', async (t) => {
  for (const change of [
    'notification_log SET failure_reason',
    'decision SET reason',
    "decision SET outcome = 'SEND', reason = NULL, send_error",
  ]) {
    await fill({ body: 0, variables: 0 })
    await client.query(`UPDATE notifications.${change} = $1::text`, [await randomText()])
    const pages = await recordedPages()
    t.same(pages.flat(), ALL)
    t.ok(
      pages.every(({ length }) => length <= Math.ceil(PAGE_BYTES_MAX / ROW_BYTES)),
      change,
    )
  }
})

t.test('a row that is larger than a page is one', async (t) => {
  await fill({ body: 6, variables: 0 })
  const each = ALL.map((locator) => [locator])
  t.same(await logPages({}), each)
  t.same(await duePages(), each.toReversed())
  t.same(await candidatePages(), each)
  t.same(
    (await recordedPages()).filter(({ length }) => length > 0),
    each,
  )
})

t.test('a list without large rows is one page, up to its limit', async (t) => {
  await fill({ body: 0, variables: 0 })
  t.same(await logPages({}), [ALL])
  const full = await listLogEntries(pool, LIMITS, {}, { limit: COUNT, after: null })
  t.equal(full.next, null)
  const cut = await listLogEntries(pool, LIMITS, {}, { limit: COUNT - 1, after: null })
  t.same([cut.items.length, cut.next?.locator], [COUNT - 1, locatorOf(COUNT - 1)])
})

t.test('a page of large rejected messages ends early, whatever is large in them', async (t) => {
  const random = await randomText()
  for (const columns of [
    [Buffer.from(random), null, '{}'],
    [null, Buffer.from(random), '{}'],
    [null, null, JSON.stringify({ header: [random] })],
  ]) {
    await client.query('TRUNCATE notifications.rejected_message')
    await client.query(
      `INSERT INTO notifications.rejected_message (topic, partition_id, "offset", key, value, headers, code, error)
      SELECT 'claims', 0, n, $1, $2, $3, 'not-json', 'no' FROM generate_series(1, ${COUNT}) AS n`,
      columns,
    )
    const pages: string[][] = []
    for await (const page of readRejected(pool, ALL_REJECTED))
      pages.push(page.map(({ message }) => String(message.offset)))
    t.same(
      pages.flat(),
      ALL.map((_, i) => String(i + 1)),
    )
    t.ok(pages.length >= 2, `${pages.length} pages`)
  }
})

t.test('so does one with large errors of the database, such as those of a trigger', async (t) => {
  const error = await randomText()
  const count = Math.ceil(PAGE_BYTES_MAX / ROW_BYTES)
  for (const [ofMessage, ofRedrive] of [
    [error, 'no'],
    ['no', error],
  ]) {
    await client.query('TRUNCATE notifications.rejected_message, notifications.redrive')
    await client.query(
      `WITH stored AS (
        INSERT INTO notifications.rejected_message (topic, partition_id, "offset", headers, code, error)
        SELECT 'claims', 0, n, '{}', 'refused-by-database', $1 FROM generate_series(1, ${COUNT}) AS n
        RETURNING id
      )
      INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, code, error)
      SELECT id, 'alice', 'rejected', 'refused-by-database', $2 FROM stored`,
      [ofMessage, ofRedrive],
    )
    const read: number[] = []
    for await (const page of readRejected(pool, ALL_REJECTED)) read.push(page.length)
    t.same(read, [count, count, COUNT - 2 * count])
    const listed: number[] = []
    for (let after: bigint | null | undefined; after !== null; ) {
      const { items, next } = await listRejected(pool, ALL_REJECTED, { limit: 50, after: after ?? null })
      listed.push(items.length)
      after = next
    }
    t.same(listed, read)
  }
})

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
  for (let isMore = true; isMore; pageCount++) {
    const page = await listPreferenceChanges(pool, 'party-1', 100, found)
    found += page.changes.length
    isMore = page.isMore
  }
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
    [await randomText()],
  )
  const pages: string[][] = []
  let events = 0
  for await (const page of decisionGroups(pool, '1970-01-01T00:00:00Z', 100)) {
    pages.push(page.groups.flatMap(({ locators }) => locators).sort())
    events += page.events
  }
  t.equal(events, COUNT)
  t.same(pages, [ALL.slice(0, 3), ALL.slice(3, 6), ALL.slice(6)], '3 MB of each event')
})

t.test('a page of preferences with many opt-outs ends early', async (t) => {
  await client.query(`
    INSERT INTO notifications.notification_preferences (party_locator, opted_out_events)
    SELECT 'party-' || to_char(n, 'FM000'), (
      SELECT jsonb_agg((SELECT string_agg(md5(n || '-' || i || '-' || j), '') FROM generate_series(1, 7) AS j))
      FROM generate_series(1, 200) AS i
    ) FROM generate_series(1, 201) AS n`)
  const found: string[] = []
  let pageCount = 0
  for (let after: string | null | undefined; after !== null; pageCount++) {
    const { items, next } = await listPreferences(pool, { limit: 200, after: after ?? null })
    found.push(...items.map(({ partyLocator }) => partyLocator))
    after = next
  }
  t.equal(new Set(found).size, 201)
  t.equal(found.length, 201)
  t.ok(pageCount > 2, `${pageCount} pages`)
})

const explained = z.object({ 'QUERY PLAN': z.custom<readonly [{ readonly Plan: Record<string, number> }]>() })

t.test('the sizes of large values are known without reading them', async (t) => {
  await fill({ text: await randomText() })
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

t.test('the size of compressed variables is known if they are small, and else never too low', async (t) => {
  const sizes = z.object({ stored: z.number(), counted: z.bigint(), real: z.number() })
  for (const [kilobytes, countedMax] of [
    [6, 1],
    [1_000, 90],
  ] as const) {
    await fill({ body: 0, variables: kilobytes / 1_000, text: (await randomText()).slice(0, 1_200) })
    const { stored, counted, real } = await pool.one(sql.type(sizes)`
      SELECT pg_column_size(variables) AS stored, ${jsonBytes(sql.fragment`variables`)} AS counted,
        octet_length(variables::text) AS real
      FROM notifications.decision LIMIT 1`)
    t.ok(stored < real / 2, `${stored} bytes stored of ${real}`)
    t.ok(counted >= real && Number(counted) <= countedMax * real, `${counted} counted`)
  }
})

/** 1 MB that cannot be compressed. */
async function randomText(): Promise<string> {
  const { rows } = await client.query(
    `SELECT string_agg(md5(random()::text), '') AS text FROM generate_series(1, ${ROW_BYTES / 32})`,
  )
  return rows[0].text
}
