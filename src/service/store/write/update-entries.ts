import { type CommonQueryMethods, sql } from 'slonik'
import type { Attempt } from '../../decide/attempt/attempt.ts'
import type { Deliveries } from '../../decide/attempt/delivery.ts'
import { RowDiscarded } from '../connection/errors.ts'
import { sqlColumns } from '../sql/columns.ts'

/** Throws `RowDiscarded` if not every row is updated: it would be sent again in each pass. */
export async function updateEntries(
  tx: CommonQueryMethods,
  attempts: readonly Attempt[],
  deliveries: Deliveries,
): Promise<void> {
  if (attempts.length === 0) return
  const column = sqlColumns(attempts)
  const { rowCount } = await tx.query(sql.unsafe`
    UPDATE notifications.notification_log
    SET
      party_locator = attempt.party_locator,
      event_type = attempt.event_type,
      status = attempt.status,
      channel = attempt.channel,
      failure_reason = attempt.failure_reason,
      attempt_count = attempt.attempt_count,
      last_attempt_at = CASE WHEN attempt.status <> 'SKIPPED' OR attempt.attempt_count > 0 THEN now() END,
      sent_at = CASE WHEN attempt.status = 'SENT' THEN now() END,
      subject = attempt.subject,
      body = attempt.body
    FROM unnest(
      ${column('text', ({ locator }) => locator)},
      ${column('text', ({ partyLocator }) => partyLocator)},
      ${column('text', ({ eventType }) => eventType)},
      ${column('text', ({ status }) => status)},
      ${column('text', ({ decision }) => decision.channel)},
      ${column('text', ({ locator, decision }) => deliveries.get(locator)?.error ?? decision.failureReason)},
      ${column('int4', ({ attemptCount }) => attemptCount)},
      ${column('text', ({ text }) => text?.subject ?? null)},
      ${column('text', ({ text }) => text?.body ?? null)}
    ) AS attempt (locator, party_locator, event_type, status, channel, failure_reason, attempt_count, subject, body)
    WHERE notification_log.locator = attempt.locator`)
  if (rowCount !== attempts.length) throw new RowDiscarded()
}
