import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { PreparedRetries } from '../../core/log/decide-retry.ts'
import { columnOf } from '../sql/columns.ts'

/**
 * Locks the rows that are as they were when they were read, but for those that another transaction holds. Returns their
 * locators. On request no row is retried whose party was ever erased.
 */
export async function lockDueEntries(
  tx: CommonQueryMethods,
  { asked, request }: Pick<PreparedRetries, 'asked' | 'request'>,
): Promise<ReadonlySet<string>> {
  const column = columnOf(asked)
  const ofErased = sql.fragment`EXISTS (
    SELECT FROM notifications.erasure WHERE erasure.party_locator = notification_log.party_locator
  )`
  const locked = await tx.anyFirst(sql.type(z.object({ locator: z.string() }))`
    SELECT notification_log.locator
    FROM notifications.notification_log
    JOIN unnest(
      ${column('text', ({ due }) => due.locator)},
      ${column('int4', ({ due }) => due.attemptCount)},
      ${column('text', ({ due }) => (due.rendered === undefined ? 'FAILED' : 'SKIPPED'))}
    ) AS due (locator, attempt_count, status) USING (locator, attempt_count, status)
    -- What no decision explains (an import, tampering) could not be explained after the retry either.
    WHERE (
      SELECT bool_and(erased_at IS NULL) FROM notifications.decision WHERE decision.locator = notification_log.locator
    ) ${request === null ? sql.fragment`` : sql.fragment`AND NOT ${ofErased}`}
    FOR UPDATE OF notification_log SKIP LOCKED`)
  return new Set(locked)
}
