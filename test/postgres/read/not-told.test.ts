import type { CommonQueryMethods } from 'slonik'
import t from 'tap'
import type { LogFilter } from '../../../src/core/log/log-page.ts'
import { CANDIDATE_COUNT_MAX, listLogEntries } from '../../../src/postgres/read/list-log-entries.ts'
import { aFound } from '../../core/build.ts'
import { eventIdsOfPages, LIMITS, openDatabase } from '../fixtures.ts'
import { record, retryAll, UNRESOLVED } from '../record.ts'

const { pool, client } = await openDatabase(t)
const NOT_TOLD = { notTold: true } as const
const NO_EMAIL = aFound({ email: null })

const change = (assignments: string, eventId: string) =>
  client.query(`UPDATE notifications.notification_log SET ${assignments} WHERE event_id = $1`, [eventId])

/** Event ids from all pages of this size. */
function listed(filter: LogFilter, limit: number, limits = LIMITS): Promise<string[]> {
  return eventIdsOfPages(async (after) => {
    const page = await listLogEntries(pool, limits, filter, { limit, after })
    t.ok(page.items.length <= limit)
    return page
  })
}

t.before(async () => {
  // One by one: rows of one batch have the same time.
  for (const known of [
    { eventId: 'sent' },
    { eventId: 'skipped', contact: NO_EMAIL },
    { eventId: 'waiting', contact: UNRESOLVED },
    { eventId: 'too-often', contact: UNRESOLVED, eventType: 'invoice.paid' },
    { eventId: 'no-party', partyLocator: null },
  ]) {
    await record(pool, [known])
  }
  await record(pool, [{ eventId: 'too-old', contact: UNRESOLVED }])
  await change('attempt_count = 3', 'too-often')
  await change(`created_at = created_at - interval '25 h'`, 'too-old')
})

t.test('skipped and given-up entries are listed once, newest first, whatever the page size', async (t) => {
  for (const limit of [1, 2, 100]) {
    t.same(
      await listed(NOT_TOLD, limit),
      ['no-party', 'too-often', 'skipped', 'too-old'],
      `pages of ${limit}`,
    )
  }
})

t.test('the limits of the retry decide which entries are given up', async (t) => {
  t.notOk((await listed(NOT_TOLD, 10, { ...LIMITS, attemptCountMax: 4 })).includes('too-often'))
  t.notOk((await listed(NOT_TOLD, 10, { ...LIMITS, maxAgeMs: 26 * 3_600_000 })).includes('too-old'))
  t.ok((await listed(NOT_TOLD, 10, { ...LIMITS, attemptCountMax: 0 })).includes('waiting'))
})

t.test('event type, rule and time narrow the list', async (t) => {
  t.same(await listed({ ...NOT_TOLD, eventType: 'invoice.paid' }, 10), ['too-often'])
  t.same(await listed({ ...NOT_TOLD, rule: 'no-email' }, 1), ['skipped'])
  t.same(await listed({ ...NOT_TOLD, rule: 'no-email', eventType: 'invoice.paid' }, 10), [])
  t.same(await listed({ ...NOT_TOLD, status: 'FAILED' }, 10), ['too-often', 'too-old'])
  t.same(await listed({ ...NOT_TOLD, reason: 'no party locator' }, 1), ['no-party'])
  t.same(await listed({ ...NOT_TOLD, reason: 'contact could not be resolved' }, 1), ['too-often', 'too-old'])
  const { rows } = await client.query(
    `SELECT created_at FROM notifications.notification_log WHERE event_id = 'skipped'`,
  )
  t.same(await listed({ ...NOT_TOLD, from: rows[0].created_at.toISOString() }, 10), [
    'no-party',
    'too-often',
    'skipped',
  ])
})

t.test('a row counts by its last attempt', async (t) => {
  await record(pool, [{ eventId: 'retried', contact: UNRESOLVED }])
  await client.query(
    `UPDATE notifications.notification_log SET created_at = now() WHERE event_id = 'retried'`,
  )
  await retryAll(pool, NO_EMAIL)
  const { items } = await listLogEntries(pool, LIMITS, NOT_TOLD, { limit: 1, after: null })
  t.match(items, [{ eventId: 'retried', status: 'SKIPPED' }])
})

t.test('rows logged while a page is read neither hide nor repeat an entry', async (t) => {
  await record(pool, [{ eventId: 'edge', contact: NO_EMAIL }])
  const logWaiting = (first: number, last: number) =>
    client.query(
      `INSERT INTO notifications.notification_log (
        locator, event_id, event_type, channel, status, subject, body, failure_reason, attempt_count, created_at
      )
      SELECT 'NTF-' || i, 'waiting-' || i, 'claim.paid', 'EMAIL', 'FAILED', '', '', 'unresolved', 0, clock_timestamp()
      FROM generate_series($1::integer, $2::integer) AS i`,
      [first, last],
    )
  // The last row that a page looks at is the one that is asked for.
  await logWaiting(1, CANDIDATE_COUNT_MAX - 1)
  const busy = <Methods extends CommonQueryMethods>(methods: Methods): Methods =>
    new Proxy(methods, {
      get: (_, name) => {
        const method = Reflect.get(methods, name)
        if (name === 'transaction') {
          return (run: (tx: CommonQueryMethods) => unknown) =>
            methods.transaction(async (tx) => run(busy(tx)))
        }
        if (typeof method !== 'function') return method
        return async (...args: unknown[]) => {
          const found = await Reflect.apply(method, methods, args)
          if (name === 'any') await logWaiting(CANDIDATE_COUNT_MAX, CANDIDATE_COUNT_MAX + 9)
          return found
        }
      },
    })
  const filter = { ...NOT_TOLD, rule: 'no-email' }
  const { items, next } = await listLogEntries(busy(pool), LIMITS, filter, { limit: 1, after: null })
  const later = await listLogEntries(pool, LIMITS, filter, { limit: 1, after: next })
  t.match(items, [{ eventId: 'edge' }])
  t.notMatch(later.items, [{ eventId: 'edge' }])
})

t.test('entries are found by their claim, policy or invoice, sent or not', async (t) => {
  const about = await listed({ reference: 'CLM-1' }, 2)
  t.ok(['sent', 'skipped', 'waiting', 'no-party'].every((eventId) => about.includes(eventId)))
  t.same(await listed({ reference: 'CLM-1', status: 'SENT' }, 2), ['sent'])
  t.notOk((await listed({ reference: 'CLM-1', ...NOT_TOLD }, 2)).includes('sent'))
  t.same(await listed({ reference: 'CLM-2' }, 50), [])
})
