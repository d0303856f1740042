import t from 'tap'
import {
  findEntries,
  MERGE_ONLY,
  pageOfDecisionsQuery,
  pageOfNobodyQuery,
  pageOfPartyQuery,
} from '../../../src/operations/erase/erase-entries.ts'
import { createSearch } from '../../../src/operations/erase/find-mention.ts'
import { openDatabase, planOf } from '../../service/store/fixtures.ts'
import { until } from '../../stack/until.ts'

/** More than one page, and more than one in each half. */
const ROW_COUNT = 120_000
const { pool, client } = await openDatabase(t)
const locatorOf = (sqlNumber: string) => `'NTF-' || lpad((${sqlNumber})::text, 10, '0')`

t.before(async () => {
  await client.query(
    `INSERT INTO notifications.notification_log (locator, event_id, party_locator, event_type, channel, status,
       subject, body, attempt_count, sent_at, created_at)
     SELECT ${locatorOf('n')}, 'event-' || n, 'PTY-' || n % 1000, 'claim.paid', 'EMAIL', 'SENT', 'Your claim',
       repeat('x', 400), 1, now(), '2026-01-01Z'::timestamptz + n * interval '1 second'
     FROM generate_series(1, $1::int) AS n WHERE n % 10000 <> 4711`,
    [ROW_COUNT],
  )
  await client.query(
    `INSERT INTO notifications.decision (locator, attempt, event_id, party_locator, event_type, outcome, channel,
       rule_id, reason, facts, rule_table_revision, topic, partition_id, "offset")
     SELECT ${locatorOf('n')}, 0, 'event-' || n, 'PTY-' || n % 1000, 'claim.paid', 'SKIP', 'EMAIL', 'muted', 'muted',
       '{"party": "found", "optedOut": false, "emailOnFile": true}', repeat('a', 64), 'claims', 0, n
     FROM generate_series(1, $1::int) AS n`,
    [ROW_COUNT],
  )
  // Autovacuum looks at the database from time to time; what it may still see as new is not marked as visible to all.
  await until(isVisibleToAll, { what: 'all rows to be visible to all, as an index-only scan wants it' })
})

async function isVisibleToAll(): Promise<boolean> {
  await client.query('VACUUM ANALYZE notifications.decision, notifications.notification_log')
  const { rows } = await client.query(
    `SELECT bool_and(relallvisible = relpages) AS all FROM pg_class
     WHERE oid IN ('notifications.decision'::regclass, 'notifications.notification_log'::regclass)`,
  )
  return rows[0].all
}

t.test('the entries of a party are found by its index', async (t) => {
  for (const party of ['PTY-7', 'nobody']) {
    const plan = await planOf(
      pool,
      pageOfPartyQuery(party, { createdAt: '2020-01-01T00:00:00Z', locator: '' }),
    )
    t.match(plan, /Index Scan using notification_log_party/)
    t.notMatch(plan, /Seq Scan/)
  }
})

t.test('entries without a party are found by the decisions of nobody', async (t) => {
  await client.query(`UPDATE notifications.decision SET party_locator = NULL WHERE "offset" % 100 = 7`)
  await until(isVisibleToAll, { what: 'statistics' })
  const plan = await planOf(pool, pageOfNobodyQuery('PTY-7', { locator: '', attempt: 0 }))
  t.match(plan, /Index Scan using decision_of_nobody/)
  t.notMatch(plan, /Seq Scan/)
})

t.test('decisions without a row are found by comparing keys, without reading a decision', async (t) => {
  const plan = await pool.transaction(async (tx) => {
    await tx.query(MERGE_ONLY)
    return planOf(tx, pageOfDecisionsQuery('NTF-0000050000', 'NTF-0000100000'))
  })
  t.match(plan, /Merge/)
  t.match(plan, /Index Only Scan using decision_pkey/)
  t.match(plan, /Index Only Scan using notification_log_pkey/)
  t.notMatch(plan, /Seq Scan|Heap Fetches: [1-9]/)
})

t.test('all pages are searched, and only the decisions of the party are found', async (t) => {
  const found: string[] = []
  const seen: number[] = []
  for await (const { locators } of findEntries(pool, createSearch('PTY-711', []), (count) =>
    seen.push(count),
  ))
    found.push(...locators.filter((locator) => locator.endsWith('4711')))
  t.equal(found.length, ROW_COUNT / 10_000)
  t.equal(seen.length, 4, 'two pages of each half')
  t.equal(seen.at(-1), ROW_COUNT)
  for await (const { locators } of findEntries(pool, createSearch('PTY-712', []), () => {}))
    t.notOk(locators.some((locator) => locator.endsWith('4711')))
})
