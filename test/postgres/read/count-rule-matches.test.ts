import t from 'tap'
import { countRuleMatches } from '../../../src/postgres/read/count-rule-matches.ts'
import { openDatabase } from '../fixtures.ts'
import { DEFAULT_TABLE, record, ruleTable } from '../record.ts'

const table = await ruleTable()
const other = await ruleTable(`${DEFAULT_TABLE}\n`)

t.test('the rules of the table in force are counted, each with its last time', async (t) => {
  const { pool, client } = await openDatabase(t)
  await record(pool, [{ eventId: 'old' }], other)
  await record(pool, [
    { eventId: 'sent-1' },
    { eventId: 'sent-2' },
    { eventId: 'unknown', contact: { state: 'not found' } },
  ])
  const { matches, lookedAt, since, complete } = await countRuleMatches(pool, table.revision)
  t.match(matches, [
    { ruleId: 'email', count: 2 },
    { ruleId: 'party-not-found', count: 1 },
  ])
  t.equal(lookedAt, 4)
  t.equal(complete, true)
  const { rows } = await client.query(
    'SELECT min(decided_at) AS first, max(decided_at) AS last FROM notifications.decision',
  )
  t.equal(Date.parse(since ?? ''), Number(rows[0].first))
  t.equal(Date.parse(matches[0]?.lastAt ?? ''), Number(rows[0].last))
  t.match(matches[0]?.lastAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
})

t.test('only the newest decisions are looked at, and it says so', async (t) => {
  const { pool } = await openDatabase(t)
  await record(pool, [{ eventId: 'unknown', contact: { state: 'not found' } }])
  await record(
    pool,
    Array.from({ length: 5 }, (_, i) => ({ eventId: `event-${i}` })),
  )
  const found = await countRuleMatches(pool, table.revision, 5)
  t.match(found, { lookedAt: 5, complete: false, matches: [{ ruleId: 'email', count: 5 }] })
  t.equal(found.matches.length, 1)
})

t.test('without decisions there are no matches', async (t) => {
  const { pool } = await openDatabase(t)
  t.same(await countRuleMatches(pool, table.revision), {
    lookedAt: 0,
    since: null,
    complete: true,
    matches: [],
  })
})
