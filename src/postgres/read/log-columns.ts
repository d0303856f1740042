import { sql } from 'slonik'
import { z } from 'zod'
import { CHANNELS } from '../../core/decision/channel.ts'
import { STATUSES } from '../../core/log/entry.ts'

/** One row of the log, under the names of the core. */
export const logRow = z.object({
  locator: z.string(),
  eventId: z.string(),
  partyLocator: z.string().nullable(),
  eventType: z.string(),
  channel: z.enum(CHANNELS),
  status: z.enum(STATUSES),
  subject: z.string().nullable(),
  body: z.string().nullable(),
  failureReason: z.string().nullable(),
  attemptCount: z.number(),
  sentAt: z.string().nullable(),
  createdAt: z.string(),
})

/** The columns of `logRow`. */
export const LOG_COLUMNS = sql.fragment`
  locator, event_id AS "eventId", party_locator AS "partyLocator", event_type AS "eventType", channel, status,
  subject, body, failure_reason AS "failureReason", attempt_count AS "attemptCount", sent_at AS "sentAt",
  created_at AS "createdAt"`
