import { type FragmentSqlToken, sql } from 'slonik'
import { RECORDED } from '../../decide/attempt/delivery.ts'
import { INVALID_LOCATOR_IN_1_0 } from '../../decide/decision/facts.ts'
import { INVALID_LOCATOR } from '../../decide/event/stated-facts.ts'
import { type GivenUpLimits, isGivenUp } from './given-up.ts'
import { jsonBytes, textBytes } from './page-bytes.ts'

export const NEWEST_FIRST = sql.fragment`created_at DESC, locator DESC`

/** The columns of a log entry, under their names in the core. */
export const LOG_COLUMNS = sql.fragment`
  locator, event_id AS "eventId", party_locator AS "partyLocator", event_type AS "eventType", channel, status,
  subject, body, failure_reason AS "failureReason", attempt_count AS "attemptCount", sent_at AS "sentAt",
  created_at AS "createdAt"`

/** The columns of a row to retry, joined `WITH_DECIDED`. */
export const DUE_COLUMNS = sql.fragment`
  locator, event_id AS "eventId", event_type AS "eventType", party_locator AS "partyLocator", status, subject, body,
  attempt_count AS "attemptCount", created_at AS "createdAt", send_count AS "sendCount", unknown_key AS "unknownKey"`

/** Joins a row with data for a retry from its decisions. A decision to send with attempt 0 was deferred. */
export const WITH_DECIDED = sql.fragment`
  CROSS JOIN LATERAL (
    SELECT
      count(*) FILTER (WHERE outcome = 'SEND' AND attempt > 0)::integer AS send_count,
      (array_agg(unknown_attempt ORDER BY attempt DESC) FILTER (WHERE outcome = 'SEND'))[1] AS unknown_key,
      max(${jsonBytes(sql.fragment`variables`)}) AS variables_bytes
    FROM notifications.decision WHERE decision.locator = notification_log.locator
  ) AS decided`

/** Bytes of a row to retry, joined `WITH_DECIDED`: the next decision repeats the variables. */
export const DUE_BYTES = sql.fragment`
  (coalesce(variables_bytes, 0) + ${textBytes(sql.fragment`subject`, sql.fragment`body`, sql.fragment`failure_reason`)})`

/** True if a placeholder recorded the message of a decision. Null if an erasure deleted the receipt. */
export const RECORDED_ONLY = sql.fragment`
  coalesce(recorded_only, CASE WHEN erased_at IS NULL OR receipt IS NULL THEN coalesce(starts_with(receipt, ${RECORDED}), false) END)`

/** The columns of a listed entry, joined `WITH_LAST`. */
export function listedColumns(limits: GivenUpLimits) {
  return sql.fragment`${LOG_COLUMNS}, ${isGivenUp(limits)} AS "givenUp", last.reference, last.receipt, last."recordedOnly"`
}

/** Subquery for the last decision of a row. */
export function selectLastDecision(columns: FragmentSqlToken) {
  return sql.fragment`
    SELECT ${columns} FROM notifications.decision
    WHERE decision.locator = notification_log.locator ORDER BY attempt DESC LIMIT 1`
}

const LISTED_OF_LAST = sql.fragment`
  variables ->> 'locator' AS reference, receipt, ${RECORDED_ONLY} AS "recordedOnly", outcome, rule_id AS "ruleId",
  rule_table_revision AS "ruleTableRevision"`
/** Joins a row with its last decision. */
export const WITH_LAST = sql.fragment`LEFT JOIN LATERAL (${selectLastDecision(LISTED_OF_LAST)}) AS last ON true`

/** The beginning of a decision's reference, which an index holds: a B-tree refuses long keys. */
export const REFERENCE = sql.fragment`left(variables ->> 'locator', 255)`

/**
 * A name without separators, reversed, as in the indexes of migrations 0031 and 0032: its endings and spellings form one range.
 * PostgreSQL uses such an index only for exactly this expression.
 */
export function selectEndingKey(name: FragmentSqlToken) {
  return sql.fragment`
    left(reverse(translate(lower((${name}) COLLATE "C"), ' !"#$%&''()*+,-./:;<=>?@[\\]^_\`{|}~', '')), 64)`
}

/** The condition for a decision about an event with an invalid party locator, see `readStated`. */
export const HAS_INVALID_LOCATOR = sql.fragment`
  (facts ? ${INVALID_LOCATOR} OR coalesce(reason = ${INVALID_LOCATOR_IN_1_0}, false))`
