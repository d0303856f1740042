import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { type RetryEntry, retryEntry } from '../../decide/attempt/retry-entry.ts'
import type { LogPosition } from '../../model/log/log-page.ts'
import { type GivenUpLimits, isToBeRetried, isTooOld } from '../sql/given-up.ts'
import { DUE_BYTES, DUE_COLUMNS, WITH_DECIDED } from '../sql/log-columns.ts'
import { withinBytes } from '../sql/page-bytes.ts'

const OLDEST_FIRST = sql.fragment`created_at, locator`
/** Without this limit, a page would read all rows that other replicas have just tried, perhaps 100,000. */
const EXAMINED_COUNT_MAX = 5_000

export interface RetryLimits extends GivenUpLimits {
  /** Minimum age of the last attempt, so that all replicas together retry a row once per interval. */
  readonly minPauseMs: number
}

const position = z.object({ createdAt: z.string(), locator: z.string() })
const dueRow = retryEntry.extend({ status: z.literal('FAILED'), createdAt: z.string(), found: z.int() })

/**
 * The next page of due rows by the database's clock, oldest first, after `after` and up to `upTo`: at most `countMax` rows and
 * `PAGE_BYTES_MAX`. Examines `EXAMINED_COUNT_MAX` failed rows, so a page may be short or empty without being the last. Locks
 * nothing.
 */
export async function listDueEntries(
  pool: DatabasePool,
  limits: RetryLimits,
  after: LogPosition | null,
  countMax: number,
  upTo: LogPosition | null = null,
): Promise<{ due: readonly RetryEntry[]; next: LogPosition | null }> {
  const until = (end: LogPosition | null) =>
    end === null
      ? sql.fragment`true`
      : sql.fragment`(created_at, locator) <= (${end.createdAt}::timestamptz, ${end.locator})`
  const following = sql.fragment`
    (created_at, locator) > (${after?.createdAt ?? '-infinity'}::timestamptz, ${after?.locator ?? ''})`
  const lastExamined = await pool.maybeOne(sql.type(position)`
    SELECT created_at AS "createdAt", locator FROM notifications.notification_log
    WHERE status = 'FAILED' AND NOT ${isTooOld(limits)} AND ${following} AND ${until(upTo)}
    ORDER BY ${OLDEST_FIRST} OFFSET ${EXAMINED_COUNT_MAX - 1} LIMIT 1`)
  const found = sql.fragment`
    SELECT * FROM notifications.notification_log
    WHERE ${isToBeRetried(limits)} AND ${following} AND ${until(lastExamined ?? upTo)}
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
  const next = last === undefined ? lastExamined : { createdAt: last.createdAt, locator: last.locator }
  return { due: rows, next }
}
