import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import type { QueryResultRow } from 'pg'
import t, { type Test } from 'tap'
import { readFacts } from '../../src/core/decision/decide.ts'
import { aFound, someFacts } from '../core/build.ts'
import { EVENT_TYPES } from '../core/templates/specified-event-types.ts'
import { anEvent, aWorld, type TopicName } from '../stack/world.ts'
import { onlyRowOf, rowsOf } from './rows.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
/** Well over what a slow party takes, well under what the tests wait for. */
const DEADLINE = '5s'
const GENERIC_SUBJECT = 'News about your insurance'

/** The topic of each kind of event. */
const TOPICS: Readonly<Record<string, TopicName>> = { policy: 'enrollment', claim: 'claims' }

const of = (partyLocator: unknown, envelope: Record<string, unknown> = {}) =>
  anEvent({ partyLocator, ...envelope })
const templated = EVENT_TYPES.map((eventType) => ({
  topic: TOPICS[eventType.split('.')[0] ?? ''] ?? 'billing',
  eventType,
  event: of('party-templates', { eventType, payload: { locator: `LOC-${eventType}` } }),
}))
const untemplated = [
  'pet.adopted',
  'consent.given',
  '__proto__',
  'constructor',
  'toString',
  '{{locator}}',
].map((eventType) => ({ eventType, event: of('party-untemplated', { eventType }) }))
const impossible = ['x'.repeat(10_000), '', '.', '..', 'a\0b', '\ud800', true, ['party-1'], { a: 1 }].map(
  (locator) => ({
    locator,
    event: of(locator),
  }),
)
const FAILED = 'contact could not be resolved: policy administration'
type Outcome = readonly [status: 'SENT' | 'SKIPPED' | 'FAILED', channel: string, failureReason?: string]

/** The outcome of an event for each kind of party; a slow answer is one within the deadline. */
const CASES = {
  email: [of('party-email'), 'SENT', 'EMAIL'],
  sms: [of('party-sms'), 'SENT', 'SMS'],
  inApp: [of('party-in-app'), 'SENT', 'IN_APP'],
  inAppWithoutAddress: [of('neither-in-app'), 'SENT', 'IN_APP'],
  optedOut: [of('party-opted-out'), 'SKIPPED', 'SMS', 'event type opted out'],
  optedOutOfAnother: [of('party-opted-out', { eventType: 'claim.approved' }), 'SENT', 'SMS'],
  noEmail: [of('no-email-1'), 'SKIPPED', 'EMAIL', 'no email on file'],
  noEmailBySms: [of('no-email-sms'), 'SENT', 'SMS'],
  noPhone: [of('no-phone-sms'), 'SKIPPED', 'SMS', 'no phone on file'],
  noPhoneByEmail: [of('no-phone-1'), 'SENT', 'EMAIL'],
  neither: [of('neither-1'), 'SKIPPED', 'EMAIL', 'no email on file'],
  unknown: [of('unknown-1'), 'SKIPPED', 'EMAIL', 'party not found'],
  unknownOptedOut: [of('unknown-opted-out'), 'SKIPPED', 'EMAIL', 'party not found'],
  error: [of('error-1', { payload: { locator: 'CLM-7' } }), 'FAILED', 'EMAIL', `${FAILED} answered 500`],
  errorInApp: [of('error-in-app'), 'FAILED', 'IN_APP', `${FAILED} answered 500`],
  errorOptedOut: [of('error-opted-out'), 'FAILED', 'EMAIL', `${FAILED} answered 500`],
  malformed: [
    of('malformed-1'),
    'FAILED',
    'EMAIL',
    `${FAILED} answered 200 with a body that is not a JSON object`,
  ],
  slow: [of('slow-1'), 'SENT', 'EMAIL'],
  hanging: [of('hanging-1'), 'FAILED', 'EMAIL', `${FAILED} did not answer within 5 s`],
  noParty: [of(undefined), 'SKIPPED', 'EMAIL', 'no party locator'],
  nullParty: [of(null), 'SKIPPED', 'EMAIL', 'no party locator'],
  rejectedFor: [
    of('party-1', {
      eventType: 'claim.rejected',
      payload: { locator: 'CLM-8', reason: 'Too <late> & "odd".' },
    }),
    'SENT',
    'EMAIL',
  ],
  rejectedSilently: [
    of('party-1', { eventType: 'claim.rejected', payload: { locator: 'CLM-9' } }),
    'SENT',
    'EMAIL',
  ],
  noLocator: [of('party-1', { payload: {} }), 'SENT', 'EMAIL'],
} satisfies Record<string, readonly [ReturnType<typeof of>, ...Outcome]>
const events = Object.fromEntries(Object.entries(CASES).map(([name, [event]]) => [name, event])) as Record<
  keyof typeof CASES,
  ReturnType<typeof of>
>
const traced = of('party-traced')

const world = await aWorld(t)
await world.sql(`
  INSERT INTO notifications.notification_preferences (party_locator, email, phone, preferred_channel, opted_out_events)
  SELECT party, 'preferred@example.net', '+1 555 0100', channel, opted_out FROM (VALUES
    ('party-sms', 'SMS', '[]'::jsonb), ('no-email-sms', 'SMS', '[]'), ('no-phone-sms', 'SMS', '[]'),
    ('party-in-app', 'IN_APP', '[]'), ('neither-in-app', 'IN_APP', '[]'), ('error-in-app', 'IN_APP', '[]'),
    ('no-email-1', 'EMAIL', '[]'),
    ('party-opted-out', 'SMS', '["policy.issued", "claim.paid"]'), ('unknown-opted-out', 'EMAIL', '["claim.paid"]'),
    ('error-opted-out', 'EMAIL', '["claim.paid"]')
  ) AS preferences (party, channel, opted_out)`)
/** Of a party with all that the stand-in for policy administration has. */
const FACTS = readFacts(
  'claim.paid',
  { partyLocator: 'a', invalid: false },
  aFound({ phone: '1' }),
  undefined,
)
const startedAt = new Date()
const service = await world.serve({ POLICY_ADMIN_DEADLINE: DEADLINE })
await world.publish([
  ...[...Object.values(events), ...[...untemplated, ...impossible].map(({ event }) => event)].map(
    ({ value }) => ({
      partition: 0,
      value,
    }),
  ),
  ...templated.map(({ topic, event: { value } }) => ({ topic, partition: 0, value })),
  { topic: 'billing', partition: 1, value: of('party-before').value },
  {
    topic: 'billing',
    partition: 1,
    value: traced.value,
    headers: { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` },
  },
])
await world.caughtUp()
const log = await rowsOf(world, 'notification_log')
const decisions = await rowsOf(world, 'decision')
const rowOf = (event: { eventId: string }) => onlyRowOf(log, event)
const decisionOf = (event: { eventId: string }) => onlyRowOf(decisions, event)

/** Asserts on the row of an event: what was not sent has nothing that looks as if it was. */
function hasOutcome(
  t: Test,
  event: { eventId: string },
  [status, channel, failureReason]: Outcome,
  what = event.eventId,
): void {
  const isSent = status === 'SENT'
  const { body, subject, sent_at, ...row } = rowOf(event)
  const attempt_count = isSent ? 1 : 0
  t.match(row, { status, channel, failure_reason: failureReason ?? null, attempt_count }, what)
  t.equal(sent_at !== null, isSent, what)
  t.same(
    [body, subject].map(Boolean),
    Array(2).fill(status !== 'SKIPPED'),
    `${what}: a failed row keeps its text`,
  )
  // Senders are for email and SMS only.
  const { receipt } = decisionOf(event)
  t.equal(receipt !== null, isSent && channel !== 'IN_APP', what)
}

t.test('every event gets exactly one row and one decision', async (t) => {
  const ids = [
    ...Object.values(events),
    ...[...templated, ...untemplated, ...impossible].map(({ event }) => event),
  ]
    .map(({ eventId }) => eventId)
    .concat(traced.eventId)
  const found = log.map(({ event_id }) => event_id).filter((id) => ids.includes(id))
  t.strictSame(found.toSorted(), ids.toSorted())
  t.equal(log.length, ids.length + 1)
  t.strictSame(
    decisions.map(({ locator }) => locator).toSorted(),
    log.map(({ locator }) => locator).toSorted(),
  )
})

for (const [name, [event, ...outcome]] of Object.entries(CASES)) {
  const [status, channel, reason] = outcome as Outcome
  t.test(`${name}: ${status} by ${channel}${reason === undefined ? '' : `, ${reason}`}`, async (t) => {
    hasOutcome(t, event, [status, channel, reason])
  })
}

t.test('an event without a party has a row without one; an opted-out party is looked up', async (t) => {
  for (const event of [events.noParty, events.nullParty]) t.equal(rowOf(event).party_locator, null)
  t.ok(world.policyAdministration.requests.paths.includes('/internal/parties/party-opted-out'))
})

t.test('an impossible party locator is skipped and not looked up', async (t) => {
  for (const { event } of impossible) {
    hasOutcome(t, event, ['SKIPPED', 'EMAIL', 'invalid party locator'])
    t.equal(rowOf(event).party_locator, null)
  }
  const asked = world.policyAdministration.requests.paths.filter(
    (path) => !/^\/internal\/parties\/[a-z-]+[0-9]?$/.test(path),
  )
  t.strictSame(asked, [])
})

t.test('each of the 20 event types has its own text with the locator in it', async (t) => {
  t.equal(templated.length, 20)
  const texts = new Set<string>()
  for (const { event, eventType } of templated) {
    hasOutcome(t, event, ['SENT', 'EMAIL'])
    const { event_type, subject, body } = rowOf(event)
    t.equal(event_type, eventType)
    t.ok(body.includes(`(reference LOC-${eventType})`), eventType)
    t.not(subject, GENERIC_SUBJECT)
    texts.add(subject).add(body.replace(`LOC-${eventType}`, ''))
  }
  t.equal(texts.size, 2 * templated.length)
})

t.test('the text of a rejected claim has the reason of the event, if any', async (t) => {
  t.match(
    rowOf(events.rejectedFor).body,
    'could not approve your claim (reference CLM-8).\n\nThis is why: Too <late> & "odd".\n',
  )
  const silent = rowOf(events.rejectedSilently).body
  t.match(silent, 'could not approve your claim (reference CLM-9).\n\nIf you would like to know why')
  t.notMatch(silent, /This is why|null|undefined/)
})

t.test('an event without a locator shows its party locator instead', async (t) => {
  t.match(rowOf(events.noLocator).body, '(reference party-1)')
})

t.test(
  'a type without a template gets the generic message, even if it is named like a built-in property',
  async (t) => {
    for (const { eventType, event } of untemplated) {
      hasOutcome(t, event, ['SENT', 'EMAIL'])
      t.equal(rowOf(event).subject, GENERIC_SUBJECT)
      t.equal(rowOf(event).body, `A ${eventType} event has occurred`)
    }
  },
)

/** Takes the columns out that no two runs share, having checked their shape. */
function withoutChance(t: Test, row: QueryResultRow): QueryResultRow {
  const { locator, created_at, decided_at, sent_at, last_attempt_at, ...rest } = row
  t.match(locator, /^NTF-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const times = [created_at, decided_at, sent_at, last_attempt_at].filter((time) => time instanceof Date)
  t.equal(new Set(times.map(Number)).size, 1, 'all of it happened in one transaction')
  t.ok(times.every((time) => time >= startedAt && time <= new Date()))
  return { ...rest, sent: sent_at instanceof Date, attempted: last_attempt_at instanceof Date }
}

const sha256 = (file: string) =>
  createHash('sha256')
    .update(readFileSync(new URL(`../../${file}`, import.meta.url)))
    .digest('hex')
const template_revision = sha256('templates/claim.paid.mustache')
const TEXT = {
  subject: 'Your claim has been paid',
  body: 'Good news: your claim (reference CLM-1) has been paid. It may take a few days until the money reaches you.',
}
const FAILURE = `${FAILED} answered 500`

/** The columns that differ by status: those of both tables, those of the log row, those of the decision. */
const COLUMNS = {
  email: [
    { party_locator: 'party-email', channel: 'EMAIL' },
    { ...{ status: 'SENT', ...TEXT, failure_reason: null, attempt_count: 1 }, sent: true, attempted: true },
    { outcome: 'SEND', rule_id: 'email', reason: null, facts: FACTS, attempt: 1, template_revision },
  ],
  error: [
    { party_locator: 'error-1', channel: 'EMAIL' },
    {
      ...{ status: 'FAILED', subject: TEXT.subject, body: TEXT.body.replace('CLM-1', 'CLM-7') },
      ...{ failure_reason: FAILURE, attempt_count: 0, sent: false, attempted: true },
    },
    {
      ...{ outcome: 'FAIL', rule_id: 'unresolved', reason: FAILURE, attempt: 0, template_revision },
      ...{ facts: someFacts({ party: 'unresolved' }), variables: { locator: 'CLM-7' } },
    },
  ],
  optedOut: [
    { party_locator: 'party-opted-out', channel: 'SMS' },
    {
      ...{ status: 'SKIPPED', subject: null, body: null, failure_reason: 'event type opted out' },
      ...{ attempt_count: 0, sent: false, attempted: false },
    },
    {
      ...{ outcome: 'SKIP', rule_id: 'opted-out', reason: 'event type opted out', attempt: 0 },
      ...{ facts: { ...FACTS, optedOut: true, preferredChannel: 'SMS' }, template_revision: null },
    },
  ],
} as const

for (const [name, [both, entry, decision]] of Object.entries(COLUMNS)) {
  t.test(`every column of log row and decision is as specified: ${entry.status}`, async (t) => {
    const event = events[name as keyof typeof COLUMNS]
    const common = { ...both, event_id: event.eventId, event_type: 'claim.paid' }
    const { body, ...row } = withoutChance(t, rowOf(event))
    t.strictSame({ ...row, body: body?.replace('Hello,\n\n', '') ?? null }, { ...common, ...entry })
    const { receipt, ...decided } = withoutChance(t, decisionOf(event))
    t.equal(receipt !== null, decision.outcome === 'SEND')
    t.strictSame(decided, {
      ...{ ...common, preference_change_id: null, unknown_attempt: null, send_error: null, trace_id: null },
      ...{ erased_at: null, retried_by: null, retried_because: null, sent: false, attempted: false },
      rule_table_revision: sha256('rules/dispatch.csv'),
      envelope_map_revision: sha256('rules/envelope.json'),
      ...{ topic: world.topics.claims, partition_id: 0 },
      offset: String(Object.keys(events).indexOf(name)),
      ...decision,
      variables: {
        eventType: 'claim.paid',
        locator: 'CLM-1',
        reason: null,
        ...('variables' in decision && decision.variables),
      },
    })
  })
}

t.test('a decision records the origin of its event, and its trace', async (t) => {
  const place = { topic: world.topics.billing, partition_id: 1, offset: '1', trace_id: TRACE_ID }
  t.match(decisionOf(traced), place)
})

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
    const rows = await world.sql(`SELECT whole::text FROM notifications.${tablename} AS whole`)
    const text = JSON.stringify(rows)
    t.notMatch(text, /@example\.com|7946 0000/, `${tablename} holds nothing of policy administration`)
    if (tablename !== 'notification_preferences') t.notMatch(text, /@example\.net|555 0100/, tablename)
  }
  t.notMatch(JSON.stringify([service.lines, service.stderr]), /@example\.(com|net)|7946 0000|555 0100/)
})

t.test('no file of the service creates a Kafka producer', async (t) => {
  const src = new URL('../../src/', import.meta.url)
  const files = (await readdir(src, { recursive: true })).filter((name) => name.endsWith('.ts'))
  t.ok(files.includes('kafka/consumer.ts'))
  for (const name of files) t.notMatch(await readFile(new URL(name, src), 'utf8'), /\bproducer\s*\(/, name)
})
