import t from 'tap'
import { CHANNELS } from '../../../src/core/decision/channel.ts'
import type { LogEntry } from '../../../src/core/log/log-entry.ts'
import type { LogFilter, LogPosition } from '../../../src/core/log/log-page.ts'
import { STATUSES } from '../../../src/core/log/status.ts'
import { listLogEntries } from '../../../src/postgres/read/list-log-entries.ts'
import { fillLog } from '../fill-log.ts'
import { LIMITS, openDatabase } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)

/** Reads all pages, from the first to the last. */
async function allPages(filter: LogFilter, limit: number, onPage = async () => {}): Promise<LogEntry[]> {
  const entries: LogEntry[] = []
  let after: LogPosition | null = null
  do {
    const page = await listLogEntries(pool, LIMITS, filter, { limit, after })
    entries.push(...page.items)
    after = page.next
    await onPage()
  } while (after !== null)
  return entries
}

const insert = `
  INSERT INTO notifications.notification_log (
    locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
    sent_at, created_at
  )
  SELECT
    'NTF-' || gen_random_uuid(), $1 || n, CASE WHEN n % 4 > 0 THEN 'party ' || n % 4 END,
    CASE WHEN n % 3 = 0 THEN 'a b' ELSE 'a' END, channel, status, CASE WHEN status <> 'SKIPPED' THEN '' END,
    CASE WHEN status <> 'SKIPPED' THEN '' END, CASE WHEN status <> 'SENT' THEN '' END, 1,
    CASE WHEN status = 'SENT' THEN now() END, $3::timestamptz - n / 100 * interval '1 microsecond'
  FROM (
    SELECT n, (ARRAY['EMAIL', 'SMS', 'IN_APP'])[1 + n % 5 % 3] AS channel,
      (ARRAY['SENT', 'FAILED', 'SKIPPED'])[1 + n % 7 % 3] AS status
    FROM generate_series(1, $2::integer) n
  ) AS number`

t.test('any combination of filters lists exactly the matching rows, newest first', async (t) => {
  await client.query(insert, ['event-', 1_000, '2026-01-31T12:00:00Z'])
  t.teardown(() => client.query('TRUNCATE notifications.notification_log'))
  const all = await allPages({}, 1_000)
  t.equal(all.length, 1_000)
  const places = all.map(({ createdAt, locator }) => `${createdAt} ${locator}`)
  t.same(places, places.toSorted().toReversed())

  const [from, to] = ['2026-01-31T11:59:59.999993Z', '2026-01-31T11:59:59.999997Z']
  for (const partyLocator of [undefined, 'party 1', 'party 1 SENT']) {
    for (const eventType of [undefined, 'a', 'a b']) {
      for (const status of [undefined, ...STATUSES]) {
        for (const channel of [undefined, ...CHANNELS]) {
          for (const times of [{}, { from }, { to }, { from, to }, { from: to, to: from }]) {
            for (const eventId of [undefined, 'event-500']) {
              const filter = { partyLocator, eventType, status, channel, eventId }
              const expected = all.filter(
                (entry) =>
                  entry.createdAt >= (times.from ?? '') &&
                  entry.createdAt < (times.to ?? '9') &&
                  (Object.keys(filter) as (keyof typeof filter)[]).every(
                    (key) => filter[key] === undefined || filter[key] === entry[key],
                  ),
              )
              const found = await allPages({ ...filter, ...times }, 200)
              if (JSON.stringify(found) !== JSON.stringify(expected))
                t.same(found, expected, JSON.stringify({ ...filter, ...times }))
            }
          }
        }
      }
    }
  }
})

t.test('a cursor outside the period of the filter leads to the rows inside it', async (t) => {
  await client.query(insert, ['event-', 1_000, '2026-01-31T12:00:00Z'])
  t.teardown(() => client.query('TRUNCATE notifications.notification_log'))
  const all = await allPages({}, 200)
  const [from, to] = ['2026-01-31T11:59:59.999993Z', '2026-01-31T11:59:59.999997Z']
  const inside = all.filter(({ createdAt }) => createdAt >= from && createdAt < to)
  const listAfter = async (after: LogPosition) =>
    (await listLogEntries(pool, LIMITS, { from, to }, { limit: 1_000, after })).items
  const locator = 'NTF-00000000-0000-0000-0000-000000000000'
  t.same(await listAfter({ createdAt: '2027-01-01T00:00:00.000000Z', locator }), inside)
  t.same(await listAfter({ createdAt: to, locator }), inside)
  t.same(await listAfter({ createdAt: from, locator }), [])
})

t.test('a last page that is exactly full has no next one', async (t) => {
  await client.query(insert, ['event-', 10, '2026-01-31T12:00:00Z'])
  t.teardown(() => client.query('TRUNCATE notifications.notification_log'))
  t.equal((await listLogEntries(pool, LIMITS, {}, { limit: 10, after: null })).next, null)
  t.not((await listLogEntries(pool, LIMITS, {}, { limit: 9, after: null })).next, null)
})

t.test('every row that existed at the start is listed exactly once while others are inserted', async (t) => {
  const [oldCount, newCount, limit] = [20_000, 2_000, 200]
  await fillLog(client, oldCount)
  t.teardown(() => client.query('TRUNCATE notifications.notification_log'))
  const pageCount = oldCount / limit
  let inserted = 0
  // Old and new times alike: a transaction that began long ago may commit only now.
  const insertSome = async () => {
    const count = newCount / pageCount
    const time =
      inserted % 3 === 0 ? '2025-12-31Z' : inserted % 3 === 1 ? '2026-01-01T00:01:40Z' : '2027-01-01Z'
    await client.query(insert, [`new-${inserted}-`, count, time])
    inserted += count
  }
  let underWay = Promise.resolve()
  const onPage = async () => {
    await underWay
    if (inserted < newCount) underWay = insertSome()
  }
  const seen = (await allPages({}, limit, onPage)).map(({ eventId }) => eventId)
  await underWay
  t.equal(inserted, newCount)
  t.equal(new Set(seen).size, seen.length, 'nothing is seen twice')
  t.equal(seen.filter((eventId) => eventId.startsWith('event-')).length, oldCount, 'nothing is missed')
  t.ok(seen.length > oldCount, 'some of the new rows are seen, too')
})
