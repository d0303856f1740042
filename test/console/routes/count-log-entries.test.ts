import t from 'tap'
import { countLogEntries } from '../../../src/console/routes/count-log-entries.ts'
import { OPTED_OUT } from '../../service/build.ts'
import { LIMITS, openDatabase } from '../../service/store/fixtures.ts'
import { record, UNRESOLVED } from '../../service/store/record.ts'

const sumOf = (counts: readonly { readonly count: number }[]) =>
  counts.reduce((sum, { count }) => sum + count, 0)

t.test('entries are counted by step and status', async (t) => {
  const { pool, client } = await openDatabase(t)
  t.match(await countLogEntries(pool, LIMITS, '30d'), { counts: [], complete: true })
  await record(pool, [
    { eventId: 'sent-1' },
    { eventId: 'sent-2' },
    { eventId: 'sent-3' },
    { eventId: 'skipped', preferences: OPTED_OUT },
    { eventId: 'failed', contact: UNRESOLVED },
  ])
  await client.query(
    `UPDATE notifications.notification_log SET created_at = now() - interval '2 minutes' WHERE event_id = 'sent-2'`,
  )
  await client.query(
    `UPDATE notifications.notification_log SET created_at = now() - interval '2 hours' WHERE event_id = 'sent-3'`,
  )
  const { counts, fromS, toS, stepS, complete } = await countLogEntries(pool, LIMITS, '1h')
  t.equal(stepS, 60)
  t.equal(Math.round(toS - fromS), 3_600)
  t.equal(complete, true)
  for (const { startS } of counts) t.equal(startS % stepS, 0)
  t.ok(counts.every(({ startS }) => startS > fromS - stepS && startS <= toS))
  const [first, ...rest] = counts.map(({ startS: _, ...count }) => count)
  t.strictSame(first, { status: 'SENT', count: 1, givenUp: 0 }, 'the oldest one first')
  t.strictSame(
    rest.toSorted((a, b) => (a.status < b.status ? -1 : 1)),
    [
      { status: 'FAILED', count: 1, givenUp: 0 },
      { status: 'SENT', count: 1, givenUp: 0 },
      { status: 'SKIPPED', count: 1, givenUp: 0 },
    ],
  )
  await client.query(`UPDATE notifications.notification_log SET attempt_count = 3 WHERE event_id = 'failed'`)
  const { counts: later } = await countLogEntries(pool, LIMITS, '1h')
  t.strictSame(
    later.filter(({ givenUp }) => givenUp > 0).map(({ status, givenUp }) => [status, givenUp]),
    [['FAILED', 1]],
  )
  const day = await countLogEntries(pool, LIMITS, '24h')
  t.equal(sumOf(day.counts), 5)
})

t.test('only the newest entries of a large log are counted, with the time since when', async (t) => {
  const { pool, client } = await openDatabase(t)
  await record(
    pool,
    Array.from({ length: 20 }, (_, i) => ({
      eventId: `event-${i}`,
      ...(i % 2 === 0 ? { preferences: OPTED_OUT } : {}),
    })),
  )
  await client.query(`
    UPDATE notifications.notification_log
    SET created_at = date_trunc('second', now()) - substr(event_id, 7)::integer * interval '1 minute'`)
  const { counts, fromS, toS, complete } = await countLogEntries(pool, LIMITS, '1h', 10)
  t.equal(complete, false)
  const minutes = Math.floor((toS - fromS) / 60)
  t.equal(minutes, 10)
  t.equal(sumOf(counts), 11)
  t.match(await countLogEntries(pool, LIMITS, '1h', 20), { complete: true })
})
