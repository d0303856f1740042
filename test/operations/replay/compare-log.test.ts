import t from 'tap'
import { describeReplayFinding, type ReplayFinding } from '../../../src/operations/replay/replay-finding.ts'
import { restoreMissingEntries } from '../../../src/operations/replay/restore-missing-entries.ts'
import { aFound, OPTED_OUT, somePreferences } from '../../service/build.ts'
import { openDatabase } from '../../service/store/fixtures.ts'
import { record, replayAll, retryAll, UNRESOLVED } from '../../service/store/record.ts'

const { pool, client } = await openDatabase(t)

async function run(options: { rebuild: boolean }) {
  const { isSound, findings } = await replayAll(pool, options)
  const { kind: _, ...summary } = findings.pop() as ReplayFinding & { kind: 'summary' }
  return { isSound, findings, said: findings.map(describeReplayFinding), summary }
}

const verify = () => run({ rebuild: false })
const rebuild = () => run({ rebuild: true })

const rowsOf = async (query: string, values?: unknown[]) => (await client.query(query, values)).rows
/** Every byte of the log and of the decisions. */
const everything = async () => ({
  log: await rowsOf('SELECT entry::text FROM notifications.notification_log AS entry ORDER BY locator'),
  decisions: await rowsOf('SELECT decision::text FROM notifications.decision ORDER BY locator, attempt'),
})
const locatorOf = async (eventId: string) =>
  (await rowsOf('SELECT DISTINCT locator FROM notifications.decision WHERE event_id = $1', [eventId]))[0]
    .locator
const inApp = somePreferences({ preferredChannel: 'IN_APP' })

t.beforeEach(async () => {
  await client.query(`
    TRUNCATE notifications.notification_log, notifications.decision, notifications.projection_checkpoints,
      notifications.ruleset, notifications.rule_table_activation, notifications.template_revision`)
  await record(pool, [
    { eventId: 'retried-sent', contact: UNRESOLVED },
    { eventId: 'retried-refused', sendError: 'mailbox on fire' },
    { eventId: 'retried-deferred', sendError: 'EMAIL deferred: quota' },
  ])
  await retryAll(pool, UNRESOLVED)
  await retryAll(pool)
  await record(pool, [{ eventId: 'retried-skipped', contact: UNRESOLVED }])
  await retryAll(pool, aFound({ email: null }), OPTED_OUT)
  await record(pool, [
    { eventId: 'sent' },
    { eventId: 'sent-odd', eventType: 'claim.rejected', reason: 'a "<b>" & {{locator}}\r\n\n' },
    { eventId: 'unknown-type', eventType: 'consent.\u2028given' },
    { eventId: 'in-app', preferences: inApp },
    { eventId: 'no-party', partyLocator: null },
    { eventId: 'no-such-party', partyLocator: null, invalid: true },
    { eventId: 'skipped', preferences: OPTED_OUT },
    { eventId: 'failed', contact: UNRESOLVED },
    { eventId: 'refused', sendError: 'mailbox on fire' },
    { eventId: 'deferred', sendError: 'EMAIL deferred: quota' },
  ])
})

t.test('an unchanged log has no difference to its decisions', async (t) => {
  const statuses = await rowsOf(`
    SELECT event_id, status, attempt_count FROM notifications.notification_log
    WHERE event_id LIKE 'retried-%' ORDER BY event_id`)
  t.strictSame(statuses, [
    { event_id: 'retried-deferred', status: 'SENT', attempt_count: 2 },
    { event_id: 'retried-refused', status: 'SENT', attempt_count: 3 },
    { event_id: 'retried-sent', status: 'SENT', attempt_count: 2 },
    { event_id: 'retried-skipped', status: 'SKIPPED', attempt_count: 1 },
  ])
  t.strictSame(await verify(), {
    isSound: true,
    findings: [],
    said: [],
    summary: { entries: 14, erased: 0, differences: 0, restored: 0, left: 0 },
  })
})

t.test('deleted and changed rows are reported, and only missing ones are inserted', async (t) => {
  for (const eventId of ['sent', 'failed', 'skipped', 'retried-skipped', 'in-app']) {
    await client.query('DELETE FROM notifications.notification_log WHERE event_id = $1', [eventId])
  }
  await client.query(
    `UPDATE notifications.notification_log SET body = replace(body, 'CLM-1', 'CLM-2') WHERE event_id = 'refused'`,
  )
  await client.query(`
    UPDATE notifications.notification_log SET
      created_at = created_at + interval '1 microsecond', attempt_count = 7, party_locator = NULL, channel = 'SMS'
    WHERE event_id = 'retried-sent'`)
  await client.query(`
    INSERT INTO notifications.notification_log (locator, event_id, event_type, channel, status, failure_reason, attempt_count)
    VALUES ('NTF-imported', 'imported', 'claim.paid', 'EMAIL', 'SKIPPED', 'of old', 0)`)
  // Another row has the event id of a deleted one.
  await client.query(`DELETE FROM notifications.notification_log WHERE event_id = 'deferred'`)
  await record(pool, [{ eventId: 'deferred' }])
  const damaged = await everything()

  const verified = await verify()
  t.equal(verified.isSound, false)
  t.strictSame(verified.summary, { entries: 16, erased: 0, differences: 12, restored: 0, left: 12 })
  const said = verified.said.join('\n')
  t.match(said, `${await locatorOf('sent')}: the row is missing (event "sent")\n`)
  t.match(said, 'NTF-imported: no decision explains the row (event "imported")')
  t.match(
    said,
    new RegExp(`${await locatorOf('refused')}: body is .*CLM-2.*, but its decisions give .*CLM-1`),
  )
  t.match(said, `${await locatorOf('retried-sent')}: attempt_count is 7, but its decisions give 2\n`)
  t.match(said, `${await locatorOf('retried-sent')}: created_at is `)
  t.strictSame(await everything(), damaged)

  const rebuilt = await rebuild()
  t.equal(rebuilt.isSound, false)
  t.strictSame(rebuilt.summary, { entries: 16, erased: 0, differences: 12, restored: 5, left: 7 })
  t.strictSame((await everything()).decisions, damaged.decisions)
  t.strictSame((await verify()).summary, { entries: 16, erased: 0, differences: 7, restored: 0, left: 7 })
})

t.test('a log that was lost entirely is rebuilt byte for byte', async (t) => {
  const before = await everything()
  await client.query('TRUNCATE notifications.notification_log')
  const rebuilt = await rebuild()
  t.equal(rebuilt.isSound, true)
  t.strictSame(rebuilt.summary, { entries: 14, erased: 0, differences: 14, restored: 14, left: 0 })
  t.strictSame(await everything(), before)
  t.equal((await verify()).isSound, true)
})

t.test('a decision that its rule table would not make is reported, and never changed', async (t) => {
  const locator = await locatorOf('sent')
  await client.query(
    `UPDATE notifications.decision SET facts = facts || '{"optedOut": true}' WHERE event_id = 'sent'`,
  )
  const before = await everything()
  const { isSound, said } = await rebuild()
  t.equal(isSound, false)
  t.strictSame(said, [
    `${locator}: attempt 1: decided SEND by email by rule "email", but the rule table then in force decides SKIP (event type opted out) by rule "opted-out"`,
  ])
  t.strictSame(await everything(), before)
})

t.test('a source missing in the archive is reported once, with the number of its entries', async (t) => {
  const [{ revision }] = await rowsOf('SELECT revision FROM notifications.ruleset')
  await client.query(`UPDATE notifications.ruleset SET source = source || ' '`)
  const [template] = await rowsOf(
    `DELETE FROM notifications.template_revision WHERE name = 'claim.rejected' RETURNING revision`,
  )
  t.match(
    await verify(),
    { isSound: false, summary: { differences: 0 } },
    'what is not verified is not sound',
  )
  await client.query(`DELETE FROM notifications.notification_log WHERE event_id = 'sent-odd'`)
  await client.query(`UPDATE notifications.decision SET variables = NULL WHERE event_id = 'failed'`)
  const { isSound, findings, summary } = await rebuild()
  t.equal(isSound, false)
  t.strictSame(summary, { entries: 14, erased: 0, differences: 1, restored: 0, left: 1 })
  const unverified = findings.flatMap((finding) => (finding.kind === 'unverified' ? [finding] : []))
  t.equal(findings.length, unverified.length + 1)
  t.strictSame(
    new Map(unverified.map(({ fault, entries }) => [fault, entries])),
    new Map([
      [`the decisions cannot be made again: rule table revision ${revision} was changed in the archive`, 14],
      [`the text cannot be rebuilt: template revision ${template?.revision} is not in the archive`, 1],
      ['the text cannot be rebuilt: the decision has no variables', 1],
    ]),
  )
})

t.test('a row that changed since it was found stays unchanged', async (t) => {
  const before = await everything()
  t.strictSame(
    await restoreMissingEntries(pool, [await locatorOf('sent')], { findTemplate: () => undefined }),
    [],
  )
  t.strictSame(await everything(), before)
})
