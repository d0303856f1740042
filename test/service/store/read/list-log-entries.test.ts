import type { CommonQueryMethods } from 'slonik'
import t from 'tap'
import { CHANNELS } from '../../../../src/service/decide/party/channel.ts'
import type { DecidedRow } from '../../../../src/service/model/log/log-entry.ts'
import type { LogFilter } from '../../../../src/service/model/log/log-filters.ts'
import type { LogPosition } from '../../../../src/service/model/log/log-page.ts'
import { STATUSES } from '../../../../src/service/model/log/status.ts'
import { CANDIDATE_COUNT_MAX, listLogEntries } from '../../../../src/service/store/read/list-log-entries.ts'
import { fillLog } from '../fill-log.ts'
import { openDatabase } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)
const LIMITS = { maxAgeMs: 3e12, attemptCountMax: 3 }
const NOON = '2026-01-31T12:00:00Z'

t.afterEach(() => client.query('TRUNCATE notifications.notification_log, notifications.decision'))

/** Reads all pages, from the first to the last. */
async function allPages(filter: LogFilter, limit: number, onPage = async () => {}): Promise<DecidedRow[]> {
  const entries: DecidedRow[] = []
  let after: LogPosition | null = null
  do {
    const page = await listLogEntries(pool, LIMITS, filter, { limit, after })
    t.ok(page.items.length <= limit)
    entries.push(...page.items)
    after = page.next
    await onPage()
  } while (after !== null)
  return entries
}

/** Rows with every combination of values; a hundred at a time share their creation time. */
const insert = (prefix: string, count: number, time = NOON) =>
  client.query(
    `INSERT INTO notifications.notification_log (
      locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
      sent_at, created_at
    )
    SELECT
      'NTF-' || gen_random_uuid(), $1 || n, CASE WHEN n % 4 > 0 THEN 'party ' || n % 4 END,
      CASE WHEN n % 3 = 0 THEN 'a b' ELSE 'a' END, channel, status, CASE WHEN status <> 'SKIPPED' THEN '' END,
      CASE WHEN status <> 'SKIPPED' THEN '' END,
      CASE WHEN status <> 'SENT' THEN (ARRAY['late', 'late: by days', 'later'])[1 + n % 3] END, greatest(n % 5, (status = 'SENT')::integer),
      CASE WHEN status = 'SENT' THEN now() END, $3::timestamptz - n / 100 * interval '1 microsecond'
    FROM (
      SELECT n, (ARRAY['EMAIL', 'SMS', 'IN_APP'])[1 + n % 5 % 3] AS channel,
        (ARRAY['SENT', 'FAILED', 'SKIPPED'])[1 + n % 7 % 3] AS status
      FROM generate_series(1, $2::integer) n
    ) AS number`,
    [prefix, count, time],
  )

/** Two decisions for each row: the first by another rule. */
const insertDecisions = () =>
  client.query(`
    INSERT INTO notifications.decision (locator, attempt, event_id, event_type, outcome, channel, rule_id, facts, variables,
      rule_table_revision, topic, partition_id, "offset", request_id)
    SELECT locator, attempt, event_id, event_type, 'FAIL', channel,
      CASE attempt WHEN 0 THEN 'first' ELSE 'rule-' || attempt_count % 2 END, '{}',
      jsonb_build_object('locator', 'CLM-' || attempt_count), 'x', 'claims', 0, 0, CASE attempt WHEN 0 THEN attempt_count END
    FROM notifications.notification_log, generate_series(0, 1) AS attempt`)

/** True if an entry is one of the filter's. */
function isListed(entry: DecidedRow, filter: LogFilter): boolean {
  const { from = '', to = '9', reason, reasonPrefix, rule, reference, request, notTold, ...equal } = filter
  const { createdAt, failureReason, attemptCount, status } = entry
  return (
    createdAt >= from &&
    createdAt < to &&
    (reason === undefined || failureReason === reason || failureReason?.startsWith(`${reason}:`) === true) &&
    (reasonPrefix === undefined || failureReason?.startsWith(reasonPrefix) === true) &&
    (rule === undefined || rule === `rule-${attemptCount % 2}`) &&
    (request === undefined || Number(request) === attemptCount) &&
    (reference === undefined || reference === `CLM-${attemptCount}`) &&
    (!notTold || status === 'SKIPPED' || (status === 'FAILED' && attemptCount >= 3)) &&
    Object.entries(equal).every(
      ([key, value]) => value === undefined || value === entry[key as keyof typeof equal],
    )
  )
}

const byLocator = (a: DecidedRow, b: DecidedRow) => (a.locator < b.locator ? 1 : -1)

t.test('any combination of filters lists exactly the matching rows, newest first', async (t) => {
  await insert('event-', 1_000)
  await insertDecisions()
  const all = await allPages({}, 200)
  t.equal(all.length, 1_000)
  const places = all.map(({ createdAt, locator }) => `${createdAt} ${locator}`)
  t.strictSame(places, places.toSorted().toReversed())
  for (const { givenUp, status, attemptCount } of all)
    if (givenUp !== (status === 'FAILED' && attemptCount >= 3)) t.fail(`${status} ${attemptCount}`)

  const [from, to] = ['2026-01-31T11:59:59.999993Z', '2026-01-31T11:59:59.999997Z']
  const values: Readonly<Record<string, readonly unknown[]>> = {
    partyLocator: [undefined, 'party 1', 'nobody'],
    eventType: [undefined, 'a', 'a b'],
    status: [undefined, ...STATUSES],
    channel: [undefined, ...CHANNELS],
    period: [{}, { from }, { to }, { from, to }, { from: to, to: from }],
    other: [
      {},
      { eventId: 'event-500' },
      { reason: 'late' },
      { reason: 'late: by days' },
      { reasonPrefix: 'late' },
      { reasonPrefix: 'ate' },
      { rule: 'rule-1' },
      { rule: 'first' },
      { reference: 'CLM-2' },
      { request: '2' },
      { notTold: true },
      { notTold: true, reason: 'later', rule: 'rule-0' },
    ],
  }
  const filters = Object.entries(values).reduce<LogFilter[]>(
    (some, [name, each]) =>
      some.flatMap((filter) =>
        each.map((value) =>
          typeof value === 'object' ? { ...filter, ...value } : { ...filter, [name]: value },
        ),
      ),
    [{}],
  )
  for (const [i, filter] of filters.entries()) {
    // Seven shares no factor with the numbers of values.
    if (i % 7 !== 0) continue
    const found = await allPages(filter, i % 5 === 0 ? 7 : 200)
    const matching = all.filter((entry) => isListed(entry, filter))
    const isByDecision = filter.eventId === undefined && (filter.reference ?? filter.request) !== undefined
    const expected = isByDecision ? matching.toSorted(byLocator) : matching
    t.strictSame(found, expected, JSON.stringify(filter))
  }
})

t.test('a cursor outside the period of the filter leads to the rows inside it', async (t) => {
  await insert('event-', 1_000)
  const all = await allPages({}, 200)
  const [from, to] = ['2026-01-31T11:59:59.999993Z', '2026-01-31T11:59:59.999997Z']
  const inside = all.filter((entry) => isListed(entry, { from, to }))
  const listAfter = async (createdAt: string) =>
    (
      await listLogEntries(
        pool,
        LIMITS,
        { from, to },
        { limit: 1_000, after: { createdAt, locator: 'NTF-0' } },
      )
    ).items
  t.strictSame(await listAfter('2027-01-01T00:00:00.000000Z'), inside)
  t.strictSame(await listAfter(to), inside)
  t.strictSame(await listAfter(from), [])
})

t.test('the limits of the retry decide which entries are given up', async (t) => {
  await client.query(`
    INSERT INTO notifications.notification_log (
      locator, event_id, event_type, channel, status, subject, body, failure_reason, attempt_count, created_at
    )
    SELECT 'NTF-' || n, n, 'claim.paid', 'EMAIL', 'FAILED', '', '', 'x', n, now() - n * interval '10 h'
    FROM generate_series(1, 3) AS n`)
  const notTold = async (limits: Partial<typeof LIMITS>) => {
    const page = { limit: 10, after: null }
    const { items } = await listLogEntries(pool, { ...LIMITS, ...limits }, { notTold: true }, page)
    return items.map(({ eventId }) => eventId)
  }
  t.strictSame(await notTold({}), ['3'])
  t.strictSame(await notTold({ attemptCountMax: 4 }), [])
  t.strictSame(await notTold({ maxAgeMs: 15 * 3_600_000 }), ['2', '3'])
})

t.test('rows logged while a page is read neither hide nor repeat an entry', async (t) => {
  const log = (from: string, to: string, status = 'FAILED') =>
    client.query(
      `INSERT INTO notifications.notification_log (
        locator, event_id, event_type, channel, status, subject, body, failure_reason, attempt_count, created_at
      )
      SELECT 'NTF-' || i, i, 'claim.paid', 'EMAIL', $3, CASE $3 WHEN 'FAILED' THEN '' END, CASE $3 WHEN 'FAILED' THEN '' END,
        'x', 0, clock_timestamp()
      FROM generate_series($1::integer, $2::integer) AS i`,
      [from, to, status],
    )
  await log('0', '0', 'SKIPPED')
  // The last row that a page looks at is the one that the filter asks for.
  await log('1', String(CANDIDATE_COUNT_MAX - 1))
  const busy = <Methods extends CommonQueryMethods>(methods: Methods): Methods =>
    Object.assign(Object.create(methods), {
      transaction: (run: (tx: CommonQueryMethods) => unknown) =>
        methods.transaction(async (tx) => run(busy(tx))),
      any: async (...args: Parameters<Methods['any']>) => {
        const found = await Reflect.apply(methods.any, methods, args)
        await log(String(CANDIDATE_COUNT_MAX), String(CANDIDATE_COUNT_MAX + 9))
        return found
      },
    })
  const first = await listLogEntries(busy(pool), LIMITS, { notTold: true }, { limit: 1, after: null })
  const second = await listLogEntries(pool, LIMITS, { notTold: true }, { limit: 1, after: first.next })
  t.match([first.items, second.items], [[{ eventId: '0' }], []])
})

t.test('every row that existed at the start is listed exactly once while others are inserted', async (t) => {
  const [oldCount, newCount, limit] = [20_000, 2_000, 200]
  await fillLog(client, oldCount)
  let inserted = 0
  // Old and new times alike: a transaction that began long ago may commit only now.
  const TIMES = ['2025-12-31Z', '2026-01-01T00:01:40Z', '2027-01-01Z']
  const onPage = async () => {
    if (inserted >= newCount) return
    const count = (newCount * limit) / oldCount
    await insert(`new-${inserted}-`, count, TIMES[inserted % TIMES.length])
    inserted += count
  }
  const seen = (await allPages({}, limit, onPage)).map(({ eventId }) => eventId)
  t.equal(inserted, newCount)
  t.equal(new Set(seen).size, seen.length, 'nothing is seen twice')
  t.equal(seen.filter((eventId) => eventId.startsWith('event-')).length, oldCount, 'nothing is missed')
  t.ok(seen.length > oldCount, 'some of the new rows are seen, too')
})
