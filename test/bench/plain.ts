// The plain implementation that the service is compared with: what one would write first, and correct. Message by
// message, one contact look-up, one run of the rules engine, one rendering and one transaction each. It is given what
// makes such a program fast: a connection pool, keep-alive, prepared engines, every partition at the same time.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import kafkajs, { type EachMessagePayload } from 'kafkajs'
import mustache from 'mustache'
import { type DatabasePool, type DatabaseTransactionConnection, sql } from 'slonik'
import { Pool } from 'undici'
import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { CHANNELS, type Channel } from '../../src/core/decision/channel.ts'
import type { RecordedFacts } from '../../src/core/decision/facts.ts'
import { compileRules } from '../../src/core/rules/engine.ts'
import { loadRuleTable } from '../../src/core/rules/load-table.ts'
import type { Rule } from '../../src/core/rules/rule.ts'
import { finish, splitSource } from '../../src/core/templates/render.ts'
import { templates } from '../../src/generated/templates.ts'
import { openPool } from '../../src/postgres/connection/pool.ts'

const PARTITION_COUNT_MAX = 9
const CONNECTION_COUNT_MAX = 10
const STOP_TIMEOUT_MS = 10_000

interface Event {
  eventId: string
  eventType: string
  partyLocator: string
  payload: { locator: string; reason?: string }
}

type Contact =
  | { state: 'found'; email: string | null; phone: string | null }
  | { state: 'not found' }
  | { state: 'unresolved'; error: string }

const preferencesRow = z.object({
  preferred_channel: z.enum(CHANNELS),
  opted_out_events: z.array(z.string()),
})
type Preferences = z.infer<typeof preferencesRow>

/** Resolves to the function that stops it. */
async function run(env: NodeJS.ProcessEnv): Promise<() => Promise<void>> {
  const { DATABASE_URL = '', MQ_BROKERS = '', MQ_TOPICS = '', MQ_GROUP_ID = '', POLICY_ADMIN_URL = '' } = env
  const database = await openPool({ databaseUrl: DATABASE_URL, connectionCountMax: CONNECTION_COUNT_MAX })
  const parties = new Pool(POLICY_ADMIN_URL, { connections: CONNECTION_COUNT_MAX })
  const table = await readFile(new URL('../../rules/dispatch.csv', import.meta.url), 'utf8')
  const revision = createHash('sha256').update(table).digest('hex')
  const { rules } = loadRuleTable(table)
  // An engine can do one run at a time, and a partition hands out one message at a time.
  const engines = new Map<string, ReturnType<typeof compileRules>>()
  const engineOf = (topic: string, partition: number) => {
    const key = `${topic}/${partition}`
    const engine = engines.get(key) ?? compileRules(rules)
    engines.set(key, engine)
    return engine
  }

  const kafka = new kafkajs.Kafka({ brokers: MQ_BROKERS.split(','), logLevel: kafkajs.logLevel.ERROR })
  const consumer = kafka.consumer({ groupId: MQ_GROUP_ID })
  await consumer.connect()
  await consumer.subscribe({ topics: MQ_TOPICS.split(','), fromBeginning: true })
  await consumer.run({
    partitionsConsumedConcurrently: PARTITION_COUNT_MAX,
    eachMessage: async (payload) => {
      const event: Event = JSON.parse(String(payload.message.value))
      const contact = await resolveContact(parties, event.partyLocator)
      const preferences = await getPreferences(database, event.partyLocator)
      const facts = factsOf(event, contact, preferences)
      const rule = await engineOf(payload.topic, payload.partition)(facts)
      if (rule === null) throw new Error(`no rule for event ${event.eventId}`)
      const row = composeRow(event, rule, facts, contact)
      await database.transaction((tx) => write(tx, row, revision, payload))
    },
  })
  return async () => {
    await consumer.disconnect()
    await parties.close()
    await database.end()
  }
}

async function resolveContact(parties: Pool, partyLocator: string): Promise<Contact> {
  try {
    const path = `/internal/parties/${encodeURIComponent(partyLocator)}`
    const { statusCode, body } = await parties.request({ method: 'GET', path })
    if (statusCode === 200)
      return { state: 'found', ...((await body.json()) as { email: string; phone: string }) }
    await body.dump()
    return statusCode === 404
      ? { state: 'not found' }
      : { state: 'unresolved', error: `status ${statusCode}` }
  } catch (error) {
    return { state: 'unresolved', error: (error as Error).message }
  }
}

function getPreferences(database: DatabasePool, partyLocator: string): Promise<Preferences | null> {
  return database.maybeOne(sql.type(preferencesRow)`
    SELECT preferred_channel, opted_out_events FROM notifications.notification_preferences
    WHERE party_locator = ${partyLocator}`)
}

function factsOf(event: Event, contact: Contact, preferences: Preferences | null): RecordedFacts {
  const found = contact.state === 'found'
  return {
    eventType: event.eventType,
    party: contact.state,
    optedOut: preferences?.opted_out_events.includes(event.eventType) ?? false,
    preferredChannel: preferences?.preferred_channel ?? 'EMAIL',
    emailOnFile: found ? contact.email !== null : null,
    phoneOnFile: found ? contact.phone !== null : null,
  }
}

function composeRow(event: Event, rule: Rule, facts: RecordedFacts, contact: Contact) {
  const { eventType, payload } = event
  const skipped = rule.outcome === 'SKIP'
  const variables = { eventType, locator: payload.locator, reason: payload.reason ?? null }
  const channel: Channel = rule.sendBy ?? facts.preferredChannel
  const status = { SEND: 'SENT', FAIL: 'FAILED', SKIP: 'SKIPPED' }[rule.outcome]
  return {
    locator: `NTF-${uuidv7()}`,
    event,
    rule,
    facts,
    channel,
    status,
    variables: skipped ? null : variables,
    text: skipped ? null : renderText(variables),
    failureReason: contact.state === 'unresolved' ? `${rule.reason}: ${contact.error}` : rule.reason,
    attemptCount: status === 'SENT' ? 1 : 0,
  }
}
type Row = ReturnType<typeof composeRow>

function renderText(variables: { eventType: string; locator: string; reason: string | null }) {
  const template = templates.byEventType.get(variables.eventType) ?? templates.generic
  const { subject, body } = splitSource(template.source)
  const render = (text: string) => mustache.render(text, variables, undefined, { escape: String })
  return { ...finish({ subject: render(subject), body: render(body) }), revision: template.revision }
}

async function write(
  tx: DatabaseTransactionConnection,
  row: Row,
  ruleTableRevision: string,
  { topic, partition, message: { offset } }: EachMessagePayload,
): Promise<void> {
  const { locator, event, rule, facts, channel, status, variables, text, failureReason, attemptCount } = row
  const { eventId, eventType, partyLocator } = event
  const inserted = await tx.query(sql.unsafe`
    INSERT INTO notifications.notification_log (
      locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
      sent_at, last_attempt_at
    )
    VALUES (
      ${locator}, ${eventId}, ${partyLocator}, ${eventType}, ${channel}, ${status}, ${text?.subject ?? null},
      ${text?.body ?? null}, ${failureReason}, ${attemptCount},
      ${status === 'SENT' ? sql.fragment`now()` : sql.fragment`NULL`},
      ${status === 'SKIPPED' ? sql.fragment`NULL` : sql.fragment`now()`}
    )
    ON CONFLICT (event_id) DO NOTHING`)
  if (inserted.rowCount === 1) {
    const sent = status === 'SENT' && channel !== 'IN_APP'
    const receipt = sent ? `${channel}:${eventId}/${attemptCount}` : null
    await tx.query(sql.unsafe`
      INSERT INTO notifications.decision (
        locator, attempt, event_id, party_locator, event_type, outcome, channel, rule_id, reason, facts, variables,
        template_revision, rule_table_revision, envelope_map_revision, receipt, topic, partition_id, "offset"
      )
      VALUES (
        ${locator}, ${attemptCount}, ${eventId}, ${partyLocator}, ${eventType}, ${rule.outcome}, ${channel}, ${rule.id},
        ${failureReason}, ${JSON.stringify(facts)}, ${variables && JSON.stringify(variables)},
        ${text?.revision ?? null}, ${ruleTableRevision}, ${ruleTableRevision}, ${receipt}, ${topic}, ${partition}, ${offset}
      )`)
  }
  await tx.query(sql.unsafe`
    INSERT INTO notifications.projection_checkpoints (topic, partition_id, "offset")
    VALUES (${topic}, ${partition}, ${offset})
    ON CONFLICT (topic, partition_id) DO UPDATE SET "offset" = excluded."offset", processed_at = now()`)
}

const started = run(process.env)
process.once('disconnect', async () => {
  setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref()
  const stop = await started
  await stop()
  process.exit()
})
