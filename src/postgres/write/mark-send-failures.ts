import { type CommonQueryMethods, sql } from 'slonik'
import type { Deliveries } from '../../core/attempt/delivery.ts'
import { columnOf } from '../sql/columns.ts'

/** Sets rows to FAILED that were written as SENT and whose sender then failed. */
export async function markSendFailures(tx: CommonQueryMethods, deliveries: Deliveries): Promise<void> {
  const failed = [...deliveries].flatMap(([locator, { error }]) =>
    error === null ? [] : [{ locator, error }],
  )
  if (failed.length === 0) return
  const column = columnOf(failed)
  await tx.query(sql.unsafe`
    UPDATE notifications.notification_log
    SET status = 'FAILED', sent_at = NULL, failure_reason = failed.error
    FROM unnest(
      ${column('text', ({ locator }) => locator)},
      ${column('text', ({ error }) => error)}
    ) AS failed (locator, error)
    WHERE notification_log.locator = failed.locator`)
}
