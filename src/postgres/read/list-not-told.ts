import { type CommonQueryMethods, sql } from 'slonik'
import { logEntry } from '../../core/log/log-entry.ts'
import type { LogPageRequest, LogPosition } from '../../core/log/log-page.ts'
import {
  NOT_TOLD_STATUSES,
  type NotTold,
  type NotToldFilter,
  type NotToldPage,
  notTold,
} from '../../core/log/not-told.ts'
import { inSnapshot } from '../sql/snapshot.ts'
import { isPastRetry } from './given-up.ts'
import type { RetryLimits } from './list-due-entries.ts'
import { newestPositions } from './list-log-entries.ts'

/** How many rows one page looks at: of those that wait for a retry, or were decided by another rule, there may be very many. */
const CANDIDATE_COUNT_MAX = 2_000

const position = logEntry.pick({ createdAt: true, locator: true })

/**
 * One page of the entries whose members were not told, newest first: SKIPPED, or FAILED and, by `limits`, past the last
 * retry. A page looks at a bounded number of rows, whatever is asked for: it may come back short, or empty, and still
 * have a `next` to go on from.
 */
export async function listNotTold(
  pool: CommonQueryMethods,
  limits: Pick<RetryLimits, 'maxAgeMs' | 'attemptCountMax'>,
  filter: NotToldFilter,
  { limit, after }: LogPageRequest,
): Promise<NotToldPage> {
  // Together: of rows that are logged in between, as many would push others out of the page, and out of the list.
  const { end, items } = await inSnapshot(pool, async (tx) => {
    const end = await lastCandidate(tx, filter, after)
    return { end, items: await tx.any(notToldQuery(limits, filter, { limit: limit + 1, after, end })) }
  })
  if (items.length <= limit) return { items, next: end }
  const page = items.slice(0, limit)
  const last = page.at(-1) as NotTold
  return { items: page, next: { createdAt: last.createdAt, locator: last.locator } }
}

/** Where a page has looked at all the rows that it may; null where the rest are fewer. */
function lastCandidate(
  pool: CommonQueryMethods,
  { since, eventType }: NotToldFilter,
  after: LogPosition | null,
): Promise<LogPosition | null> {
  const candidates = newestPositions(
    NOT_TOLD_STATUSES,
    { eventType, from: since },
    after,
    CANDIDATE_COUNT_MAX,
  )
  return pool.maybeOne(sql.type(position)`
    SELECT created_at AS "createdAt", locator FROM (${candidates}) AS candidate
    ORDER BY created_at DESC, locator DESC OFFSET ${CANDIDATE_COUNT_MAX - 1} LIMIT 1`)
}

/** The query for the entries behind `after`, up to `end`. */
export function notToldQuery(
  limits: Pick<RetryLimits, 'maxAgeMs' | 'attemptCountMax'>,
  { since, eventType, rule }: NotToldFilter,
  { limit, after, end }: LogPageRequest & { readonly end: LogPosition | null },
) {
  const candidates = newestPositions(
    NOT_TOLD_STATUSES,
    { eventType, from: since },
    after,
    CANDIDATE_COUNT_MAX,
  )
  const upToEnd =
    end === null
      ? sql.fragment`true`
      : sql.fragment`(created_at, locator) >= (${end.createdAt}::timestamptz, ${end.locator})`
  return sql.type(notTold)`
    SELECT
      locator, event_id AS "eventId", party_locator AS "partyLocator", event_type AS "eventType", channel, status,
      failure_reason AS "failureReason", attempt_count AS "attemptCount", created_at AS "createdAt",
      rule_id AS "ruleId", rule_table_revision AS "ruleTableRevision"
    FROM (${candidates}) AS candidate
    JOIN notifications.notification_log USING (created_at, locator)
    LEFT JOIN LATERAL (
      SELECT rule_id, rule_table_revision FROM notifications.decision
      WHERE decision.locator = notification_log.locator ORDER BY attempt DESC LIMIT 1
    ) AS last ON true
    WHERE ${upToEnd}
      AND (status = 'SKIPPED' OR ${isPastRetry(limits)})
      AND ${rule === undefined ? sql.fragment`true` : sql.fragment`rule_id = ${rule}`}
    ORDER BY created_at DESC, locator DESC
    LIMIT ${limit}`
}
