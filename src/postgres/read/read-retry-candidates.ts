import { type CommonQueryMethods, sql } from 'slonik'
import { type RetryCandidate, retryCandidate } from '../../core/attempt/retry-candidate.ts'
import { arrayOf } from '../sql/columns.ts'
import { type GivenUpLimits, isGivenUp } from './log-columns.ts'

/** Rows of the log by their locators, newest first, with what a retry on request needs to know. Locks nothing. */
export function readRetryCandidates(
  pool: CommonQueryMethods,
  limits: GivenUpLimits,
  locators: readonly string[],
): Promise<readonly RetryCandidate[]> {
  const ofEntry = sql.fragment`FROM notifications.decision WHERE decision.locator = entry.locator`
  return pool.any(sql.type(retryCandidate)`
    SELECT
      locator, event_id AS "eventId", event_type AS "eventType", party_locator AS "partyLocator", status, subject, body,
      failure_reason AS "failureReason", created_at AS "createdAt", attempt_count AS "attemptCount", ${isGivenUp(limits)} AS "isGivenUp",
      EXISTS (SELECT ${ofEntry} AND erased_at IS NOT NULL)
        OR EXISTS (SELECT FROM notifications.erasure WHERE erasure.party_locator = entry.party_locator) AS "isErased",
      (SELECT count(*)::integer ${ofEntry} AND outcome = 'SEND' AND attempt > 0) AS "sendCount",
      (SELECT unknown_attempt ${ofEntry} AND outcome = 'SEND' ORDER BY attempt DESC LIMIT 1) AS "unknownKey",
      (
        SELECT json_build_object('ruleId', rule_id, 'variables', variables) ${ofEntry} ORDER BY attempt DESC LIMIT 1
      ) AS decision
    FROM notifications.notification_log AS entry
    WHERE locator = ANY(${arrayOf('text', locators)})
    ORDER BY created_at DESC, locator DESC`)
}
