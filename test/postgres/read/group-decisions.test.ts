import { sql } from 'slonik'
import t from 'tap'
import { sqlState } from '../../../src/postgres/connection/errors.ts'
import { decisionGroups } from '../../../src/postgres/read/group-decisions.ts'
import { listRetryCandidates } from '../../../src/postgres/read/read-retry-candidates.ts'
import { resolveTime } from '../../../src/postgres/read/time-of.ts'
import { inSnapshot } from '../../../src/postgres/sql/snapshot.ts'
import { openDatabase } from '../fixtures.ts'
import { record, retryAll, UNRESOLVED } from '../record.ts'

const { pool, client } = await openDatabase(t)
t.before(async () => {
  await record(pool, [{ eventId: 'retried', contact: UNRESOLVED }])
  await retryAll(pool)
  await record(pool, [
    ...['a', 'b', 'c'].map((eventId) => ({ eventId })),
    { eventId: 'd', eventType: 'invoice.paid' },
    { eventId: 'e', partyLocator: null },
    { eventId: 'f', partyLocator: null, invalid: true },
  ])
})

async function groupsSince(since: string, pageSize: number) {
  const all = []
  let events = 0
  for await (const page of decisionGroups(pool, since, pageSize)) {
    all.push(...page.groups)
    events += page.events
  }
  return { all, events }
}
const countOf = (groups: readonly { readonly count: number }[]) =>
  groups.reduce((sum, { count }) => sum + count, 0)
const hourAgo = () => resolveTime(pool, 3_600_000)

t.test('an event counts once, by its last decision, with those before it, whatever the pages', async (t) => {
  for (const pageSize of [1, 2, 7, 100]) {
    const { all, events } = await groupsSince(await hourAgo(), pageSize)
    t.equal(events, 7)
    t.equal(countOf(all), 7, `pages of ${pageSize}`)
    const retried = all.filter(({ earlier }) => earlier.length > 0)
    t.match(retried, [
      {
        count: 1,
        ruleId: 'email',
        facts: { party: 'found' },
        earlier: [{ outcome: 'FAIL', facts: { party: 'unresolved' }, onRequest: false }],
      },
    ])
    t.equal(retried.length, 1)
    const told = all.map(({ facts, ruleId, invalidParty }) => `${facts.eventType} ${ruleId} ${invalidParty}`)
    t.same([...new Set(told)].sort(), [
      'claim.paid email false',
      'claim.paid no-party false',
      'claim.paid no-party true',
      'invoice.paid email false',
    ])
  }
})

t.test(
  'an invalid party locator is a fact, whatever the reason says; version 1.0 has the reason only',
  async (t) => {
    const isInvalid = async (change: string) => {
      await client.query(`UPDATE notifications.decision SET ${change} WHERE event_id = 'f'`)
      const { all } = await groupsSince(await hourAgo(), 100)
      const { rows } = await client.query(`SELECT locator FROM notifications.decision WHERE event_id = 'f'`)
      const limits = { maxAgeMs: 0, attemptCountMax: 0 }
      const target = { locators: [rows[0].locator] }
      const [candidate] = (await listRetryCandidates(pool, limits, target, null)).candidates
      t.equal(
        countOf(all.filter(({ invalidParty }) => invalidParty)),
        candidate?.decision?.hasInvalidLocator ? 1 : 0,
      )
      return candidate?.decision?.hasInvalidLocator
    }
    t.equal(await isInvalid(`reason = 'in other words'`), true)
    t.equal(await isInvalid(`reason = 'invalid party locator', facts = facts - 'invalidLocator'`), true)
    t.equal(await isInvalid(`reason = 'no party locator'`), false)
  },
)

t.test('each decision says whether an operator requested it', async (t) => {
  const asked = async (...attempts: number[]) => {
    await client.query(
      `UPDATE notifications.decision
       SET retried_by = CASE WHEN attempt = ANY($1) THEN 'alice' END,
         retried_because = CASE WHEN attempt = ANY($1) THEN 'an outage' END
       WHERE event_id = 'retried'`,
      [attempts],
    )
    const { all } = await groupsSince(await hourAgo(), 100)
    const retried = all.filter(({ earlier }) => earlier.length > 0)
    return retried.flatMap(({ earlier, onRequest }) => [...earlier.map((step) => step.onRequest), onRequest])
  }
  t.same(await asked(1), [false, true])
  t.same(await asked(0), [true, false])
  t.same(await asked(), [false, false])
})

t.test('earlier decisions do not count, to the microsecond', async (t) => {
  const { rows } = await client.query(`
    SELECT to_char(decided_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at,
      to_char((decided_at + interval '1 microsecond') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS later
    FROM notifications.decision WHERE event_id = 'a'`)
  const countSince = async (since: string) => countOf((await groupsSince(since, 100)).all)
  t.equal(await countSince(rows[0].at), 6)
  t.equal(await countSince(rows[0].later), 0)
})

t.test('a snapshot refuses to write', async (t) => {
  const write = inSnapshot(pool, (tx) => tx.query(sql.unsafe`DELETE FROM notifications.decision`))
  const error: unknown = await write.catch((error) => error)
  t.equal(sqlState(error), '25006')
})

t.test('a period ends before its end', async (t) => {
  const all = []
  for await (const { groups } of decisionGroups(pool, '2020-01-01T00:00:00Z', 3, await hourAgo()))
    all.push(...groups)
  t.strictSame(all, [])
  const { all: now } = await groupsSince('2020-01-01T00:00:00Z', 3)
  t.equal(now.flatMap(({ locators }) => locators).length, countOf(now))
})
