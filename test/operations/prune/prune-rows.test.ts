import { sql } from 'slonik'
import t from 'tap'
import { beginPruning, prune } from '../../../src/operations/prune/prune-rows.ts'
import type { DatabasePool } from '../../../src/service/store/connection/pool.ts'
import { ERASURE_LOCK } from '../../../src/service/store/sql/advisory-locks.ts'
import { LIMITS, openDatabase } from '../../service/store/fixtures.ts'
import { record } from '../../service/store/record.ts'
import { ADVISORY_LOCK_WAITS } from '../../stack/databases.ts'
import { until } from '../../stack/until.ts'

const { pool, client } = await openDatabase(t)

/** Prunes what is older than `before`; `meanwhile` runs whenever a page of rows has been read. */
async function pruneAll(before: number, meanwhile = async (): Promise<unknown> => null): Promise<void> {
  const limits = { ...LIMITS, before: new Date(before).toISOString() }
  const any: DatabasePool['any'] = async (query) => {
    const rows = await pool.any(query)
    if (rows.length > 0) await meanwhile()
    return rows
  }
  const pruning = await beginPruning(pool, limits.before, 'tester')
  for await (const _ of prune({ ...pool, any }, limits, pruning));
}

async function eventIds(table: 'notification_log' | 'decision'): Promise<readonly string[]> {
  const { rows } = await client.query(`SELECT event_id FROM notifications.${table} ORDER BY event_id`)
  return rows.map(({ event_id }) => event_id)
}

t.beforeEach(async () => {
  await client.query('TRUNCATE notifications.notification_log, notifications.decision')
  await record(pool, [{ eventId: 'due' }, { eventId: 'held' }, { eventId: 'old' }])
})

t.test('a row that a retry holds, or has made due since the page was read, stays', async (t) => {
  await client.query('BEGIN')
  t.teardown(() => client.query('ROLLBACK'))
  await client.query(`SELECT FROM notifications.notification_log WHERE event_id = 'held' FOR UPDATE`)
  await pruneAll(Date.now() + 60_000, () =>
    pool.query(sql.unsafe`
      UPDATE notifications.notification_log SET status = 'FAILED', sent_at = NULL, failure_reason = 'no mailbox'
      WHERE event_id = 'due'`),
  )
  t.strictSame(await eventIds('notification_log'), ['due', 'held'])
  t.strictSame(await eventIds('decision'), ['due', 'held'])
})

t.test('a young decision without a row stays for a rebuild', async (t) => {
  await client.query('DELETE FROM notifications.notification_log')
  await pruneAll(Date.now() - 60_000)
  t.strictSame(await eventIds('decision'), ['due', 'held', 'old'])
  await pruneAll(Date.now() + 60_000)
  t.strictSame(await eventIds('decision'), [])
})

t.test(
  'no row goes while a copy of its message can be redriven: its member would be told twice',
  async (t) => {
    await client.query(`
    INSERT INTO notifications.rejected_message (topic, partition_id, "offset", value, headers, code, error)
    VALUES ('claims', 0, 1, '{"eventId": "old"}', '{}', 'refused-by-database', 'no')`)
    await client.query('BEGIN')
    t.teardown(() => client.query('ROLLBACK'))
    // As a redrive does that has read the message.
    await client.query('SELECT pg_advisory_xact_lock_shared($1)', [ERASURE_LOCK])
    const pruned = pruneAll(Date.now() + 60_000)
    await until(async () => (await client.query(ADVISORY_LOCK_WAITS)).rowCount === 1, { what: 'it to wait' })
    t.strictSame(await eventIds('notification_log'), ['due', 'held', 'old'])
    await client.query('COMMIT')
    await pruned
    t.equal((await client.query('SELECT FROM notifications.rejected_message')).rowCount, 0)
    t.strictSame(await eventIds('notification_log'), [])
  },
)

t.test('an old rejected message goes, whatever clock the 1,000 before it were rejected by', async (t) => {
  await client.query(`
    INSERT INTO notifications.rejected_message (topic, partition_id, "offset", value, headers, code, error, rejected_at)
    SELECT 'claims', 0, n, '{}', '{}', 'not-json', 'no', now() + CASE WHEN n = 1001 THEN interval '-1 day' ELSE '1 day' END
    FROM generate_series(1, 1001) AS n`)
  await pruneAll(Date.now())
  const { rows } = await client.query(
    'SELECT max("offset")::integer AS last FROM notifications.rejected_message',
  )
  t.strictSame(rows, [{ last: 1_000 }])
})

t.test('a changed checkpoint stays, and its reason goes once it is old', async (t) => {
  await client.query(`
    INSERT INTO notifications.checkpoint_change (topic, partition_id, to_offset, changed_by, because, changed_at)
    VALUES ('claims', 0, 7, 'o', 'CLM-1 was told twice', now() - interval '1 day'), ('claims', 1, 7, 'o', 'young', now())`)
  await pruneAll(Date.now() - 60_000)
  const { rows } = await client.query(
    'SELECT partition_id, because FROM notifications.checkpoint_change ORDER BY partition_id',
  )
  t.strictSame(rows, [
    { partition_id: 0, because: 'pruned' },
    { partition_id: 1, because: 'young' },
  ])
})

t.test('a redrive goes with its message, also if that went before', async (t) => {
  await client.query(`
    TRUNCATE notifications.rejected_message, notifications.redrive;
    INSERT INTO notifications.rejected_message (id, topic, partition_id, "offset", headers, code, error, rejected_at)
      OVERRIDING SYSTEM VALUE
      VALUES (1, 'claims', 0, 1, '{}', 'c', 'e', now() - interval '1 day'), (2, 'claims', 0, 2, '{}', 'c', 'e', now());
    INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, error)
      SELECT n % 3, 'o', 'dismissed', 'party-1 called' FROM generate_series(1, 3003) AS n`)
  const redriven = async () =>
    (
      await client.query(
        'SELECT rejected_message_id::int AS id, count(*)::int FROM notifications.redrive GROUP BY 1',
      )
    ).rows
  const limits = { ...LIMITS, before: new Date(Date.now() - 60_000).toISOString() }
  for await (const _ of prune(pool, limits, null));
  t.equal((await redriven()).length, 3, 'a dry run deletes nothing')
  await pruneAll(Date.now() - 60_000)
  t.strictSame(await redriven(), [{ id: 2, count: 1_001 }])
})
