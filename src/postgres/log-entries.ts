import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { CHANNELS } from '../core/channel.ts'
import type { Facts } from '../core/facts.ts'
import type { DecisionRecord, ExplainedLogEntry } from '../core/log-entry.ts'
import { OUTCOMES } from '../core/rules/verdict.ts'
import { LOG_COLUMNS, logRow } from './log-rows.ts'

const decision = z.object({
  attempt: z.number(),
  outcome: z.enum(OUTCOMES),
  channel: z.enum(CHANNELS),
  ruleId: z.string(),
  reason: z.string().nullable(),
  facts: z.custom<Facts>((facts) => typeof facts === 'object' && facts !== null),
  templateRevision: z.string().nullable(),
  ruleTableRevision: z.string(),
  receipt: z.string().nullable(),
  sendError: z.string().nullable(),
  decidedAt: z.string(),
  topic: z.string(),
  partition: z.number(),
  offset: z.string(),
  traceId: z.string().nullable(),
}) satisfies z.ZodType<DecisionRecord>

const explainedRow = logRow.extend({ decisions: z.array(decision) })

/** One log entry with the decisions behind it, or null. */
export function readLogEntry(pool: DatabasePool, locator: string): Promise<ExplainedLogEntry | null> {
  return pool.maybeOne(logEntryQuery(locator))
}

/** The query for one entry and its decisions. */
export function logEntryQuery(locator: string) {
  return sql.type(explainedRow)`
    SELECT ${LOG_COLUMNS}, ARRAY(
      SELECT json_build_object(
        'attempt', attempt, 'outcome', outcome, 'channel', channel, 'ruleId', rule_id, 'reason', reason,
        'facts', facts, 'templateRevision', template_revision, 'ruleTableRevision', rule_table_revision,
        'receipt', receipt, 'sendError', send_error,
        'decidedAt', to_char(decided_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'topic', topic, 'partition', partition_id, 'offset', "offset"::text, 'traceId', trace_id
      )
      FROM notifications.decision WHERE decision.locator = notification_log.locator ORDER BY attempt
    ) AS decisions
    FROM notifications.notification_log WHERE locator = ${locator}`
}
