import { sql } from 'slonik'
import t from 'tap'
import { beginPruning, prune } from '../../../src/operations/prune/prune-rows.ts'
import type { DatabasePool } from '../../../src/service/store/connection/pool.ts'
import { LIMITS, openDatabase } from '../../service/store/fixtures.ts'
import { record } from '../../service/store/record.ts'

const { pool, client } = await openDatabase(t)

/** Prunes what is older than `before`; `meanwhile` runs whenever a page of rows has been read. */
async function pruneAll(before: number, meanwhile = async (): Promise<unknown> => null): Promise<void> {
  const limits = { ...LIMITS, before: new Date(before).toISOString() }
  const any: DatabasePool['any'] = async (query) => {
    const rows = await pool.any(query)
    await meanwhile()
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
  t.same(await eventIds('notification_log'), ['due', 'held'])
  t.same(await eventIds('decision'), ['due', 'held'])
})

t.test('a young decision without a row stays for a rebuild', async (t) => {
  await client.query('DELETE FROM notifications.notification_log')
  await pruneAll(Date.now() - 60_000)
  t.same(await eventIds('decision'), ['due', 'held', 'old'])
  await pruneAll(Date.now() + 60_000)
  t.same(await eventIds('decision'), [])
})
