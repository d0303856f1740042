import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { QueryResultRow } from 'pg'
import t from 'tap'
import { readFacts } from '../../src/service/decide/decision/decide.ts'
import { aFound, sha256, someFacts } from '../service/build.ts'
import { committedOffsets, endOffsets } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { onlyRowOf, rowsOf } from './rows.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Well over what a slow party takes. */
const DEADLINE = '5s'
const FAILED = 'contact could not be resolved: policy administration'

type Case = readonly [party: unknown, status: string, channel: string, reason?: string]

/** The outcome of an event by its party. The chaos tests have all kinds. */
const PARTIES: Readonly<Record<string, Case>> = {
  email: ['party-email', 'SENT', 'EMAIL'],
  sms: ['party-sms', 'SENT', 'SMS'],
  inApp: ['party-in-app', 'SENT', 'IN_APP'],
  optedOut: ['party-opted-out', 'SKIPPED', 'SMS', 'event type opted out'],
  error: ['error-1', 'FAILED', 'EMAIL', `${FAILED} had an error (HTTP 500)`],
  slow: ['slow-1', 'SENT', 'EMAIL'],
  hanging: ['hanging-1', 'FAILED', 'EMAIL', `${FAILED} did not answer within 5 s`],
  noParty: [undefined, 'SKIPPED', 'EMAIL', 'no party locator'],
  ...Object.fromEntries(
    ['x'.repeat(10_000), '..', 'a\0b', '\ud800', true].map((locator): [string, Case] => [
      `invalid ${JSON.stringify(String(locator).slice(0, 3))}`,
      [locator, 'SKIPPED', 'EMAIL', 'invalid party locator'],
    ]),
  ),
}
const events = new Map(
  Object.entries(PARTIES).map(([name, [partyLocator]]) => [name, anEvent({ partyLocator })] as const),
)

const world = await aWorld(t)
await world.sql(`
  INSERT INTO notifications.notification_preferences (party_locator, email, phone, preferred_channel, opted_out_events)
  SELECT party, 'preferred@example.net', '+1 555 0100', channel, opted_out FROM (VALUES
    ('party-sms', 'SMS', '[]'::jsonb), ('party-in-app', 'IN_APP', '[]'),
    ('party-opted-out', 'SMS', '["policy.issued", "claim.paid"]')
  ) AS preferences (party, channel, opted_out)`)
const startedAt = new Date()
const service = await world.serve({ POLICY_ADMIN_DEADLINE: DEADLINE })
await world.publish([...events.values()].map(({ value }) => ({ partition: 0, value })))
await world.caughtUp()
const log = await rowsOf(world, 'notification_log')
const decisions = await rowsOf(world, 'decision')
const eventOf = (name: string) => events.get(name) ?? { eventId: '' }

t.test('every event gets exactly one row and one decision', async (t) => {
  const ids = [...events.values()].map(({ eventId }) => eventId)
  t.strictSame(log.map(({ event_id }) => event_id).sort(), ids.sort())
  t.strictSame(decisions.map(({ locator }) => locator).sort(), log.map(({ locator }) => locator).sort())
})

for (const [name, [, status, channel, reason]] of Object.entries(PARTIES)) {
  t.test(`${name}: ${status} by ${channel}${reason === undefined ? '' : `, ${reason}`}`, async (t) => {
    const isSent = status === 'SENT'
    const { body, subject, sent_at, ...row } = onlyRowOf(log, eventOf(name))
    t.match(row, { status, channel, failure_reason: reason ?? null, attempt_count: isSent ? 1 : 0 })
    t.equal(sent_at !== null, isSent)
    t.strictSame(
      [body, subject].map(Boolean),
      Array(2).fill(status !== 'SKIPPED'),
      'a failed row keeps its text',
    )
    // Senders are for email and SMS only.
    t.equal(onlyRowOf(decisions, eventOf(name)).receipt !== null, isSent && channel !== 'IN_APP')
  })
}

t.test('the offset of the group in Kafka follows the checkpoint', async (t) => {
  const { claims } = world.topics
  const end = (await endOffsets(world.brokers, claims))[0]
  const isCommitted = async () => (await committedOffsets(world.brokers, world.groupId, claims))[0] === end
  t.ok(await until(isCommitted, { what: 'the offset to be committed' }))
})

t.test('an invalid party locator is not looked up; an opted-out party is', async (t) => {
  const { paths } = world.policyAdministration.requests
  t.ok(paths.includes('/internal/parties/party-opted-out'))
  t.strictSame(
    paths.filter((path) => !/^\/internal\/parties\/[a-z-]+[0-9]?$/.test(path)),
    [],
  )
})

/** Takes out the columns that no two runs share, having checked their shape. */
function withoutChance(row: QueryResultRow): QueryResultRow {
  const { locator, created_at, decided_at, sent_at, last_attempt_at, ...rest } = row
  t.match(locator, /^NTF-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const times = [created_at, decided_at, sent_at, last_attempt_at].filter((time) => time instanceof Date)
  t.equal(new Set(times.map(Number)).size, 1, 'all of it happened in one transaction')
  t.ok(times.every((time) => time >= startedAt && time <= new Date()))
  return { ...rest, sent: sent_at instanceof Date, attempted: last_attempt_at instanceof Date }
}

const revisionOf = (file: string) => sha256(readFileSync(join(ROOT, 'test/first', file), 'utf8'))
const template_revision = revisionOf('templates/claim.paid.mustache')
const FACTS = readFacts(
  { eventType: 'claim.paid', partyLocator: 'a', stated: {} },
  aFound({ phone: '1' }),
  undefined,
)
const TEXT = {
  subject: 'Your claim has been paid',
  body: 'Hello,\n\nGood news: your claim (reference CLM-1) has been paid. It may take a few days until the money reaches you.',
}
const NOTHING = { subject: null, body: null, attempt_count: 0, sent: false, attempted: false }

/** The columns that differ by status: those of the log row, those of the decision. */
const COLUMNS = {
  email: [
    { status: 'SENT', ...TEXT, failure_reason: null, attempt_count: 1, sent: true, attempted: true },
    { outcome: 'SEND', rule_id: 'email', reason: null, facts: FACTS, attempt: 1, template_revision },
  ],
  error: [
    {
      ...NOTHING,
      status: 'FAILED',
      ...TEXT,
      failure_reason: `${FAILED} had an error (HTTP 500)`,
      attempted: true,
    },
    {
      ...{
        outcome: 'FAIL',
        rule_id: 'unresolved',
        reason: `${FAILED} had an error (HTTP 500)`,
        attempt: 0,
        template_revision,
      },
      facts: someFacts({ party: 'unresolved' }),
    },
  ],
  optedOut: [
    { ...NOTHING, status: 'SKIPPED', failure_reason: 'event type opted out' },
    {
      ...{ outcome: 'SKIP', rule_id: 'opted-out', reason: 'event type opted out', attempt: 0 },
      ...{ facts: { ...FACTS, optedOut: true, preferredChannel: 'SMS' }, template_revision: null },
    },
  ],
} as const

for (const [name, [entry, decision]] of Object.entries(COLUMNS)) {
  t.test(`every column of log row and decision is as specified: ${entry.status}`, async (t) => {
    const { eventId: event_id } = eventOf(name)
    const [party_locator, , channel] = PARTIES[name] ?? []
    const common = { event_id, event_type: 'claim.paid', party_locator, channel }
    t.strictSame(withoutChance(onlyRowOf(log, eventOf(name))), { ...common, ...entry })
    const { receipt, ...decided } = withoutChance(onlyRowOf(decisions, eventOf(name)))
    t.equal(receipt !== null, decision.outcome === 'SEND')
    t.strictSame(decided, {
      ...{ ...common, preference_change_id: null, unknown_attempt: null, send_error: null, trace_id: null },
      ...{
        erased_at: null,
        retried_by: null,
        retried_because: null,
        request_id: null,
        sent: false,
        attempted: false,
      },
      recorded_only: receipt === null ? null : true,
      rule_table_revision: revisionOf('rules/dispatch.csv'),
      envelope_map_revision: revisionOf('rules/envelope.json'),
      ...{ topic: world.topics.claims, partition_id: 0, offset: String([...events.keys()].indexOf(name)) },
      variables: { eventType: 'claim.paid', locator: 'CLM-1', reason: null },
      ...decision,
    })
  })
}

t.test('every revision that a decision names is archived with its source', async (t) => {
  const missing = await world.sql(`
    SELECT event_id FROM notifications.decision
    WHERE NOT EXISTS (
      SELECT FROM notifications.ruleset
      WHERE revision = rule_table_revision AND revision = encode(sha256(convert_to(source, 'UTF8')), 'hex')
    ) OR (outcome = 'SKIP') <> (template_revision IS NULL) OR (outcome <> 'SKIP' AND NOT EXISTS (
      SELECT FROM notifications.template_revision
      WHERE revision = decision.template_revision AND name IN (event_type, 'generic')
        AND revision = encode(sha256(convert_to(source, 'UTF8')), 'hex')
    ))`)
  t.strictSame(missing, [])
})

t.test('no contact detail is copied into any table or into the log of the process', async (t) => {
  const tables = await world.sql(`SELECT tablename FROM pg_tables WHERE schemaname = 'notifications'`)
  t.ok(tables.length >= 8)
  for (const { tablename } of tables) {
    const text = JSON.stringify(
      await world.sql(`SELECT whole::text FROM notifications.${tablename} AS whole`),
    )
    t.notMatch(text, /@example\.com|7946 0000/, `${tablename} holds nothing of policy administration`)
    if (tablename !== 'notification_preferences') t.notMatch(text, /@example\.net|555 0100/, tablename)
  }
  t.notMatch(JSON.stringify([service.lines, service.stderr]), /@example\.(com|net)|7946 0000|555 0100/)
})

t.test('no file of the service creates a Kafka producer', async (t) => {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  for (const name of files.filter((file) => file.endsWith('.ts')))
    t.notMatch(readFileSync(join(ROOT, 'src', name), 'utf8'), /\bproducer\s*\(/, name)
})
