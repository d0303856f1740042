import t from 'tap'
import { previewRequest } from '../../../src/operations/requests/preview-request.ts'
import { loadEnvelopeMaps } from '../../../src/service/decide/event/envelope-map.ts'
import { openDatabase } from '../../service/store/fixtures.ts'
import { record, UNRESOLVED } from '../../service/store/record.ts'

const { pool, client } = await openDatabase(t)
const target = { filter: { upTo: '999999999999999' } }
const FIELDS = { partyLocator: '/partyLocator', locator: '/payload/locator', reason: '/payload/reason' }
const preview = (kind: 'redrive' | 'dismiss', maps: object = {}) =>
  previewRequest(
    pool,
    { maxAgeMs: 1, attemptCountMax: 1 },
    { kind, target },
    loadEnvelopeMaps(JSON.stringify({ ...FIELDS, ...maps })),
  )
const READS = 'rules/envelope.json reads it now'

t.before(async () => {
  await record(pool, [{ eventId: 'logged' }])
  await client.query(`
    INSERT INTO notifications.rejected_message (topic, partition_id, "offset", headers, value, code, error, erased_at, erased_sha256)
    SELECT 'claims', 0, 1000 + row_number() OVER (), '{}', CASE WHEN NOT is_erased THEN value::bytea END, code, 'error',
      CASE WHEN is_erased THEN now() END, CASE WHEN is_erased THEN sha256('') END
    FROM (VALUES
      ('event-id', '{"id":"a","eventType":"claim.paid"}', false), ('event-id', '{"id":"b","eventType":"claim.paid"}', false),
      ('event-id', '{"eventType":"claim.paid"}', false), ('not-json', 'no JSON', false), ('event-id', '', true),
      ('too-large', '{', false), ('conflict', '{"eventId":"logged","eventType":"policy.void"}', false),
      ('refused-by-database', '{"eventId":"c","eventType":"claim.paid"}', false)
    ) AS message (code, value, is_erased)`)
})

t.test('the preview of a redrive says how many today reads, and why the others get no row', async (t) => {
  const byReason = async (maps?: object) => {
    const { count, groups } = await preview('redrive', maps)
    t.equal(count, 8)
    return groups.map(({ reason, count, isUnchanged }) => [isUnchanged ? '-' : '+', count, reason].join(' '))
  }
  const others = [
    /^- 1 still rejected: the value is not valid JSON$/,
    /^- 1 it was erased$/,
    /^- 1 only the first bytes of its value are kept/,
    /^- 1 still rejected: the eventId has the row of another message, which has another event type/,
    /^\+ 1 if the database takes its row now$/,
  ]
  t.match(await byReason(), [/^- 3 still rejected: eventId is missing$/, ...others])
  t.match(await byReason({ eventId: ['/eventId', '/id'] }), [
    `+ 2 ${READS}`,
    /^- 1 still rejected: eventId .*is missing$/,
    ...others,
  ])
})

t.test('the preview of a retry tells causes apart, each with the filter that finds them', async (t) => {
  // The newest entries are looked at first.
  const errors = [...Array.from({ length: 40 }, (_, i) => `mailbox ${i}`), 'HTTP 500', 'HTTP 500', 'no JSON']
  await record(
    pool,
    errors.map((error, i) => ({ eventId: `f-${i}`, contact: { ...UNRESOLVED, error } })),
  )
  const { groups } = await previewRequest(
    pool,
    { maxAgeMs: 1, attemptCountMax: 1 },
    { kind: 'retry', target: { filter: { to: '9999-01-01T00:00:00.000000Z' } } },
    loadEnvelopeMaps(JSON.stringify({ ...FIELDS })),
  )
  const counts = new Map(groups.map(({ reasonPrefix, count }) => [reasonPrefix, count]))
  t.equal(counts.get('contact could not be resolved: HTTP 500'), 2)
  t.equal(counts.get('contact could not be resolved: no JSON'), 1)
  t.equal(counts.size, 21, 'the rest is one group')
  t.equal(
    [...counts.values()].reduce((sum, count) => sum + count, 0),
    errors.length,
  )
})

t.test('the preview of a retry tells apart what stays unchanged, and how old the rest is', async (t) => {
  const sent = { eventId: 'sent' }
  const failed = (eventId: string) => ({ eventId, contact: UNRESOLVED })
  const locators = await record(pool, [sent, failed('new'), failed('old')])
  await client.query(
    `UPDATE notifications.notification_log SET created_at = created_at - interval '3 days' WHERE event_id = 'old'`,
  )
  const wanted = { kind: 'retry', target: { locators } } as const
  const { count, ages, groups } = await previewRequest(
    pool,
    { maxAgeMs: 1, attemptCountMax: 1 },
    wanted,
    loadEnvelopeMaps(JSON.stringify(FIELDS)),
  )
  t.strictSame([count, ages], [3, { day: 1, week: 1, older: 0 }])
  t.match(groups, [
    { count: 2, isUnchanged: false },
    { count: 1, isUnchanged: true },
  ])
})

t.test('only what may succeed has an age, and a dismissal has none', async (t) => {
  await client.query(
    `UPDATE notifications.rejected_message SET rejected_at = now() - interval '40 days' WHERE code = 'refused-by-database'`,
  )
  t.match((await preview('redrive')).ages, { day: 0, week: 0, older: 1 })
  const dismissed = await preview('dismiss')
  t.equal(dismissed.ages, undefined)
  t.match(dismissed, { count: 8, groups: [{ reason: 'event-id', count: 4, isUnchanged: false }] })
})

t.test('a preview of a redrive reads a bounded number of messages', async (t) => {
  await client.query(`
    INSERT INTO notifications.rejected_message (topic, partition_id, "offset", headers, value, code, error)
    SELECT 'claims', 1, n, '{}', 'x', 'not-json', 'error' FROM generate_series(1, 2100) AS n`)
  t.match(await preview('redrive'), { count: 2_000, isMore: true })
})
