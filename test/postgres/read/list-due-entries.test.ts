import t from 'tap'
import type { DueEntry } from '../../../src/core/attempt/due-entry.ts'
import { listDueEntries } from '../../../src/postgres/read/list-due-entries.ts'
import { openDatabase } from '../fixtures.ts'
import { record, UNRESOLVED } from '../record.ts'

const { pool, client } = await openDatabase(t)
const LIMITS = { maxAgeMs: 24 * 3_600_000, attemptCountMax: 3, minPauseMs: 55_000 }
await record(
  pool,
  ['a', 'b', 'c'].map((eventId) => ({ eventId, contact: UNRESOLVED })),
)
await client.query(`UPDATE notifications.notification_log SET last_attempt_at = now() - interval '56 s'`)

const idsOf = (entries: readonly DueEntry[]) => entries.map(({ eventId }) => eventId).sort()

t.test('a failed row is due unless it is too old, was tried too often or very recently', async (t) => {
  const change = (set: string) =>
    client.query(`UPDATE notifications.notification_log SET ${set} WHERE event_id = 'a'`)
  for (const [set, isDue] of [
    [`created_at = now() - interval '24 h'`, false],
    [`created_at = now() - interval '23 h 59 min'`, true],
    [`attempt_count = 3`, false],
    [`attempt_count = 2`, true],
    [`last_attempt_at = now() - interval '50 s'`, false],
    [`last_attempt_at = now() - interval '56 s'`, true],
  ] as const) {
    await change(set)
    const { due } = await listDueEntries(pool, LIMITS, null, 500)
    t.same(idsOf(due), isDue ? ['a', 'b', 'c'] : ['b', 'c'], set)
  }
})

t.test('due rows are paged, each once', async (t) => {
  const first = await listDueEntries(pool, LIMITS, null, 2)
  t.not(first.next, null)
  const second = await listDueEntries(pool, LIMITS, first.next, 2)
  t.equal(second.next, null)
  t.same(idsOf([...first.due, ...second.due]), ['a', 'b', 'c'])
  const again = await listDueEntries(pool, LIMITS, null, 500, first.next)
  t.same(idsOf(again.due), idsOf(first.due), 'up to a row, that row included')
  t.equal(again.next, null)
})
