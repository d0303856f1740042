import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { type Attempt, toLoggedRow } from '../../decide/attempt/attempt.ts'
import type { Deliveries } from '../../decide/attempt/delivery.ts'
import type { InsertResult } from '../../decide/attempt/store.ts'
import { RowDiscarded } from '../connection/errors.ts'
import { findRows } from '../read/find-rows.ts'
import { holdsRow, selectHolds } from '../read/read-holds.ts'
import { sqlColumns } from '../sql/columns.ts'

const insertedRow = holdsRow.extend({ count: z.int() })

/**
 * Throws `RowDiscarded` if an event has no row afterwards, its own or an earlier one.
 *
 * @param attempts must be ordered by event id: two transactions that insert the same ids in different orders deadlock
 */
export async function insertEntries(
  tx: CommonQueryMethods,
  attempts: readonly Attempt[],
): Promise<InsertResult> {
  if (attempts.length === 0) return { inserted: [], taken: new Map(), holds: [] }
  const column = sqlColumns(attempts)
  const { count, holds } = await tx.one(sql.prepared('insert-entries', insertedRow)`
    WITH inserted AS (INSERT INTO notifications.notification_log (
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
    ON CONFLICT (event_id) DO NOTHING RETURNING 1)
    SELECT (SELECT count(*)::integer FROM inserted) AS count, ${selectHolds()}`)
  // Usually all are inserted, and a count is cheaper than a row for each.
  return count === attempts.length
    ? { inserted: attempts, taken: new Map(), holds }
    : { ...(await splitInserted(tx, attempts)), holds }
}

async function splitInserted(
  tx: CommonQueryMethods,
  attempts: readonly Attempt[],
): Promise<Pick<InsertResult, 'inserted' | 'taken'>> {
  const rows = await findRows(
    tx,
    attempts.map(({ eventId }) => eventId),
  )
  if (attempts.some(({ eventId }) => !rows.has(eventId))) throw new RowDiscarded()
  const inserted = attempts.filter(({ locator, eventId }) => rows.get(eventId)?.locator === locator)
  // The transaction's own rows have no decisions yet.
  const own = new Map(inserted.map((attempt) => [attempt.eventId, toLoggedRow(attempt)]))
  const taken = attempts.flatMap(({ locator, eventId }) => {
    const row = own.get(eventId) ?? rows.get(eventId)
    return row === undefined || row.locator === locator ? [] : [[locator, row] as const]
  })
  return { inserted, taken: new Map(taken) }
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
