import type { QueryResultRow } from 'pg'
import t from 'tap'
import { anEvent, aWorld, type World } from '../stack/world.ts'

const REACHABLE = { email: 'a@example.com', phone: '+44 20 7946 0000' }

/** A world with one failed row for each name; the party of `name` is `error-name`. */
async function withFailedRows(world: World, names: readonly string[]): Promise<void> {
  const service = await world.serve()
  await world.publish(
    names.map((name) =>
      anEvent({ eventId: name, partyLocator: `error-${name}`, payload: { locator: `CLM-${name}` } }),
    ),
  )
  await world.caughtUp()
  t.equal(await service.stop(), 0)
  const rows = await world.sql(`
    SELECT event_id FROM notifications.notification_log WHERE status = 'FAILED' AND attempt_count = 0`)
  t.equal(rows.length, names.length, 'each row has failed, with no attempt')
}

const change = (world: World, assignments: string, ...eventIds: string[]) =>
  world.sql(
    `UPDATE notifications.notification_log SET ${assignments}
     WHERE event_id = ANY($1) OR cardinality($1::text[]) = 0`,
    [eventIds],
  )
/** As if the last attempt were long ago: the row is due in the next pass. */
const LONG_AGO = `last_attempt_at = now() - interval '2 min'`

async function byEventId(world: World, query: string): Promise<Record<string, QueryResultRow>> {
  return Object.fromEntries((await world.sql(query)).map((row) => [row.event_id, row]))
}
const rowsOf = (world: World) => byEventId(world, 'SELECT * FROM notifications.notification_log')
const lastDecisionsOf = (world: World) =>
  byEventId(
    world,
    'SELECT DISTINCT ON (event_id) * FROM notifications.decision ORDER BY event_id, attempt DESC',
  )

t.test('a failed row is retried as its party, its age and its attempts say', async (t) => {
  const world = await aWorld(t)
  const names = [
    'recovered',
    'recovered-sms',
    'gone',
    'opted-out',
    'broken',
    'no-email',
    'second-last-attempt',
    'last-attempt',
    'young-enough',
    'too-old',
    'just-tried',
  ]
  await withFailedRows(world, names)
  for (const name of names) world.policyAdministration.set(`error-${name}`, REACHABLE)
  world.policyAdministration.set('error-gone', 'unknown')
  world.policyAdministration.set('error-broken', 'error')
  world.policyAdministration.set('error-no-email', { ...REACHABLE, email: null })
  await world.sql(`
    INSERT INTO notifications.notification_preferences (party_locator, preferred_channel, opted_out_events) VALUES
      ('error-opted-out', 'EMAIL', '["claim.paid"]'), ('error-recovered-sms', 'SMS', '[]')`)
  await change(world, LONG_AGO)
  await change(world, `subject = 'stored subject', body = 'stored body'`, 'recovered')
  await change(world, `created_at = now() - interval '23 h 50 min'`, 'young-enough')
  await change(world, `created_at = now() - interval '24 h 10 min'`, 'too-old')
  await change(world, `attempt_count = 2`, 'second-last-attempt')
  await change(world, `attempt_count = 3`, 'last-attempt')
  await change(world, `last_attempt_at = now()`, 'just-tried')
  const before = await rowsOf(world)

  const service = await world.serve()
  t.match(await service.logged(/^retried failed notifications$/), {
    SENT: 4,
    SKIPPED: 3,
    FAILED: 1,
    postponed: 0,
  })
  const rows = await rowsOf(world)
  const decisions = await lastDecisionsOf(world)

  await t.test('one whose party can be reached now is sent, from the stored text', async (t) => {
    t.match(rows.recovered, {
      status: 'SENT',
      channel: 'EMAIL',
      attempt_count: 1,
      sent_at: Date,
      failure_reason: null,
      subject: 'stored subject',
      body: 'stored body',
    })
    t.match(decisions.recovered, {
      attempt: 1,
      outcome: 'SEND',
      rule_id: 'email',
      receipt: String,
    })
    t.match(
      await world.sql(
        `SELECT attempt, outcome FROM notifications.decision WHERE event_id = 'recovered' ORDER BY 1`,
      ),
      [
        { attempt: 0, outcome: 'FAIL' },
        { attempt: 1, outcome: 'SEND' },
      ],
    )
  })
  await t.test('the channel is the one that is preferred now', async (t) => {
    t.match(rows['recovered-sms'], { status: 'SENT', channel: 'SMS' })
    t.match(decisions['recovered-sms'], { receipt: String })
  })
  await t.test(
    'one that cannot or must not be sent any more is skipped, and its text is cleared',
    async (t) => {
      const reasons = {
        gone: 'party not found',
        'opted-out': 'event type opted out',
        'no-email': 'no email on file',
      }
      for (const [name, failure_reason] of Object.entries(reasons)) {
        t.match(rows[name], {
          status: 'SKIPPED',
          attempt_count: 1,
          failure_reason,
          subject: null,
          body: null,
          sent_at: null,
        })
        t.match(decisions[name], { attempt: 1, outcome: 'SKIP', reason: failure_reason, receipt: null })
      }
    },
  )
  await t.test('one that fails again stays failed with its text, and the attempt counts', async (t) => {
    t.match(rows.broken, {
      status: 'FAILED',
      attempt_count: 1,
      failure_reason: /contact could not be resolved/,
      subject: before.broken?.subject,
      body: before.broken?.body,
      sent_at: null,
    })
    t.match(decisions.broken, { attempt: 1, outcome: 'FAIL', receipt: null })
  })
  await t.test('by default rows younger than 24 h with fewer than 3 attempts are retried', async (t) => {
    t.match(rows['young-enough'], { status: 'SENT', attempt_count: 1 })
    t.match(rows['second-last-attempt'], { status: 'SENT', attempt_count: 3 })
    t.same(rows['too-old'], before['too-old'])
    t.same(rows['last-attempt'], before['last-attempt'])
  })
  await t.test('a row is not retried again within the interval', async (t) => {
    t.same(rows['just-tried'], before['just-tried'])
  })
  await t.test('RETRY_MAX_AGE and RETRY_MAX_ATTEMPTS are honoured', async (t) => {
    t.equal(await service.stop(), 0)
    await change(world, `${LONG_AGO}, created_at = now() - interval '2 h'`, 'just-tried')
    const another = await world.serve({ RETRY_MAX_AGE: '1h', RETRY_MAX_ATTEMPTS: '4' })
    t.match(await another.logged(/^retried failed notifications$/), { SENT: 1, SKIPPED: 0, FAILED: 0 })
    const after = await rowsOf(world)
    t.match(after['last-attempt'], { status: 'SENT', attempt_count: 4 })
    t.same(after['just-tried']?.status, 'FAILED')
    t.same(after['too-old'], before['too-old'])
  })
})
