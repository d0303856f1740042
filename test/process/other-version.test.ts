import t from 'tap'
import { above, rule } from '../authoring/build.ts'
import { DEFAULT_TABLE } from '../authoring/default-table.ts'
import { sha256 } from '../service/build.ts'
import { ask, putPreferences, untilReady } from '../stack/ask.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'
import { onlyRowOf, rowsOf } from './rows.ts'

const LOG = 'notifications.notification_log'
const world = await aWorld(t)
const run = (...args: string[]) => command(args, world.env)

/** What a later version has stored, which knows the channel PIGEON, the outcome HOLD, the fact `urgent` and another redrive. */
const LATER = 'NTF-01900000-0000-7000-8000-000000000001'
const HELD = 'NTF-01900000-0000-7000-8000-000000000002'
const PUSH_RULE = rule({ rule: 'push', party: 'found', preferredChannel: 'PIGEON', outcome: 'SEND' })
const LATER_TABLE = above(
  null,
  [{ ...PUSH_RULE, because: 'We write to the app.', urgent: 'yes' }],
  DEFAULT_TABLE.replace(/$/m, ',urgent').replace(/(?<=\n.+)$/gm, ','),
)
const FACTS = {
  ...{ eventType: 'claim.paid', party: 'found', optedOut: false, preferredChannel: 'PIGEON' },
  ...{ emailOnFile: true, phoneOnFile: 'in part', urgent: true },
}
t.before(async () => {
  await world.sql(`
    INSERT INTO notifications.notification_preferences (party_locator, preferred_channel, opted_out_events) VALUES
      ('party-push', 'PIGEON', '[]'), ('party-push-opted-out', 'PIGEON', '["claim.paid"]'), ('unknown-push', 'PIGEON', '[]'),
      ('party-other-form', 'EMAIL', '["claim.paid", {"eventType": "claim.approved"}]')`)
  await world.sql(`
    INSERT INTO notifications.preference_change (party_locator, before, after) VALUES
      ('party-push', null, '{"email":null,"phone":null,"preferredChannel":"PIGEON","optedOutEvents":[],"quietFrom":22}')`)
  await world.sql('INSERT INTO notifications.ruleset (revision, source) VALUES ($1, $2)', [
    sha256(LATER_TABLE),
    LATER_TABLE,
  ])
  for (const [locator, status, outcome] of [
    [LATER, 'SENT', 'SEND'],
    [HELD, 'SKIPPED', 'HOLD'],
  ]) {
    const isSent = status === 'SENT'
    await world.sql(
      `INSERT INTO ${LOG} (locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason,
        attempt_count, sent_at) VALUES ($1, $1, 'party-push', 'claim.paid', 'PIGEON', $2, $3, $3, $4, $5, $6)`,
      [
        locator,
        status,
        isSent ? 'S' : null,
        isSent ? null : 'on hold',
        isSent ? 1 : 0,
        isSent ? new Date() : null,
      ],
    )
    await world.sql(
      `INSERT INTO notifications.decision (locator, attempt, event_id, party_locator, event_type, outcome, channel, rule_id,
        reason, facts, rule_table_revision, topic, partition_id, "offset")
      VALUES ($1, $2, $1, 'party-push', 'claim.paid', $3, 'PIGEON', 'push', $4, $5, $6, 'claims', 0, 0)`,
      [locator, isSent ? 1 : 0, outcome, isSent ? null : 'on hold', FACTS, sha256(LATER_TABLE)],
    )
  }
  await world.sql(`
    INSERT INTO notifications.rejected_message (id, topic, partition_id, "offset", headers, code, error)
    VALUES (1, 'claims', 0, 0, '{}', 'of-tomorrow', 'unheard of')`)
  await world.sql(`
    INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result) VALUES (1, 'alice', 'postponed')`)
})

t.test('the database takes a name that it does not know, but only a name', async (t) => {
  const change = 'UPDATE notifications.notification_preferences SET preferred_channel = $1'
  for (const channel of ['', 'push', 'P'.repeat(33)])
    await t.rejects(world.sql(change, [channel]), /notification_preferences_channel_shape/)
})

const push = anEvent({ partyLocator: 'party-push' })
const optedOut = anEvent({ partyLocator: 'party-push-opted-out' })
const unknown = anEvent({ partyLocator: 'unknown-push' })
const otherForm = anEvent({ partyLocator: 'party-other-form', eventType: 'claim.approved' })
const named = anEvent({ partyLocator: 'party-other-form' })
const behind = anEvent({ partyLocator: 'party-1' })

t.test('preferences that only another version can read affect the events of their own party', async (t) => {
  const service = await world.serve()
  await world.publish([push, optedOut, unknown, otherForm, named, behind])
  await world.caughtUp()
  await service.stop()
  const rows = await rowsOf(world, 'notification_log')
  const failed = { status: 'FAILED', channel: 'PIGEON', attempt_count: 0 }
  t.match(onlyRowOf(rows, push), {
    ...failed,
    failure_reason: /^preferred channel unknown: PIGEON .*run that version/,
  })
  const skipped = { status: 'SKIPPED', channel: 'PIGEON' }
  t.match(onlyRowOf(rows, optedOut), { ...skipped, failure_reason: 'event type opted out' })
  t.match(onlyRowOf(rows, unknown), { ...skipped, failure_reason: 'party not found' })
  t.match(onlyRowOf(rows, otherForm), {
    ...{ status: 'FAILED', channel: 'EMAIL', attempt_count: 0 },
    failure_reason: /^opt-outs unreadable: .*run that version/,
  })
  t.match(onlyRowOf(rows, named), { status: 'SKIPPED', failure_reason: 'event type opted out' })
  t.match(onlyRowOf(rows, behind), { status: 'SENT', channel: 'EMAIL' })
})

t.test('all that another version stored is read as text', async (t) => {
  const service = await world.serve({ MANAGEMENT_PORT: '0' })
  const management = await service.managementUrl()
  await untilReady(service.url)
  for (const path of ['/log/list?limit=200', '/notifications/list', '/preferences/list'])
    t.match(await ask(`${service.url}${path}`), { status: 200, body: { items: Array } }, path)
  t.match(await ask(`${service.url}/log/${LATER}`), {
    status: 200,
    body: { channel: 'PIGEON', decisions: [{ facts: FACTS, because: 'We write to the app.' }] },
  })
  t.match(await ask(`${service.url}/log/${HELD}`), {
    status: 200,
    body: { decisions: [{ outcome: 'HOLD' }] },
  })
  t.match(await ask(`${service.url}/preferences/party-push`), {
    status: 200,
    body: { preferredChannel: 'PIGEON' },
  })
  t.match(await ask(`${service.url}/preferences/party-other-form`), {
    status: 200,
    body: { optedOutEvents: ['claim.paid'] },
  })
  for (const path of ['log/list', `log/${HELD}`, 'preferences/party-push', 'rejected', 'counts', 'rules'])
    t.match(await ask(`${management}/console/data/${path}`), { status: 200 }, path)
  const put = await putPreferences(service.url, 'party-push', { preferredChannel: 'PIGEON' })
  t.equal(put.status, 400, 'what is written is checked')
  await service.stop()

  const [row] = (await rowsOf(world, 'notification_log')).filter(({ event_id }) => event_id === push.eventId)
  const why = await run('why', String(row?.locator))
  t.match(why, { code: 0, stderr: '' })
  t.match(why.stdout, /FAIL \(preferred channel unknown: PIGEON .*prefers PIGEON/)
  t.match((await run('why', LATER)).stdout, /urgent yes: We write to the app\./)
  for (const [args, stdout] of [
    [`why ${HELD}`, /HOLD \(on hold\)/],
    ['log --json', /PIGEON/],
    ['export --party party-push', /PIGEON/],
    ['rejected list --all', /redriven .*: postponed/],
    ['rejected show 1', /postponed/],
    ['retry --since 1d --dry-run', /would be left unchanged: what its text is rendered from is not stored/],
  ] as const)
    t.match(await run(...args.split(' ')), { code: 0, stdout }, args)
})

t.test('a replay verifies what it can', async (t) => {
  await world.sql('DELETE FROM notifications.decision WHERE locator = ANY($1)', [[LATER, HELD]])
  await world.sql(`DELETE FROM ${LOG} WHERE locator = ANY($1)`, [[LATER, HELD]])
  t.match(await run('replay', '--verify'), { code: 0, stdout: '6 entries compared: no difference\n' })
})

t.test('a retry waits for a version that can read the preferences, or for others', async (t) => {
  const longAgo = `UPDATE ${LOG} SET last_attempt_at = now() - interval '2 min'`
  const retried = async (counts: object) => {
    await world.sql(longAgo)
    const service = await world.serve()
    t.match(await service.logged(/^retried failed notifications$/), counts)
    await service.stop()
    const rows = await rowsOf(world, 'notification_log')
    return [push, otherForm].map((event) => onlyRowOf(rows, event))
  }
  const failed = { status: 'FAILED', attempt_count: 0 }
  t.match(await retried({ unchanged: 2, FAILED: 0 }), [failed, failed])
  await world.sql(`
    UPDATE notifications.notification_preferences SET preferred_channel = 'IN_APP', opted_out_events = '[]'`)
  const sent = { status: 'SENT', channel: 'IN_APP', attempt_count: 1 }
  t.match(await retried({ SENT: 2 }), [sent, sent])
})
