// The floor under any such service: raw pg and kafkajs in batches that make the same look-ups and write the same rows
// and checkpoints as fast as it can be done, and nothing else. No rule table, but the few ifs that the present one comes
// to; no validation; no fence, but unique ids and kafkajs's own retry; no senders, but their receipts; no revisions that
// would be worked out; one statement for the whole of a batch.
import { randomUUID } from 'node:crypto'
import kafkajs, { type KafkaMessage } from 'kafkajs'
import pg from 'pg'
import { templates } from '#generated/templates.ts'
import type { Channel } from '../../src/service/decide/party/channel.ts'
import { findTemplate } from '../../src/service/decide/templates/render.ts'
import { type ArrayElement, type ArrayType, binaryArray } from '../../src/service/store/sql/binary-array.ts'
import { createFloorContacts, type FloorContact } from './floor-contacts.ts'

const BATCH_COUNT_MAX = 1_000
const PARTITION_COUNT_MAX = 8
const CONNECTION_COUNT_MAX = 32
const REVISION = '0'.repeat(64)
const STOP_TIMEOUT_MS = 10_000

const LOOK_UP = `
  SELECT
    ARRAY(SELECT event_id FROM notifications.notification_log WHERE event_id = ANY($1::text[])) AS logged,
    ARRAY(
      SELECT json_build_array(party_locator, preferred_channel, opted_out_events)
      FROM notifications.notification_preferences WHERE party_locator = ANY($2::text[])
    ) AS preferences`

const WRITE = `
  WITH entry AS MATERIALIZED (
    SELECT * FROM unnest(
      $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[],
      $13::int4[], $14::text[], $15::text[], $16::jsonb[], $17::jsonb[], $18::text[], $19::text[], $20::int8[]
    ) AS entry (
      locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
      outcome, rule_id, facts, variables, template_revision, receipt, "offset"
    )
  ), logged AS (
    INSERT INTO notifications.notification_log (
      locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
      sent_at, last_attempt_at
    )
    SELECT locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
      CASE WHEN status = 'SENT' THEN now() END, CASE WHEN status = 'SENT' THEN now() END
    FROM entry
  ), decided AS (
    INSERT INTO notifications.decision (
      topic, partition_id, rule_table_revision, envelope_map_revision, locator, attempt, event_id, party_locator, event_type, outcome, channel,
      rule_id, reason, facts, variables, template_revision, receipt, "offset"
    )
    SELECT $1, $2, '${REVISION}', '${REVISION}', locator, attempt_count, event_id, party_locator, event_type, outcome, channel,
      rule_id, failure_reason, facts, variables, template_revision, receipt, "offset"
    FROM entry
  )
  INSERT INTO notifications.projection_checkpoints (topic, partition_id, "offset") VALUES ($1, $2, $3)
  ON CONFLICT (topic, partition_id) DO UPDATE SET "offset" = excluded."offset", processed_at = now()`

interface Event {
  eventId: string
  eventType: string
  partyLocator: string
  payload: { locator: string; reason?: string }
  offset: string
}

type Preferences = readonly [partyLocator: string, channel: Channel, optedOutEvents: string[]]
const NO_PREFERENCES: Preferences = ['', 'EMAIL', []]

/** Resolves to a function that stops it. */
async function run(env: NodeJS.ProcessEnv): Promise<() => Promise<void>> {
  const { DATABASE_URL = '', MQ_BROKERS = '', MQ_TOPICS = '', MQ_GROUP_ID = '', POLICY_ADMIN_URL = '' } = env
  const database = new pg.Pool({ connectionString: DATABASE_URL, max: PARTITION_COUNT_MAX })
  const contacts = createFloorContacts(POLICY_ADMIN_URL, CONNECTION_COUNT_MAX)
  const kafka = new kafkajs.Kafka({ brokers: MQ_BROKERS.split(','), logLevel: kafkajs.logLevel.ERROR })
  const consumer = kafka.consumer({ groupId: MQ_GROUP_ID, maxWaitTimeInMs: 500 })
  await consumer.connect()
  await consumer.subscribe({ topics: MQ_TOPICS.split(','), fromBeginning: true })
  await consumer.run({
    partitionsConsumedConcurrently: PARTITION_COUNT_MAX,
    eachBatch: async ({ batch, heartbeat }) => {
      for (let start = 0; start < batch.messages.length; start += BATCH_COUNT_MAX) {
        await dispatch(batch.topic, batch.partition, batch.messages.slice(start, start + BATCH_COUNT_MAX))
        await heartbeat()
      }
    },
  })

  async function dispatch(
    topic: string,
    partition: number,
    messages: readonly KafkaMessage[],
  ): Promise<void> {
    const events = new Map(messages.map(parse).map((event) => [event.eventId, event]))
    const { rows } = await database.query({
      name: 'look-up',
      text: LOOK_UP,
      values: [[...events.keys()], partiesOf(events.values())].map((values) =>
        binaryArray('text', values, (value) => value),
      ),
    })
    for (const eventId of rows[0].logged) events.delete(eventId)
    const preferences = new Map<string, Preferences>(
      rows[0].preferences.map((row: Preferences) => [row[0], row]),
    )
    const fresh = [...events.values()]
    const found = await contacts.lookUp(partiesOf(fresh))
    const entries = fresh.map((event) =>
      compose(event, found.get(event.partyLocator) ?? null, preferences.get(event.partyLocator)),
    )
    await database.query({
      name: 'write',
      text: WRITE,
      values: [topic, partition, messages.at(-1)?.offset, ...columnsOf(entries)],
    })
  }

  return async () => {
    await consumer.disconnect()
    contacts.close()
    await database.end()
  }
}

function parse({ value, offset }: KafkaMessage): Event {
  return { ...JSON.parse(String(value)), offset }
}

function partiesOf(events: Iterable<Event>): string[] {
  const parties = new Set<string>()
  for (const { partyLocator } of events) parties.add(partyLocator)
  return [...parties]
}

/** The rule table as conditions, for parties that are all looked up, in the order of its rows. */
function decide(contact: FloorContact, channel: Channel, optedOut: boolean) {
  if (contact === null) return ['SKIP', 'party-not-found', 'party not found'] as const
  if (optedOut) return ['SKIP', 'opted-out', 'event type opted out'] as const
  if (channel === 'IN_APP') return ['SEND', 'in-app', null] as const
  if (channel === 'SMS') {
    return contact.phone
      ? (['SEND', 'sms', null] as const)
      : (['SKIP', 'no-phone', 'no phone on file'] as const)
  }
  return contact.email
    ? (['SEND', 'email', null] as const)
    : (['SKIP', 'no-email', 'no email on file'] as const)
}

function compose(event: Event, contact: FloorContact, preferences: Preferences = NO_PREFERENCES) {
  const { eventId, eventType, payload } = event
  const [, channel, optedOutEvents] = preferences
  const optedOut = optedOutEvents.includes(eventType)
  const [outcome, ruleId, reason] = decide(contact, channel, optedOut)
  const sent = outcome === 'SEND'
  const variables = { eventType, locator: payload.locator, reason: payload.reason ?? null }
  const template = findTemplate(templates, variables)
  return {
    event,
    locator: newLocator(),
    channel,
    status: sent ? 'SENT' : 'SKIPPED',
    subject: sent ? template.subject(variables) : null,
    body: sent ? template.body(variables).trimEnd() : null,
    reason,
    attemptCount: sent ? 1 : 0,
    outcome,
    ruleId,
    facts: JSON.stringify({
      eventType,
      party: contact === null ? 'not found' : 'found',
      optedOut,
      preferredChannel: channel,
      emailOnFile: contact && contact.email !== null,
      phoneOnFile: contact && contact.phone !== null,
    }),
    variables: sent ? JSON.stringify(variables) : null,
    templateRevision: sent ? template.revision : null,
    receipt: sent && channel !== 'IN_APP' ? `${channel}:${eventId}/1` : null,
  }
}
type Entry = ReturnType<typeof compose>

/** A UUIDv7 from Node's pool of random numbers. */
function newLocator(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  return `NTF-${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

function columnsOf(entries: readonly Entry[]): Buffer[] {
  const column = (type: ArrayType, of: (entry: Entry) => ArrayElement) => binaryArray(type, entries, of)
  return [
    column('text', (entry) => entry.locator),
    column('text', (entry) => entry.event.eventId),
    column('text', (entry) => entry.event.partyLocator),
    column('text', (entry) => entry.event.eventType),
    column('text', (entry) => entry.channel),
    column('text', (entry) => entry.status),
    column('text', (entry) => entry.subject),
    column('text', (entry) => entry.body),
    column('text', (entry) => entry.reason),
    column('int4', (entry) => entry.attemptCount),
    column('text', (entry) => entry.outcome),
    column('text', (entry) => entry.ruleId),
    column('jsonb', (entry) => entry.facts),
    column('jsonb', (entry) => entry.variables),
    column('text', (entry) => entry.templateRevision),
    column('text', (entry) => entry.receipt),
    column('int8', (entry) => entry.event.offset),
  ]
}

const started = run(process.env)
process.once('disconnect', async () => {
  setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref()
  const stop = await started
  await stop()
  process.exit()
})
