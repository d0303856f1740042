import type { QueryResultRow } from 'pg'
import type { Publication } from './messages.ts'

type Sql = (query: string, values?: unknown[]) => Promise<QueryResultRow[]>

/** What became of the messages that were published. */
export interface Outcome {
  rows: { status: string; channel: string; reason: string; count: number }[]
  rowCount: number
  rejected: { error: string; count: number }[]
  rejectedCount: number
  /** One message of each channel that was used. */
  samples: Sample[]
}

export interface Sample {
  locator: string
  channel: string
  partyLocator: string
  eventType: string
  subject: string
  body: string
}

/** Reads it from the database. */
export async function readOutcome(sql: Sql, { eventIds, rejectedKey }: Publication): Promise<Outcome> {
  const rows = await sql(
    `SELECT status, channel, coalesce(failure_reason, '') AS reason, count(*)::integer AS count
     FROM notifications.notification_log WHERE event_id = ANY ($1)
     GROUP BY status, channel, reason
     ORDER BY array_position(ARRAY['SENT', 'SKIPPED', 'FAILED'], status), channel, count DESC`,
    [eventIds],
  )
  const rejected = await sql(
    `SELECT error, count(*)::integer AS count FROM notifications.rejected_message WHERE key = $1
     GROUP BY error ORDER BY count DESC, error`,
    [Buffer.from(rejectedKey)],
  )
  // A text message that is urgent and an email that gives a reason show more than others would.
  const samples = await sql(
    `SELECT DISTINCT ON (channel)
       locator, channel, party_locator AS "partyLocator", event_type AS "eventType", subject, body
     FROM notifications.notification_log WHERE event_id = ANY ($1) AND status = 'SENT'
     ORDER BY channel,
       event_type = CASE channel
         WHEN 'EMAIL' THEN 'claim.rejected' WHEN 'SMS' THEN 'invoice.overdue' ELSE 'policy.issued'
       END DESC, length(body) DESC, locator`,
    [eventIds],
  )
  return {
    rows: rows as Outcome['rows'],
    rowCount: total(rows),
    rejected: rejected as Outcome['rejected'],
    rejectedCount: total(rejected),
    samples: samples as Sample[],
  }
}

function total(rows: QueryResultRow[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0)
}
