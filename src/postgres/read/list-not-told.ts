import { type CommonQueryMethods, sql } from 'slonik'
import type { LogPageRequest, LogPosition } from '../../core/log/log-page.ts'
import { NOT_TOLD_STATUSES, type NotToldFilter, type NotToldPage, notTold } from '../../core/log/not-told.ts'
import { boundedPage, CANDIDATE_COUNT_MAX, hasReason, isUpTo, rowsAt } from './bounded-page.ts'
import { newestPositions } from './list-log-entries.ts'
import { type GivenUpLimits, isPastRetry } from './log-columns.ts'

/**
 * One page of the entries whose members were not told, newest first: SKIPPED, or FAILED and, by `limits`, past the last
 * retry. A page looks at a bounded number of rows, whatever is asked for: it may come back short, or empty, and still
 * have a `next` to go on from.
 */
export function listNotTold(
  pool: CommonQueryMethods,
  limits: GivenUpLimits,
  filter: NotToldFilter,
  { limit, after }: LogPageRequest,
): Promise<NotToldPage> {
  return boundedPage(pool, candidatesOf(filter, after), limit, (tx, limit, end) =>
    tx.any(notToldQuery(limits, filter, { limit, after, end })),
  )
}

function candidatesOf(filter: NotToldFilter, after: LogPosition | null) {
  return newestNotTold(filter, after, CANDIDATE_COUNT_MAX)
}

/** The query for the newest positions behind `after` among which those are that were not told, as far as an index tells. */
export function newestNotTold(
  { since, eventType, status }: NotToldFilter,
  after: LogPosition | null,
  countMax: number,
) {
  const statuses = status === undefined ? NOT_TOLD_STATUSES : [status]
  return newestPositions(statuses, { eventType, from: since }, after, countMax)
}

/** The condition under which such a row is one of them. */
export function isNotTold(limits: GivenUpLimits) {
  return sql.fragment`(status = 'SKIPPED' OR ${isPastRetry(limits)})`
}

/** The query for the entries behind `after`, up to `end`. */
export function notToldQuery(
  limits: GivenUpLimits,
  filter: NotToldFilter,
  { limit, after, end }: LogPageRequest & { readonly end: LogPosition | null },
) {
  return sql.type(notTold)`
    SELECT
      locator, event_id AS "eventId", party_locator AS "partyLocator", event_type AS "eventType", channel, status,
      failure_reason AS "failureReason", attempt_count AS "attemptCount", created_at AS "createdAt",
      rule_id AS "ruleId", rule_table_revision AS "ruleTableRevision"
    FROM ${rowsAt(candidatesOf(filter, after))}
    LEFT JOIN LATERAL (
      SELECT rule_id, rule_table_revision FROM notifications.decision
      WHERE decision.locator = notification_log.locator ORDER BY attempt DESC LIMIT 1
    ) AS last ON true
    WHERE ${isUpTo(end)} AND ${hasReason(filter.reason)}
      AND ${isNotTold(limits)}
      AND ${filter.rule === undefined ? sql.fragment`true` : sql.fragment`rule_id = ${filter.rule}`}
    ORDER BY created_at DESC, locator DESC
    LIMIT ${limit}`
}
