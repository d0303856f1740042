import { type CommonQueryMethods, sql } from 'slonik'
import type { Attempt } from '../../core/attempt/attempt.ts'
import type { Deliveries } from '../../core/attempt/delivery.ts'
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
      last_attempt_at = now(),
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

/** Sets rows inserted as SENT to FAILED if their messages were not accepted. Throws `RowDiscarded` if not every row is. */
export async function markSendFailures(
  tx: CommonQueryMethods,
  inserted: readonly Attempt[],
  deliveries: Deliveries,
): Promise<void> {
  const failed = inserted.flatMap(({ locator, attemptCount }) => {
    const error = deliveries.get(locator)?.error ?? null
    return error === null ? [] : [{ locator, attemptCount, error }]
  })
  if (failed.length === 0) return
  const column = sqlColumns(failed)
  const { rowCount } = await tx.query(sql.unsafe`
    UPDATE notifications.notification_log
    SET status = 'FAILED', sent_at = NULL, failure_reason = failed.error, attempt_count = failed.attempt_count
    FROM unnest(
      ${column('text', ({ locator }) => locator)},
      ${column('text', ({ error }) => error)},
      ${column('int4', ({ attemptCount }) => attemptCount)}
    ) AS failed (locator, error, attempt_count)
    WHERE notification_log.locator = failed.locator`)
  if (rowCount !== failed.length) throw new RowDiscarded()
}
