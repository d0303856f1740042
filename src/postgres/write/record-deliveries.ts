import { type CommonQueryMethods, sql } from 'slonik'
import type { RetriedEntry } from '../../core/log/decide-retry.ts'
import { type Deliveries, type Delivery, keyNumberOf } from '../../core/log/delivery.ts'
import type { DueEntry } from '../../core/log/due-entry.ts'
import { columnOf } from '../sql/columns.ts'

/** Adds to the decisions of retries what their senders said, within the transaction that inserted them. */
export async function recordDeliveries(
  tx: CommonQueryMethods,
  retried: readonly RetriedEntry[],
  deliveries: Deliveries,
): Promise<void> {
  if (deliveries.size === 0) return
  const column = columnOf(retried.filter(({ due }) => deliveries.has(due.locator)))
  await tx.query(sql.unsafe`
    UPDATE notifications.decision
    SET receipt = delivery.receipt, send_error = delivery.error, unknown_attempt = delivery.unknown_attempt
    FROM unnest(
      ${column('text', ({ due }) => due.locator)},
      ${column('int4', ({ attemptCount }) => attemptCount)},
      ${column('text', ({ due }) => deliveries.get(due.locator)?.receipt ?? null)},
      ${column('text', ({ due }) => deliveries.get(due.locator)?.error ?? null)},
      ${column('int4', (retry) => unknownKey(retry.due, deliveries.get(retry.due.locator)))}
    ) AS delivery (locator, attempt, receipt, error, unknown_attempt)
    WHERE decision.locator = delivery.locator AND decision.attempt = delivery.attempt`)
}

/** An error says nothing of earlier sends with the same key: what became of one that was unknown is unknown still. */
function unknownKey(due: DueEntry, delivery: Delivery | undefined): number | null {
  if (delivery?.error == null) return null
  return delivery.isUnknown || due.unknownKey !== null ? keyNumberOf(due) : null
}
