import { sql } from 'slonik'

/** The columns of a log entry, under the names of the core. */
export const LOG_COLUMNS = sql.fragment`
  locator, event_id AS "eventId", party_locator AS "partyLocator", event_type AS "eventType", channel, status,
  subject, body, failure_reason AS "failureReason", attempt_count AS "attemptCount", sent_at AS "sentAt",
  created_at AS "createdAt"`
