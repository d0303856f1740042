import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { Entry } from '../../core/log/compose-entry.ts'
import { arrayOf, columnOf } from '../sql/columns.ts'
import { noRow } from '../sql/no-row.ts'

/**
 * Inserts log rows in one statement and returns those that were really inserted: a row whose event id is logged already
 * is left out. `entries` are ordered by event id, because two transactions that insert the same ids in different orders
 * deadlock.
 */
export async function insertEntries(
  tx: CommonQueryMethods,
  entries: readonly Entry[],
): Promise<readonly Entry[]> {
  if (entries.length === 0) return []
  const column = columnOf(entries)
  const { rowCount } = await tx.query(sql.prepared('insert-entries', noRow)`
    INSERT INTO notifications.notification_log (
      locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
      sent_at, last_attempt_at
    )
    SELECT
      locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
      CASE WHEN status = 'SENT' THEN now() END, CASE WHEN status <> 'SKIPPED' THEN now() END
    FROM unnest(
      ${column('text', (entry) => entry.locator)},
      ${column('text', (entry) => entry.event.eventId)},
      ${column('text', (entry) => entry.event.partyLocator)},
      ${column('text', (entry) => entry.event.eventType)},
      ${column('text', (entry) => entry.decision.channel)},
      ${column('text', (entry) => entry.status)},
      ${column('text', (entry) => entry.text?.subject ?? null)},
      ${column('text', (entry) => entry.text?.body ?? null)},
      ${column('text', (entry) => entry.decision.failureReason)},
      ${column('int4', (entry) => entry.attemptCount)}
    ) AS entry (
      locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count
    )
    ON CONFLICT (event_id) DO NOTHING`)
  // Almost always all of them: the count alone is cheaper than a row for each.
  return rowCount === entries.length ? entries : await onlyInserted(tx, entries)
}

async function onlyInserted(tx: CommonQueryMethods, entries: readonly Entry[]): Promise<readonly Entry[]> {
  const locators = await tx.anyFirst(sql.type(z.object({ locator: z.string() }))`
    SELECT locator FROM notifications.notification_log
    WHERE locator = ANY(${arrayOf(
      'text',
      entries.map(({ locator }) => locator),
    )})`)
  const inserted = new Set(locators)
  return entries.filter(({ locator }) => inserted.has(locator))
}
