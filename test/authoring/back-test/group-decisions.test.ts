import { isDeepStrictEqual } from 'node:util'
import { type CommonQueryMethods, type QuerySqlToken, sql } from 'slonik'
import t from 'tap'
import { groupDecisions } from '../../../src/authoring/back-test/group-decisions.ts'
import { readStated } from '../../../src/service/decide/decision/facts.ts'
import { sqlState } from '../../../src/service/store/connection/errors.ts'
import { listRetryCandidates } from '../../../src/service/store/read/read-retry-candidates.ts'
import { resolveTime } from '../../../src/service/store/read/resolve-time.ts'
import { inSnapshot } from '../../../src/service/store/sql/snapshot.ts'
import { decisionPages, openDatabase, planOf } from '../../service/store/fixtures.ts'
import { record, retryAll, UNRESOLVED } from '../../service/store/record.ts'
import fc from '../../stack/properties.ts'

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
  const pages = await decisionPages(pool, since, { decisionCountMax: pageSize })
  return {
    all: pages.flatMap(({ groups }) => groups),
    events: pages.reduce((sum, { events }) => sum + events, 0),
  }
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
    const told = all.map(
      ({ facts, ruleId, isPartyInvalid }) => `${facts.eventType} ${ruleId} ${isPartyInvalid}`,
    )
    t.strictSame([...new Set(told)].sort(), [
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
      const isStated = 'invalidLocator' in (candidate?.decision ? readStated(candidate.decision) : {})
      t.equal(countOf(all.filter(({ isPartyInvalid }) => isPartyInvalid)), isStated ? 1 : 0)
      return isStated
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
  t.strictSame(await asked(1), [false, true])
  t.strictSame(await asked(0), [true, false])
  t.strictSame(await asked(), [false, false])
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
  const period = { to: await hourAgo(), decisionCountMax: 3 }
  const pages = await decisionPages(pool, '2020-01-01T00:00:00Z', period)
  t.strictSame(
    pages.flatMap(({ groups }) => groups),
    [],
  )
  const { all: now } = await groupsSince('2020-01-01T00:00:00Z', 3)
  t.equal(now.flatMap(({ locators }) => locators).length, countOf(now))
})

t.test('a page walks the key from its cursor, and reads no more decisions than it may', async (t) => {
  const queries: QuerySqlToken[] = []
  const one = (query: QuerySqlToken) => {
    queries.push(query)
    return pool.one(query)
  }
  const period = { from: await hourAgo(), to: null }
  const limits = { locatorCountMax: 0, decisionCountMax: 3 }
  const { nextCursor } = await groupDecisions({ one } as CommonQueryMethods, period, limits)
  t.match(nextCursor, /^NTF-/)
  t.match(
    await planOf(pool, queries[0] as QuerySqlToken),
    /-> {2}Limit \(actual rows=3\.00 loops=1\)\n[^>]*-> {2}Index Scan using decision_pkey on decision \(actual rows=3\.00/,
  )
})

/** A decision, with those values that make a group. */
const decision = fc.record({
  facts: fc.constantFrom({ party: 'found', eventType: 'a.b' }, { party: 'unresolved', eventType: 'a.b' }),
  outcome: fc.constantFrom('SEND', 'FAIL'),
  onRequest: fc.boolean(),
  ruleTableRevision: fc.constantFrom('r1', 'r2'),
})
const event = fc.record({
  decisions: fc.array(decision, { minLength: 1, maxLength: 5 }),
  isOfPeriod: fc.boolean(),
  isPruned: fc.boolean(),
})
type GeneratedEvent = typeof event extends fc.Arbitrary<infer Value> ? Value : never

/** Stores the decisions of these events, in the order of their locators. */
async function store(events: readonly GeneratedEvent[]): Promise<void> {
  await client.query('TRUNCATE notifications.decision')
  await client.query(
    `INSERT INTO notifications.decision (locator, attempt, event_id, event_type, outcome, channel, rule_id, facts,
      rule_table_revision, topic, partition_id, "offset", decided_at, retried_by, retried_because)
    SELECT 'NTF-99-' || to_char(e.n, 'FM00'), d.n, e.n, 'a.b', d.value ->> 'outcome', 'EMAIL',
      CASE WHEN (e.value -> 'isPruned')::boolean THEN '(pruned)' ELSE 'x' END, d.value -> 'facts',
      d.value ->> 'ruleTableRevision', 'claims', 0, 0,
      -- A retry belongs to the period of the first decision.
      CASE WHEN (e.value -> 'isOfPeriod')::boolean = (d.n = 1) THEN now() ELSE now() - interval '2 h' END,
      who, who
    FROM jsonb_array_elements($1) WITH ORDINALITY AS e (value, n),
      jsonb_array_elements(e.value -> 'decisions') WITH ORDINALITY AS d (value, n),
      LATERAL (SELECT CASE WHEN (d.value -> 'onRequest')::boolean THEN 'alice' END) AS asked (who)`,
    [JSON.stringify(events)],
  )
}

/** The number of events in each group, counted without pages. */
function countWhole(events: readonly GeneratedEvent[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { decisions, isOfPeriod, isPruned } of events) {
    if (!isOfPeriod || isPruned) continue
    const { ruleTableRevision: _, ...last } = decisions.at(-1) as (typeof decisions)[number]
    const earlier = decisions.slice(0, -1).map(({ ruleTableRevision: _, ...step }) => step)
    const onRequest = earlier.length > 0 && last.onRequest
    const key = JSON.stringify([
      last.facts,
      earlier,
      onRequest,
      last.outcome,
      decisions.at(-1)?.ruleTableRevision,
    ])
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

t.test('pages of any size add up to the whole, and none exceeds its bound', async (t) => {
  const since = await hourAgo()
  let spanning = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { maxLength: 12 }),
      fc.integer({ min: 1, max: 7 }),
      async (events, size) => {
        await store(events)
        const pages = await decisionPages(pool, since, { decisionCountMax: size })
        const counts: Record<string, number> = {}
        const ids: Record<string, string> = {}
        for (const { id, facts, earlier, onRequest, outcome, ruleTableRevision, count } of pages.flatMap(
          ({ groups }) => groups,
        )) {
          const key = JSON.stringify([facts, earlier, onRequest, outcome, ruleTableRevision])
          counts[key] = (counts[key] ?? 0) + count
          ids[key] ??= id
          if (ids[key] !== id) throw new Error('a group has another id on another page')
        }
        if (new Set(Object.values(ids)).size !== Object.keys(ids).length)
          throw new Error('two groups have one id')
        if (!isDeepStrictEqual(new Map(Object.entries(counts)), new Map(Object.entries(countWhole(events)))))
          throw new Error(`${JSON.stringify(counts)}, not ${JSON.stringify(countWhole(events))}`)

        let at = 0
        for (const page of pages) {
          const decisionCounts = events.slice(at, at + page.events).map(({ decisions }) => decisions.length)
          at += page.events
          const [last = 0, ...others] = decisionCounts.reverse()
          const othersCount = others.reduce((sum, count) => sum + count, 0)
          if (othersCount >= size)
            throw new Error(`${othersCount} decisions before the last event of a page of ${size}`)
          if (othersCount + last > size) spanning++
        }
        if (at !== events.length) throw new Error(`${at} of ${events.length} events`)
      },
    ),
    { numRuns: 100 },
  )
  t.ok(spanning > 0, `the decisions of ${spanning} events span pages`)
})
