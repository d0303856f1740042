import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { type DueEntry, dueEntry } from '../../core/attempt/due-entry.ts'
import type { LogPosition } from '../../core/log/log-page.ts'
import { DUE_COLUMNS, type GivenUpLimits, isToBeRetried } from './log-columns.ts'

export interface RetryLimits extends GivenUpLimits {
  /** Minimum age of the last attempt, so that any number of replicas retry a row once per interval. */
  readonly minPauseMs: number
}

const dueRow = dueEntry.extend({ createdAt: z.string() })

/** The next page of due rows, oldest first, by the database's clock: after `after` and up to `upTo`. Locks nothing. */
export async function listDueEntries(
  pool: DatabasePool,
  limits: RetryLimits,
  after: LogPosition | null,
  countMax: number,
  upTo: LogPosition | null = null,
): Promise<{ due: readonly DueEntry[]; next: LogPosition | null }> {
  const rows = await pool.any(sql.type(dueRow)`
    SELECT ${DUE_COLUMNS}
    FROM notifications.notification_log
    WHERE ${isToBeRetried(limits)}
      AND (created_at, locator) > (${after?.createdAt ?? '-infinity'}::timestamptz, ${after?.locator ?? ''})
      AND (created_at, locator) <= (${upTo?.createdAt ?? 'infinity'}::timestamptz, ${upTo?.locator ?? ''})
      AND (last_attempt_at IS NULL OR last_attempt_at <= now() - ${limits.minPauseMs}::float8 * interval '1 millisecond')
    ORDER BY created_at, locator
    LIMIT ${countMax}`)
  const last = rows.length === countMax ? rows.at(-1) : undefined
  return { due: rows, next: last === undefined ? null : { createdAt: last.createdAt, locator: last.locator } }
}
