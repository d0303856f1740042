import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { type FailedEntry, retryEntry } from '../../decide/attempt/retry-entry.ts'
import type { LogPosition } from '../../model/log/log-page.ts'
import { type GivenUpLimits, isToBeRetried } from '../sql/given-up.ts'
import { DUE_BYTES, DUE_COLUMNS, WITH_DECIDED } from '../sql/log-columns.ts'
import { withinBytes } from '../sql/page-bytes.ts'

const OLDEST_FIRST = sql.fragment`created_at, locator`

export interface RetryLimits extends GivenUpLimits {
  /** Minimum age of the last attempt, so that any number of replicas retry a row once per interval. */
  readonly minPauseMs: number
}

const dueRow = retryEntry.extend({ status: z.literal('FAILED'), createdAt: z.string(), found: z.int() })

/**
 * The next page of due rows, oldest first, by the database's clock: after `after` and up to `upTo`, at most `countMax` and
 * `PAGE_BYTES_MAX`. Locks nothing.
 */
export async function listDueEntries(
  pool: DatabasePool,
  limits: RetryLimits,
  after: LogPosition | null,
  countMax: number,
  upTo: LogPosition | null = null,
): Promise<{ due: readonly FailedEntry[]; next: LogPosition | null }> {
  const end =
    upTo === null
      ? sql.fragment``
      : sql.fragment`AND (created_at, locator) <= (${upTo.createdAt}::timestamptz, ${upTo.locator})`
  const found = sql.fragment`
    SELECT * FROM notifications.notification_log
    WHERE ${isToBeRetried(limits)}
      AND (created_at, locator) > (${after?.createdAt ?? '-infinity'}::timestamptz, ${after?.locator ?? ''})
      ${end}
      AND (last_attempt_at IS NULL OR last_attempt_at <= now() - ${limits.minPauseMs}::float8 * interval '1 millisecond')
    ORDER BY ${OLDEST_FIRST}
    LIMIT ${countMax}`
  const decided = sql.fragment`SELECT * FROM (${found}) AS notification_log ${WITH_DECIDED}`
  const rows = await pool.any(sql.type(dueRow)`
    SELECT ${DUE_COLUMNS}, found
    FROM (${withinBytes(decided, OLDEST_FIRST, DUE_BYTES)}) AS notification_log
    ORDER BY ${OLDEST_FIRST}`)
  const foundCount = rows[0]?.found ?? 0
  const isLast = foundCount < countMax && rows.length === foundCount
  const last = isLast ? undefined : rows.at(-1)
  return { due: rows, next: last === undefined ? null : { createdAt: last.createdAt, locator: last.locator } }
}
