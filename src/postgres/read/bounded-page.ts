import { type CommonQueryMethods, type FragmentSqlToken, sql } from 'slonik'
import { logEntry } from '../../core/log/log-entry.ts'
import type { LogPosition } from '../../core/log/log-page.ts'
import { inSnapshot } from '../sql/snapshot.ts'

/**
 * How many rows one page looks at where no index finds those that are asked for: of others, there may be very many in
 * between.
 */
export const CANDIDATE_COUNT_MAX = 2_000

const position = logEntry.pick({ createdAt: true, locator: true })

/**
 * One page of what `read` selects among the candidates, at most `limit` items: it may come back short, or empty, and still
 * have a `next` to go on from. `candidates`: a query for the newest positions, `CANDIDATE_COUNT_MAX` at most. `read` selects
 * up to so many items among them, none older than `end` if there is one.
 */
export async function boundedPage<Item extends LogPosition>(
  pool: CommonQueryMethods,
  candidates: FragmentSqlToken,
  limit: number,
  read: (tx: CommonQueryMethods, limit: number, end: LogPosition | null) => Promise<readonly Item[]>,
): Promise<{ readonly items: readonly Item[]; readonly next: LogPosition | null }> {
  // Together: of rows that are logged in between, as many would push others out of the page, and out of the list.
  const { end, items } = await inSnapshot(pool, async (tx) => {
    const end = await lastOf(tx, candidates)
    return { end, items: await read(tx, limit + 1, end) }
  })
  const page = items.slice(0, limit)
  const last = page.at(-1)
  if (items.length <= limit || last === undefined) return { items: page, next: end }
  return { items: page, next: { createdAt: last.createdAt, locator: last.locator } }
}

/** Where a page has looked at all the rows that it may; null where the rest are fewer. */
function lastOf(pool: CommonQueryMethods, candidates: FragmentSqlToken): Promise<LogPosition | null> {
  return pool.maybeOne(sql.type(position)`
    SELECT created_at AS "createdAt", locator FROM (${candidates}) AS candidate
    ORDER BY created_at DESC, locator DESC OFFSET ${CANDIDATE_COUNT_MAX - 1} LIMIT 1`)
}

/**
 * The rows of the log at these positions, as a subquery of this name. Each is read by its key: the limit forbids the planner
 * to read the whole log for a condition of which it expects no match.
 */
export function rowsAt(candidates: FragmentSqlToken): FragmentSqlToken {
  return sql.fragment`(
      SELECT log.* FROM (${candidates}) AS candidate CROSS JOIN LATERAL (
        SELECT * FROM notifications.notification_log WHERE notification_log.locator = candidate.locator LIMIT 1
      ) AS log
    ) AS notification_log`
}

/** The condition for rows that are not older than the last candidate. */
export function isUpTo(end: LogPosition | null): FragmentSqlToken {
  return end === null
    ? sql.fragment`true`
    : sql.fragment`(created_at, locator) >= (${end.createdAt}::timestamptz, ${end.locator})`
}

/** The condition for rows that this rule decided last. */
export function hasRule(rule: string | undefined): FragmentSqlToken {
  return rule === undefined
    ? sql.fragment`true`
    : sql.fragment`(
        SELECT rule_id FROM notifications.decision
        WHERE decision.locator = notification_log.locator ORDER BY attempt DESC LIMIT 1
      ) = ${rule}`
}

/** The condition for rows with this failure reason, or with one that begins with it and a colon. */
export function hasReason(reason: string | undefined): FragmentSqlToken {
  return reason === undefined
    ? sql.fragment`true`
    : sql.fragment`(failure_reason = ${reason} OR split_part(failure_reason, ':', 1) = ${reason})`
}
