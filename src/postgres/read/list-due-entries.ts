import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { type DueEntry, dueEntry } from '../../core/attempt/due-entry.ts'
import type { LogPosition } from '../../core/log/log-page.ts'

/** The specification's limits of retrying. */
export interface RetryLimits {
  /** Rows older than this are given up. */
  readonly maxAgeMs: number
  /** Rows with this many attempts are given up. */
  readonly attemptCountMax: number
  /** Minimum age of the last attempt, so that any number of replicas try a row once per interval. */
  readonly minPauseMs: number
}

/** The last row of a page; the next page starts behind it. */
export type DueCursor = LogPosition

const dueRow = dueEntry.extend({ createdAt: z.string() })

/**
 * The next page of rows that are due for a retry, oldest first, by the database's clock: behind `after` and up to `upTo`. Locks
 * nothing.
 */
export async function listDueEntries(
  pool: DatabasePool,
  limits: RetryLimits,
  after: DueCursor | null,
  countMax: number,
  upTo: DueCursor | null = null,
): Promise<{ due: readonly DueEntry[]; next: DueCursor | null }> {
  const rows = await pool.any(sql.type(dueRow)`
    SELECT
      locator, event_id AS "eventId", event_type AS "eventType", party_locator AS "partyLocator", subject, body,
      attempt_count AS "attemptCount", created_at AS "createdAt", (
        SELECT count(*)::integer FROM notifications.decision
        -- Attempt 0 of these was deferred.
        WHERE decision.locator = notification_log.locator AND outcome = 'SEND' AND attempt > 0
      ) AS "sendCount", (
        SELECT unknown_attempt FROM notifications.decision
        WHERE decision.locator = notification_log.locator AND outcome = 'SEND' ORDER BY attempt DESC LIMIT 1
      ) AS "unknownKey"
    FROM notifications.notification_log
    WHERE status = 'FAILED'
      AND created_at > now() - ${limits.maxAgeMs}::float8 * interval '1 millisecond'
      AND (created_at, locator) > (${after?.createdAt ?? '-infinity'}::timestamptz, ${after?.locator ?? ''})
      AND (created_at, locator) <= (${upTo?.createdAt ?? 'infinity'}::timestamptz, ${upTo?.locator ?? ''})
      AND attempt_count < ${limits.attemptCountMax}
      AND (last_attempt_at IS NULL OR last_attempt_at <= now() - ${limits.minPauseMs}::float8 * interval '1 millisecond')
    ORDER BY created_at, locator
    LIMIT ${countMax}`)
  const last = rows.length === countMax ? rows.at(-1) : undefined
  return { due: rows, next: last === undefined ? null : { createdAt: last.createdAt, locator: last.locator } }
}
