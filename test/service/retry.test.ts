import type { QueryResultRow } from 'pg'
import t from 'tap'
import { preloading } from '../stack/executable.ts'
import type { LogLine, Service } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld, type World } from '../stack/world.ts'

const LOG = 'notifications.notification_log'
const REACHABLE = { email: 'a@example.com', phone: '+44 20 7946 0000' }
/** Sleeps of a minute take 3 s. */
const SHORT_MINUTE = preloading(new URL('./short-minute.ts', import.meta.url))
/** As if the last attempt were long ago: the row is due in the next pass. */
const LONG_AGO = `last_attempt_at = now() - interval '2 min'`

async function byEventId(world: World, query: string): Promise<Record<string, QueryResultRow>> {
  return Object.fromEntries((await world.sql(query)).map((row) => [row.event_id, row]))
}

const skipped = (failure_reason: string) => ({
  row: { status: 'SKIPPED', attempt_count: 1, failure_reason, subject: null, body: null, sent_at: null },
  decision: { attempt: 1, outcome: 'SKIP', reason: failure_reason, receipt: null },
})
const sentAs = (attempt_count: number, more = {}) => ({
  row: { status: 'SENT', attempt_count, sent_at: Date, failure_reason: null, ...more },
  decision: { attempt: attempt_count, outcome: 'SEND', receipt: String },
})
const UNTOUCHED = { row: { status: 'FAILED' }, decision: { outcome: 'FAIL', attempt: 0 } }

/** Failed rows, whose parties are `error-…`: what is changed before the retry, and what becomes of each. */
const CASES: Readonly<Record<string, { change?: string; is: Record<'row' | 'decision', object> }>> = {
  recovered: {
    change: `subject = 'stored subject', body = 'stored body'`,
    is: sentAs(1, { channel: 'EMAIL', subject: 'stored subject', body: 'stored body' }),
  },
  gone: { is: skipped('party not found') },
  'opted-out': { is: skipped('event type opted out') },
  broken: {
    is: {
      row: {
        status: 'FAILED',
        attempt_count: 1,
        failure_reason: /could not be resolved/,
        body: /CLM-broken/,
      },
      decision: { attempt: 1, outcome: 'FAIL', receipt: null },
    },
  },
  'young-enough': { change: `created_at = now() - interval '23 h 50 min'`, is: sentAs(1) },
  'too-old': { change: `created_at = now() - interval '24 h 10 min'`, is: UNTOUCHED },
  'second-last-attempt': { change: 'attempt_count = 2', is: sentAs(3) },
  'last-attempt': { change: 'attempt_count = 3', is: UNTOUCHED },
  'just-tried': { change: 'last_attempt_at = now()', is: UNTOUCHED },
}

t.test('party, age and attempts decide whether a failed row is retried', async (t) => {
  const world = await aWorld(t)
  const first = await world.serve()
  const names = Object.keys(CASES)
  await world.publish(
    names.map((name) =>
      anEvent({ eventId: name, partyLocator: `error-${name}`, payload: { locator: `CLM-${name}` } }),
    ),
  )
  await world.caughtUp()
  await first.stop()
  for (const name of names) world.policyAdministration.set(`error-${name}`, REACHABLE)
  world.policyAdministration.set('error-gone', 'unknown')
  world.policyAdministration.set('error-broken', 'error')
  await world.sql(`
    INSERT INTO notifications.notification_preferences (party_locator, preferred_channel, opted_out_events) VALUES
      ('error-opted-out', 'EMAIL', '["claim.paid"]')`)
  await world.sql(`UPDATE ${LOG} SET ${LONG_AGO}`)
  for (const [name, { change }] of Object.entries(CASES))
    if (change) await world.sql(`UPDATE ${LOG} SET ${change} WHERE event_id = $1`, [name])

  const before = await byEventId(world, `SELECT * FROM ${LOG}`)
  const service = await world.serve()
  const counts = { SENT: 3, SKIPPED: 2, FAILED: 1, postponed: 0 }
  t.match(await service.logged(/^retried failed notifications$/), counts)
  const rows = await byEventId(world, `SELECT * FROM ${LOG}`)
  const lastDecisions = await byEventId(
    world,
    'SELECT DISTINCT ON (event_id) * FROM notifications.decision ORDER BY event_id, attempt DESC',
  )
  for (const [name, { is }] of Object.entries(CASES)) {
    t.match({ row: rows[name], decision: lastDecisions[name] }, is, name)
    if (is === UNTOUCHED) t.same(rows[name], before[name], name)
  }

  await t.test('RETRY_MAX_AGE and RETRY_MAX_ATTEMPTS limit the retries', async (t) => {
    await service.stop()
    const change = `${LONG_AGO}, created_at = now() - interval '2 h'`
    await world.sql(`UPDATE ${LOG} SET ${change} WHERE event_id = 'just-tried'`)
    const another = await world.serve({ RETRY_MAX_AGE: '1h', RETRY_MAX_ATTEMPTS: '4' })
    const counts = { SENT: 1, SKIPPED: 0, FAILED: 0 }
    t.match(await another.logged(/^retried failed notifications$/), counts)
    const after = await byEventId(world, `SELECT * FROM ${LOG}`)
    t.match(after['last-attempt'], { status: 'SENT', attempt_count: 4 })
    for (const name of ['just-tried', 'too-old']) t.equal(after[name]?.status, 'FAILED', name)
  })
})

const eventsOf = (prefix: string, count: number, partyOf: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => anEvent({ eventId: `${prefix}-${i}`, partyLocator: partyOf(i) }))
const passesOf = (service: Service): LogLine[] =>
  service.lines.filter(({ msg }) =>
    /^(retried failed notifications|no failed notification is due)$/.test(msg),
  )
const passesOn = (service: Service, count: number) => {
  const begun = passesOf(service).length
  return until(() => passesOf(service).length >= begun + count, { what: 'the next retry passes' })
}

// These tests mostly wait.
t.jobs = 2

t.test(
  'failed rows are retried every minute, on two processes each row once',
  { buffered: true },
  async (t) => {
    const world = await aWorld(t)
    for (const party of ['party-late', 'party-broken']) world.policyAdministration.set(party, 'error')
    // With an interval of an hour no pass but the first would come.
    const env = { ...SHORT_MINUTE, RETRY_INTERVAL: '1h' }
    const services = await Promise.all([world.spawn(env), world.spawn(env)])
    for (const service of services)
      t.equal((await service.logged(/RETRY_INTERVAL has no effect/)).level, 'warn')
    const late = eventsOf('late', 50, () => 'party-late')
    await world.publish([...late, ...eventsOf('broken', 50, () => 'party-broken')])
    await world.caughtUp()
    const statuses = `SELECT DISTINCT status, attempt_count FROM ${LOG}`
    t.same(await world.sql(statuses), [{ status: 'FAILED', attempt_count: 0 }])
    world.policyAdministration.set('party-late', REACHABLE)
    await world.sql(`UPDATE ${LOG} SET ${LONG_AGO}`)

    await Promise.all(services.map((service) => passesOn(service, 2)))
    t.same(
      await world.sql(`
      SELECT split_part(event_id, '-', 1) AS kind, status, attempt_count, sent_at IS NOT NULL AS sent, count(*)::int
      FROM ${LOG} GROUP BY 1, 2, 3, 4 ORDER BY 1`),
      [
        { kind: 'broken', status: 'FAILED', attempt_count: 1, sent: false, count: 50 },
        { kind: 'late', status: 'SENT', attempt_count: 1, sent: true, count: 50 },
      ],
    )
    t.same(
      await world.sql(`
      SELECT attempt, outcome, count(*)::int, count(DISTINCT receipt)::int AS receipts
      FROM notifications.decision GROUP BY 1, 2 ORDER BY 1, 2`),
      [
        { attempt: 0, outcome: 'FAIL', count: 100, receipts: 0 },
        { attempt: 1, outcome: 'FAIL', count: 50, receipts: 0 },
        { attempt: 1, outcome: 'SEND', count: 50, receipts: 50 },
      ],
    )
  },
)
