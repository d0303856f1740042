import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { CHANNELS } from '../core/channel.ts'
import { STATUSES } from '../core/entry.ts'
import type { Facts } from '../core/facts.ts'
import type {
  DecisionRecord,
  ExplainedLogEntry,
  LogEntry,
  LogFilter,
  LogPage,
  LogPageRequest,
} from '../core/log-entry.ts'
import { OUTCOMES } from '../core/rules/verdict.ts'

const COLUMNS = sql.fragment`
  locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
  sent_at, created_at`

const logRow = z
  .object({
    locator: z.string(),
    event_id: z.string(),
    party_locator: z.string().nullable(),
    event_type: z.string(),
    channel: z.enum(CHANNELS),
    status: z.enum(STATUSES),
    subject: z.string().nullable(),
    body: z.string().nullable(),
    failure_reason: z.string().nullable(),
    attempt_count: z.number(),
    sent_at: z.string().nullable(),
    created_at: z.string(),
  })
  .transform(
    (row): LogEntry => ({
      locator: row.locator,
      eventId: row.event_id,
      partyLocator: row.party_locator,
      eventType: row.event_type,
      channel: row.channel,
      status: row.status,
      subject: row.subject,
      body: row.body,
      failureReason: row.failure_reason,
      attemptCount: row.attempt_count,
      sentAt: row.sent_at,
      createdAt: row.created_at,
    }),
  )

const decisionRow = z
  .object({
    attempt: z.number(),
    outcome: z.enum(OUTCOMES),
    channel: z.enum(CHANNELS),
    rule_id: z.string(),
    reason: z.string().nullable(),
    facts: z.custom<Facts>((facts) => typeof facts === 'object' && facts !== null),
    template_revision: z.string().nullable(),
    rule_table_revision: z.string(),
    receipt: z.string().nullable(),
    send_error: z.string().nullable(),
    decided_at: z.string(),
    topic: z.string(),
    partition_id: z.number(),
    offset: z.bigint(),
    trace_id: z.string().nullable(),
  })
  .transform(
    (row): DecisionRecord => ({
      attempt: row.attempt,
      outcome: row.outcome,
      channel: row.channel,
      ruleId: row.rule_id,
      reason: row.reason,
      facts: row.facts,
      templateRevision: row.template_revision,
      ruleTableRevision: row.rule_table_revision,
      receipt: row.receipt,
      sendError: row.send_error,
      decidedAt: row.decided_at,
      topic: row.topic,
      partition: row.partition_id,
      offset: String(row.offset),
      traceId: row.trace_id,
    }),
  )

/** One page of the log, newest first: a scan of the locators, which are UUIDv7, below the last one seen. */
export async function listLogEntries(
  pool: DatabasePool,
  filter: LogFilter,
  page: LogPageRequest,
): Promise<LogPage> {
  const conditions = [
    filter.partyLocator === undefined ? null : sql.fragment`party_locator = ${filter.partyLocator}`,
    filter.eventType === undefined ? null : sql.fragment`event_type = ${filter.eventType}`,
    filter.status === undefined ? null : sql.fragment`status = ${filter.status}`,
    page.after === null ? null : sql.fragment`locator < ${page.after}`,
  ].filter((condition) => condition !== null)
  const where =
    conditions.length === 0
      ? sql.fragment``
      : sql.fragment`WHERE ${sql.join(conditions, sql.fragment` AND `)}`
  const rows = await pool.any(sql.type(logRow)`
    SELECT ${COLUMNS} FROM notifications.notification_log ${where}
    ORDER BY locator DESC LIMIT ${page.limit + 1}`)
  const items = rows.slice(0, page.limit)
  return { items, nextCursor: rows.length > page.limit ? (items.at(-1)?.locator ?? null) : null }
}

/** One log entry with the decisions behind it, or null. */
export async function readLogEntry(pool: DatabasePool, locator: string): Promise<ExplainedLogEntry | null> {
  const entry = await pool.maybeOne(sql.type(logRow)`
    SELECT ${COLUMNS} FROM notifications.notification_log WHERE locator = ${locator}`)
  if (entry === null) return null
  const decisions = await pool.any(sql.type(decisionRow)`
    SELECT
      attempt, outcome, channel, rule_id, reason, facts, template_revision, rule_table_revision, receipt,
      send_error, decided_at,
      topic, partition_id, "offset", trace_id
    FROM notifications.decision WHERE locator = ${locator} ORDER BY attempt`)
  return { ...entry, decisions }
}
