import t from 'tap'
import type { RetryEntry } from '../../../../src/service/decide/attempt/retry-entry.ts'
import { RETRY_MIN_PAUSE_MS } from '../../../../src/service/decide/attempt/retry-pause.ts'
import { countFailedEntries } from '../../../../src/service/store/read/count-failed-entries.ts'
import { listDueEntries } from '../../../../src/service/store/read/list-due-entries.ts'
import { LIMITS, openDatabase } from '../fixtures.ts'
import { record, UNRESOLVED } from '../record.ts'

const { pool, client } = await openDatabase(t)
const DUE = { ...LIMITS, minPauseMs: RETRY_MIN_PAUSE_MS }
await record(
  pool,
  ['a', 'b', 'c'].map((eventId) => ({ eventId, contact: UNRESOLVED })),
)
const triedAgo = (ms: number) => `last_attempt_at = now() - interval '${ms} ms'`
const LONG_AGO = triedAgo(RETRY_MIN_PAUSE_MS + 1_000)
await client.query(`UPDATE notifications.notification_log SET ${LONG_AGO}`)

const change = (assignments: string, eventId: string) =>
  client.query(`UPDATE notifications.notification_log SET ${assignments} WHERE event_id = $1`, [eventId])

const idsOf = (entries: readonly RetryEntry[]) => entries.map(({ eventId }) => eventId).sort()

t.test('a failed row is due unless it is too old, was tried too often or very recently', async (t) => {
  for (const [set, isDue] of [
    [`created_at = now() - interval '24 h'`, false],
    [`created_at = now() - interval '23 h 59 min'`, true],
    [`attempt_count = 3`, false],
    [`attempt_count = 2`, true],
    [triedAgo(RETRY_MIN_PAUSE_MS - 15_000), false],
    [LONG_AGO, true],
  ] as const) {
    await change(set, 'a')
    const { due } = await listDueEntries(pool, DUE, null, 500)
    t.strictSame(idsOf(due), isDue ? ['a', 'b', 'c'] : ['b', 'c'], set)
  }
})

t.test('due rows are paged, each once', async (t) => {
  const first = await listDueEntries(pool, DUE, null, 2)
  t.not(first.next, null)
  const second = await listDueEntries(pool, DUE, first.next, 2)
  t.equal(second.next, null)
  t.strictSame(idsOf([...first.due, ...second.due]), ['a', 'b', 'c'])
  const again = await listDueEntries(pool, DUE, null, 500, first.next)
  t.strictSame(idsOf(again.due), idsOf(first.due), 'up to a row, that row included')
  t.equal(again.next, null)
})

t.test('a failed row waits until it is too old or was tried too often', async (t) => {
  await client.query('TRUNCATE notifications.notification_log, notifications.decision')
  await record(pool, [{ eventId: 'sent' }, { eventId: 'skipped', contact: { state: 'not found' } }])
  t.strictSame(await countFailedEntries(pool, LIMITS), { waiting: 0, givenUp: 0, expired: 0 })
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
  t.strictSame(await countFailedEntries(pool, LIMITS), { waiting: 4, givenUp: 2, expired: 1 })
  t.strictSame(await countFailedEntries(pool, { ...LIMITS, attemptCountMax: 0 }), {
    waiting: 0,
    givenUp: 6,
    expired: 0,
  })
})

t.test('a retry that succeeds, and rows that are given up long ago, change no other count', async (t) => {
  await client.query(`
    INSERT INTO notifications.notification_log (locator, event_id, event_type, channel, status, subject, body,
      failure_reason, attempt_count, created_at)
    SELECT 'NTF-' || n, 'bulk-' || n, 'claim.paid', 'EMAIL', 'FAILED', 's', 'b', 'r', 0, now() - interval '30 days'
    FROM generate_series(1, 100000) AS n`)
  t.strictSame(await countFailedEntries(pool, LIMITS), { waiting: 4, givenUp: 100_001, expired: 1 })
  await change(`status = 'SENT', sent_at = now(), failure_reason = NULL, attempt_count = 3`, 'tried')
  t.strictSame(await countFailedEntries(pool, LIMITS), { waiting: 3, givenUp: 100_001, expired: 1 })
  await change(`created_at = now() - interval '24 h 59 min'`, 'new')
  t.match(await countFailedEntries(pool, LIMITS), { waiting: 2, expired: 2 })
  await change(`created_at = now() - interval '25 h 1 min'`, 'new')
  t.match(await countFailedEntries(pool, LIMITS), { waiting: 2, expired: 1 })
})
