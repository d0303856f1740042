import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { Attempt } from '../../core/attempt/attempt.ts'
import { RowDiscarded } from '../connection/errors.ts'
import { noRow, sqlArray, sqlColumns } from '../sql/columns.ts'

/**
 * Throws `RowDiscarded` if an event has no row afterwards, its own or an earlier one.
 *
 * @param attempts must be ordered by event id: two transactions that insert the same ids in different orders deadlock
 */
export async function insertEntries(
  tx: CommonQueryMethods,
  attempts: readonly Attempt[],
): Promise<readonly Attempt[]> {
  if (attempts.length === 0) return []
  const column = sqlColumns(attempts)
  const { rowCount } = await tx.query(sql.prepared('insert-entries', noRow)`
    INSERT INTO notifications.notification_log (
      locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
      sent_at, last_attempt_at
    )
    SELECT
      locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
      CASE WHEN status = 'SENT' THEN now() END, CASE WHEN status <> 'SKIPPED' THEN now() END
    FROM unnest(
      ${column('text', (attempt) => attempt.locator)},
      ${column('text', (attempt) => attempt.eventId)},
      ${column('text', (attempt) => attempt.partyLocator)},
      ${column('text', (attempt) => attempt.eventType)},
      ${column('text', (attempt) => attempt.decision.channel)},
      ${column('text', (attempt) => attempt.status)},
      ${column('text', (attempt) => attempt.text?.subject ?? null)},
      ${column('text', (attempt) => attempt.text?.body ?? null)},
      ${column('text', (attempt) => attempt.decision.failureReason)},
      ${column('int4', (attempt) => attempt.attemptCount)}
    ) AS entry (
      locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count
    )
    ON CONFLICT (event_id) DO NOTHING`)
  // Almost always all of them: a count is cheaper than a row for each.
  return rowCount === attempts.length ? attempts : await onlyInserted(tx, attempts)
}

async function onlyInserted(
  tx: CommonQueryMethods,
  attempts: readonly Attempt[],
): Promise<readonly Attempt[]> {
  const rows = await tx.any(sql.type(z.object({ locator: z.string(), eventId: z.string() }))`
    SELECT locator, event_id AS "eventId" FROM notifications.notification_log
    WHERE event_id = ANY(${sqlArray(
      'text',
      attempts.map(({ eventId }) => eventId),
    )})`)
  const locatorOf = new Map(rows.map(({ locator, eventId }) => [eventId, locator]))
  if (attempts.some(({ eventId }) => !locatorOf.has(eventId))) throw new RowDiscarded()
  return attempts.filter(({ locator, eventId }) => locatorOf.get(eventId) === locator)
}
