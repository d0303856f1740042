import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { lockErasure } from '../../service/store/sql/advisory-locks.ts'
import { sqlColumns } from '../../service/store/sql/columns.ts'
import { listRecordedEntries } from './list-recorded-entries.ts'
import { type Archive, missingRow } from './verify-entry.ts'

/**
 * Inserts missing log rows in one transaction, and returns their locators. Omits a row if another row has its event id. Reads the
 * decisions again, since they may have been erased or pruned meanwhile.
 */
export function restoreMissingEntries(
  pool: DatabasePool,
  locators: readonly string[],
  archive: Pick<Archive, 'findTemplate'>,
): Promise<readonly string[]> {
  return pool.transaction(async (tx) => {
    await lockErasure(tx)
    const recorded = await listRecordedEntries(
      tx,
      sql.fragment`locator = ANY(${sql.array(locators, 'text')})`,
    )
    const rows = recorded.map((entry) => missingRow(entry, archive)).filter((row) => row !== null)
    // Same order as in `insertEntries`.
    const column = sqlColumns(rows.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1)))
    return tx.anyFirst(sql.type(z.object({ locator: z.string() }))`
      INSERT INTO notifications.notification_log (
        locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
        sent_at, created_at, last_attempt_at
      )
      SELECT * FROM unnest(
        ${column('text', ({ locator }) => locator)},
        ${column('text', ({ eventId }) => eventId)},
        ${column('text', ({ partyLocator }) => partyLocator)},
        ${column('text', ({ eventType }) => eventType)},
        ${column('text', ({ channel }) => channel)},
        ${column('text', ({ status }) => status)},
        ${column('text', ({ subject }) => subject)},
        ${column('text', ({ body }) => body)},
        ${column('text', ({ failureReason }) => failureReason)},
        ${column('int4', ({ attemptCount }) => attemptCount)},
        ${column('timestamptz', ({ sentAt }) => sentAt)},
        ${column('timestamptz', ({ createdAt }) => createdAt)},
        ${column('timestamptz', ({ lastAttemptAt }) => lastAttemptAt)}
      )
      ON CONFLICT DO NOTHING RETURNING locator`)
  })
}
