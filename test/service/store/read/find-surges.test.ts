import t from 'tap'
import { judgeSurges } from '../../../../src/service/app/judge-surges.ts'
import { findSurges } from '../../../../src/service/store/read/find-surges.ts'
import { openDatabase } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)

/** Messages about a type within some minutes, so many minutes ago. */
const send = (eventType: string, count: number, minutesAgo: number, status = 'SENT') =>
  client.query(
    `INSERT INTO notifications.notification_log (locator, event_id, event_type, channel, status, subject, body, failure_reason, attempt_count, sent_at, created_at)
    SELECT 'NTF-' || gen_random_uuid(), gen_random_uuid(), $1, 'EMAIL', $4, s, s, r, CASE WHEN s IS NULL THEN 0 ELSE 1 END, CASE WHEN s IS NULL THEN NULL ELSE now() END,
      now() - $3 * interval '1 minute' - n * interval '0.1 second'
    FROM generate_series(1, $2::integer) AS n,
      (SELECT CASE WHEN $4 = 'SENT' THEN 'x' END AS s, CASE WHEN $4 <> 'SENT' THEN 'muted' END AS r) AS texts`,
    [eventType, count, minutesAgo, status],
  )
const DAY = 24 * 60
const found = async (rowCountMax?: number) =>
  (await findSurges(pool, rowCountMax)).map(({ eventType, count, usual }) => [eventType, count, usual])

t.test('a log of its first day has no surge', async (t) => {
  await send('claim.paid', 900, 5)
  t.strictSame(await found(), [])
})

t.test('far more than at the same hour of each of the last seven days is a surge', async (t) => {
  await send('policy.issued', 1, 2 * DAY)
  t.strictSame(await found(), [['claim.paid', 900, 0]], 'a type that was never sent')
  await send('claim.paid', 299, 3 * DAY + 5)
  await send('claim.paid', 900, 3 * DAY + 5, 'SKIPPED')
  await send('claim.paid', 900, 3 * DAY + 90)
  await send('claim.paid', 900, 8 * DAY + 5)
  t.strictSame(
    await found(),
    [['claim.paid', 900, 299]],
    'what was skipped, earlier that day or a week before',
  )
  await send('policy.renewed', 499, 5)
  t.strictSame(await found(), [['claim.paid', 900, 299]], 'a handful is none')
  await send('claim.paid', 1, 3 * DAY + 5)
  t.strictSame(await found(), [], 'three times as many is none')
})

t.test('where an hour has too many, the newest are compared with the same minutes', async (t) => {
  await send('invoice.paid', 600, 1)
  await send('invoice.paid', 600, DAY + 30)
  t.strictSame(await found(), [], 'by the hour it is none')
  const [surge] = await findSurges(pool, 600)
  t.match(surge, { eventType: 'invoice.paid', count: 600, usual: 0 })
})

t.test('the notice names the type, the hold and the entries', async (t) => {
  const surge = { eventType: 'claim.paid', count: 900, usual: 2, from: '2026-01-31T12:00:00.000000Z' }
  const notice = judgeSurges([surge, { ...surge, eventType: 'other' }])
  t.match(notice, { text: /900 messages about claim\.paid .* at most 2 .* 1 other type$/, remedy: /hold/ })
  t.strictSame(notice?.entries, { eventType: 'claim.paid', status: 'SENT', from: surge.from })
  t.equal(judgeSurges([]), null)
})
