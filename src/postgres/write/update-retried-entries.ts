import { type CommonQueryMethods, sql } from 'slonik'
import type { RetriedEntry } from '../../core/log/decide-retry.ts'
import { columnOf } from '../sql/columns.ts'

/** Sets log rows to what their retries come to. A row that is skipped keeps no text; one that was skipped gets one. */
export async function updateRetriedEntries(
  tx: CommonQueryMethods,
  retried: readonly RetriedEntry[],
): Promise<void> {
  const column = columnOf(retried)
  await tx.query(sql.unsafe`
    UPDATE notifications.notification_log
    SET
      status = retried.status,
      channel = retried.channel,
      failure_reason = retried.failure_reason,
      attempt_count = retried.attempt_count,
      last_attempt_at = now(),
      sent_at = CASE WHEN retried.status = 'SENT' THEN now() END,
      -- A skipped row stores no text.
      subject = CASE WHEN retried.status <> 'SKIPPED' THEN coalesce(notification_log.subject, retried.subject) END,
      body = CASE WHEN retried.status <> 'SKIPPED' THEN coalesce(notification_log.body, retried.body) END
    FROM unnest(
      ${column('text', ({ due }) => due.locator)},
      ${column('text', ({ status }) => status)},
      ${column('text', ({ decision }) => decision.channel)},
      ${column('text', ({ decision }) => decision.failureReason)},
      ${column('int4', ({ attemptCount }) => attemptCount)},
      ${column('text', ({ due }) => (due.rendered === undefined ? null : due.subject))},
      ${column('text', ({ due }) => (due.rendered === undefined ? null : due.body))}
    ) AS retried (locator, status, channel, failure_reason, attempt_count, subject, body)
    WHERE notification_log.locator = retried.locator`)
}
