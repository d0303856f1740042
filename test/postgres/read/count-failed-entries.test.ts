import t from 'tap'
import { countFailedEntries } from '../../../src/postgres/read/count-failed-entries.ts'
import { LIMITS, openDatabase } from '../fixtures.ts'
import { record, UNRESOLVED } from '../record.ts'

const { pool, client } = await openDatabase(t)
const change = (assignments: string, eventId: string) =>
  client.query(`UPDATE notifications.notification_log SET ${assignments} WHERE event_id = $1`, [eventId])

t.test('a failed row waits until it is too old or was tried too often', async (t) => {
  await record(pool, [{ eventId: 'sent' }, { eventId: 'skipped', contact: { state: 'not found' } }])
  t.same(await countFailedEntries(pool, LIMITS), { waiting: 0, givenUp: 0 })
  await record(pool, [
    { eventId: 'new', contact: UNRESOLVED },
    { eventId: 'tried', contact: UNRESOLVED },
    { eventId: 'tried-out', contact: UNRESOLVED },
    { eventId: 'old-enough', contact: UNRESOLVED },
    { eventId: 'too-old', contact: UNRESOLVED },
    { eventId: 'refused', sendError: 'no mailbox' },
  ])
  await change('attempt_count = 2', 'tried')
  await change('attempt_count = 3', 'tried-out')
  await change(`created_at = now() - interval '23 h 59 min'`, 'old-enough')
  await change(`created_at = now() - interval '24 h 1 min'`, 'too-old')
  t.same(await countFailedEntries(pool, LIMITS), { waiting: 4, givenUp: 2 })
  t.same(await countFailedEntries(pool, { ...LIMITS, attemptCountMax: 0 }), { waiting: 0, givenUp: 6 })
})

t.test('only the newest 100,000 failed rows are counted', async (t) => {
  await client.query(`
    INSERT INTO notifications.notification_log (locator, event_id, event_type, channel, status, subject, body,
      failure_reason, attempt_count, created_at)
    SELECT 'NTF-' || n, 'bulk-' || n, 'claim.paid', 'EMAIL', 'FAILED', 's', 'b', 'r', 0, now() - interval '30 days'
    FROM generate_series(1, 100000) AS n`)
  t.same(await countFailedEntries(pool, LIMITS), { waiting: 4, givenUp: 99_996 })
})
