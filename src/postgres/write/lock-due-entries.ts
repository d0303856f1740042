import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { AskedEntry } from '../../core/log/decide-retry.ts'
import { columnOf } from '../sql/columns.ts'

/**
 * Locks the rows that are as they were when they were read, but for those that another transaction holds. Returns their
 * locators.
 */
export async function lockDueEntries(
  tx: CommonQueryMethods,
  asked: readonly AskedEntry[],
): Promise<ReadonlySet<string>> {
  const column = columnOf(asked)
  const locked = await tx.anyFirst(sql.type(z.object({ locator: z.string() }))`
    SELECT notification_log.locator
    FROM notifications.notification_log
    JOIN unnest(
      ${column('text', ({ due }) => due.locator)},
      ${column('int4', ({ due }) => due.attemptCount)}
    ) AS due (locator, attempt_count) USING (locator, attempt_count)
    WHERE status = 'FAILED'
      -- What no decision explains (an import, tampering) could not be explained after the retry either.
      AND EXISTS (SELECT FROM notifications.decision WHERE decision.locator = notification_log.locator)
    FOR UPDATE OF notification_log SKIP LOCKED`)
  return new Set(locked)
}
