import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { DueEntry } from '../../core/log/decide-retry.ts'

/** Which failed rows are retried; the specification's limits. */
export interface RetryLimits {
  /** Rows older than this are given up. */
  readonly maxAgeMs: number
  /** Rows with this many attempts are given up. */
  readonly attemptCountMax: number
  /** How long ago the last attempt must be, so that any number of replicas try a row once per interval. */
  readonly minPauseMs: number
}

/** Where a page of due rows ends; the next one starts behind it. */
export interface DueCursor {
  readonly createdAt: string
  readonly locator: string
}

const dueRow = z
  .object({
    locator: z.string(),
    event_id: z.string(),
    event_type: z.string(),
    party_locator: z.string().nullable(),
    subject: z.string(),
    body: z.string(),
    attempt_count: z.number(),
    created_at: z.string(),
  })
  .transform((row) => ({
    createdAt: row.created_at,
    due: {
      locator: row.locator,
      eventId: row.event_id,
      eventType: row.event_type,
      partyLocator: row.party_locator,
      subject: row.subject,
      body: row.body,
      attemptCount: row.attempt_count,
    } satisfies DueEntry,
  }))

/** The next page of rows that are due for a retry, oldest first, by the database's clock. Locks nothing. */
export async function listDueEntries(
  pool: DatabasePool,
  limits: RetryLimits,
  after: DueCursor | null,
  countMax: number,
): Promise<{ due: readonly DueEntry[]; next: DueCursor | null }> {
  const rows = await pool.any(sql.type(dueRow)`
    SELECT locator, event_id, event_type, party_locator, subject, body, attempt_count, created_at
    FROM notifications.notification_log
    WHERE status = 'FAILED'
      -- What FAILED means by the table's checks, said so that the index of due rows is used.
      AND sent_at IS NULL AND body IS NOT NULL
      AND created_at > now() - ${limits.maxAgeMs}::float8 * interval '1 millisecond'
      AND (created_at, locator) > (${after?.createdAt ?? '-infinity'}::timestamptz, ${after?.locator ?? ''})
      AND attempt_count < ${limits.attemptCountMax}
      AND (last_attempt_at IS NULL OR last_attempt_at <= now() - ${limits.minPauseMs}::float8 * interval '1 millisecond')
    ORDER BY created_at, locator
    LIMIT ${countMax}`)
  const last = rows.at(-1)
  return {
    due: rows.map((row) => row.due),
    next:
      last !== undefined && rows.length === countMax
        ? { createdAt: last.createdAt, locator: last.due.locator }
        : null,
  }
}
