import t from 'tap'
import { countEvents, pageQuery } from '../../../src/authoring/traffic/count-events.ts'
import { formatTraffic } from '../../../src/authoring/traffic/traffic-sheet.ts'
import { openDatabase, planOf } from '../../service/store/fixtures.ts'
import { type Known, record, retryAll, UNRESOLVED } from '../../service/store/record.ts'

const { pool, client } = await openDatabase(t)
const DAY_MS = 86_400_000
const named = (name: string, count: number, known: Partial<Known> = {}): Known[] =>
  Array.from({ length: count }, (_, i) => ({ eventId: `${name}-${i}`, ...known }))

await record(pool, named('retried', 2, { contact: UNRESOLVED }))
await retryAll(pool)
await record(pool, [
  ...named('sent', 12),
  ...named('unnamed', 10, { partyLocator: null }),
  ...named('rare', 9, { eventType: 'invoice.paid' }),
  ...named('foreign', 11, { eventType: 'claim.approved' }),
])
await client.query(
  `UPDATE notifications.decision SET facts = facts || '{"preferredChannel": "LETTER"}' WHERE event_type = 'claim.approved'`,
)
/** When they were decided, by the database: midnight may pass meanwhile. */
const [decided] = (
  await client.query('SELECT min(decided_at) AS first, max(decided_at) AS last FROM notifications.decision')
).rows
const tomorrow = () => countEvents(pool, Number(decided.last) + DAY_MS, () => {})

t.test('an event counts once, by its last facts; small groups and unknown facts are summed up', async (t) => {
  const { groups, restCount } = await tomorrow()
  t.match(groups, [
    { facts: { eventType: 'claim.paid', party: 'found', emailOnFile: true }, count: 14 },
    { facts: { eventType: 'claim.paid', party: 'missing', emailOnFile: null }, count: 10 },
  ])
  t.equal(groups.length, 2)
  t.equal(restCount, 9 + 11)
})

t.test('the period is 30 whole days: neither today nor what is older', async (t) => {
  const today = await countEvents(pool, Number(decided.first), () => {})
  t.strictSame([today.groups, today.restCount], [[], 0])
  const later = await countEvents(pool, Number(decided.last) + 31 * DAY_MS, () => {})
  t.strictSame([later.groups, later.restCount], [[], 0])
  t.equal(Date.parse(later.lastDay) - Date.parse(later.firstDay), 29 * DAY_MS)
})

t.test('an event belongs to the day of its first decision, whenever it was retried', async (t) => {
  const decide = (name: string, which: 'min' | 'max', day: string) =>
    client.query(
      `UPDATE notifications.decision AS one SET decided_at = now() + $2::interval WHERE event_id = $1
        AND attempt = (SELECT ${which}(attempt) FROM notifications.decision WHERE locator = one.locator)`,
      [name, day],
    )
  await decide('retried-0', 'max', '3 days')
  t.equal((await tomorrow()).groups[0]?.count, 14)
  await decide('retried-1', 'min', '-31 days')
  t.equal((await tomorrow()).groups[0]?.count, 13)
  await decide('retried-0', 'max', '0 days')
  await decide('retried-1', 'min', '0 days')
})

t.test('the same decisions give the same file, which names no member', async (t) => {
  const text = formatTraffic(await tomorrow())
  t.equal(formatTraffic(await tomorrow()), text)
  t.notMatch(text, /party-|@/)
  t.match(text, /^claim\.paid,found,no,EMAIL,yes,no,.*\b14,/m)
  t.match(text, /^\(others\),+20,/m)
})

t.test('pages follow the key of decisions', async (t) => {
  const plan = await planOf(pool, pageQuery('2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z', ''))
  t.match(plan, /Index Scan using decision_pkey/)
  t.notMatch(plan, /Seq Scan/)
})
