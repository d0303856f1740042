import { type CommonQueryMethods, sql } from 'slonik'
import { type RetryCandidate, retryCandidate } from '../../core/attempt/retry-candidate.ts'
import { sqlArray } from '../sql/columns.ts'
import { withinBytes } from '../sql/page-bytes.ts'
import {
  DUE_BYTES,
  DUE_COLUMNS,
  type GivenUpLimits,
  HAS_INVALID_LOCATOR,
  isGivenUp,
  WITH_DECIDED,
} from './log-columns.ts'

const NEWEST_FIRST = sql.fragment`created_at DESC, locator DESC`

/**
 * Rows of the log by their locators, newest first, with the data that a requested retry needs: as many as fit into
 * `PAGE_BYTES_MAX`. Locks nothing.
 */
export function readRetryCandidates(
  pool: CommonQueryMethods,
  limits: GivenUpLimits,
  locators: readonly string[],
): Promise<readonly RetryCandidate[]> {
  const ofEntry = sql.fragment`FROM notifications.decision WHERE decision.locator = notification_log.locator`
  const named = sql.fragment`
    SELECT * FROM notifications.notification_log ${WITH_DECIDED}
    WHERE locator = ANY(${sqlArray('text', locators)})`
  return pool.any(sql.type(retryCandidate)`
    SELECT
      ${DUE_COLUMNS}, status, ${isGivenUp(limits)} AS "isGivenUp",
      EXISTS (SELECT ${ofEntry} AND erased_at IS NOT NULL)
        OR EXISTS (SELECT FROM notifications.erasure WHERE erasure.party_locator = notification_log.party_locator) AS "isErased",
      (
        SELECT json_build_object(
          'ruleId', rule_id, 'variables', variables, 'hasInvalidLocator', ${HAS_INVALID_LOCATOR}
        ) ${ofEntry} ORDER BY attempt DESC LIMIT 1
      ) AS decision
    FROM (${withinBytes(named, NEWEST_FIRST, DUE_BYTES)}) AS notification_log
    ORDER BY ${NEWEST_FIRST}`)
}
