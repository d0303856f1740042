import { hash } from 'node:crypto'
import t from 'tap'
import { findRejected, listSkips } from '../../../src/operations/audit/read-rejected.ts'
import { findRows, findRowsQuery } from '../../../src/service/store/read/find-rows.ts'
import { openDatabase, planOf } from '../../service/store/fixtures.ts'

const ROW_COUNT = 50_000
const { pool, client } = await openDatabase(t)

t.before(async () => {
  await client.query(`
    INSERT INTO notifications.notification_log (locator, event_id, party_locator, event_type, channel, status,
      failure_reason, attempt_count)
    SELECT 'NTF-' || n, 'event-' || n, 'party-1', 'claim.paid', 'EMAIL', 'SKIPPED', 'muted', 0
    FROM generate_series(1, ${ROW_COUNT}) AS n`)
  await client.query(`
    INSERT INTO notifications.decision (locator, attempt, event_id, party_locator, event_type, outcome, channel,
      rule_id, facts, rule_table_revision, topic, partition_id, "offset", erased_at)
    SELECT 'NTF-' || n, attempt, 'event-' || n, 'party-1', 'claim.paid', 'SKIP', 'EMAIL', 'muted', '{}', 'abc', 'claims', 3, n,
      CASE WHEN n = 2 THEN now() END
    FROM generate_series(1, ${ROW_COUNT}) AS n, generate_series(0, 1) AS attempt WHERE n <> 3`)
  await client.query('ANALYZE notifications.decision, notifications.notification_log')
})

const idsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, i) => `event-${first + i}`)

t.test('rows are found with the message that each came from', async (t) => {
  const found = await findRows(pool, ['event-1', 'event-2', 'event-3', 'another'])
  const row = {
    locator: 'NTF-1',
    partyLocator: 'party-1',
    origin: { topic: 'claims', partition: 3, offset: 1n },
  }
  t.match(found.get('event-1'), { ...row, erased: false })
  t.match(found.get('event-2'), { erased: true })
  t.match(found.get('event-3'), { origin: null, erased: false })
  t.equal(found.size, 3)
})

t.test('rows and their decisions are found by key', async (t) => {
  const plan = await planOf(pool, findRowsQuery(idsFrom(100, 50)))
  t.match(plan, /Index Scan using notification_log_event_id_key/)
  t.match(plan, /Index Scan Backward using decision_pkey/)
  t.notMatch(plan, /Seq Scan|Rows Removed by Filter/)
})

t.test('a rejected message is found by place and value, even an erased one', async (t) => {
  const keep = (offset: number, value: string | null) =>
    client.query(
      `INSERT INTO notifications.rejected_message (topic, partition_id, "offset", value, headers, code, error)
       VALUES ('claims', 3, $1, $2, '{}', 'not-json', 'because')`,
      [offset, value === null ? null : Buffer.from(value)],
    )
  await keep(1, 'one')
  await keep(2, 'of a topic that was recreated')
  await keep(3, null)
  await keep(4, 'four')
  await client.query(
    `UPDATE notifications.rejected_message SET erased_at = now(), erased_sha256 = $1, value = NULL WHERE "offset" = 4`,
    [hash('sha256', 'four', 'buffer')],
  )
  const message = (offset: bigint, value: string | null) => ({
    offset,
    key: null,
    value: value === null ? null : Buffer.from(value),
    headers: {},
  })
  const messages = [message(1n, 'one'), message(2n, 'two'), message(3n, null), message(4n, 'four')]
  t.strictSame(
    [...(await findRejected(pool, 'claims', 3, messages)).values()].sort((a, b) =>
      Number(a.offset - b.offset),
    ),
    [
      { offset: 1n, erased: false },
      { offset: 3n, erased: false },
      { offset: 4n, erased: true },
    ],
  )
  t.equal((await findRejected(pool, 'claims', 4, messages)).size, 0)
})

t.test('skipped offsets are listed, of an erased record too', async (t) => {
  await client.query(`
    INSERT INTO notifications.rejected_message (topic, partition_id, "offset", headers, code, error, skipped_to)
    VALUES ('billing', 0, 7, '{}', 'unreadable', 'damaged; skipped offsets 7 to 12 by ops; reason: a disk', 12),
      ('billing', 0, 20, '{}', 'unreadable', 'erased', 23), ('billing', 0, 30, '{}', 'not-json', 'because', NULL),
      ('billing', 1, 40, '{}', 'unreadable', 'damaged; skipped offsets 40 to 41 by ops', 41)`)
  t.strictSame(await listSkips(pool, 'billing', 0), [
    { from: 7n, to: 12n },
    { from: 20n, to: 23n },
  ])
})
