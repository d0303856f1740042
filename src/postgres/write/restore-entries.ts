import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { LogRow } from '../../core/log/log-entry.ts'
import type { Blocked, Restored } from '../../core/replay/finding.ts'
import type { Recorded } from '../../core/replay/verify-entry.ts'
import { listRecordedEntries } from '../read/list-recorded-entries.ts'
import { lockErasure } from '../retention/erasure-record.ts'
import { columnOf } from '../sql/columns.ts'

/**
 * Puts log rows back as their decisions make them, in one transaction. What is recorded under the locators is read
 * again under the rows' locks, since a retry may have changed it: `repair` says what is to be stored, null where
 * nothing is wrong any more. Never touches a decision.
 */
export function restoreEntries(
  pool: DatabasePool,
  locators: readonly string[],
  repair: (recorded: Recorded) => LogRow | null,
): Promise<Restored> {
  return pool.transaction(async (tx) => {
    await lockErasure(tx)
    const these = sql.fragment`locator = ANY(${sql.array(locators, 'text')})`
    await tx.query(sql.unsafe`
      SELECT FROM notifications.notification_log WHERE ${these} ORDER BY locator FOR UPDATE`)
    const rows = (await listRecordedEntries(tx, these)).map(repair).filter((row) => row !== null)
    const { free, blocked } = partByHolder(rows, await readHolders(tx, rows))
    await replace(tx, free)
    return { locators: free.map(({ locator }) => locator), blocked }
  })
}

/** The locators of the rows that have the event ids of these ones, by event id. */
async function readHolders(
  tx: CommonQueryMethods,
  rows: readonly LogRow[],
): Promise<ReadonlyMap<string, string>> {
  const eventIds = sql.array(
    rows.map(({ eventId }) => eventId),
    'text',
  )
  const holders = await tx.any(sql.type(z.object({ eventId: z.string(), locator: z.string() }))`
    SELECT event_id AS "eventId", locator FROM notifications.notification_log WHERE event_id = ANY(${eventIds})`)
  return new Map(holders.map(({ eventId, locator }) => [eventId, locator]))
}

/** A row is blocked by one with its event id that stays: that is not replaced, or is blocked itself. */
function partByHolder(rows: readonly LogRow[], holders: ReadonlyMap<string, string>) {
  const free = new Map<string, LogRow>()
  const blocked: Blocked[] = []
  const firstOf = new Map<string, string>()
  for (const row of rows) {
    const first = firstOf.get(row.eventId)
    if (first === undefined) {
      firstOf.set(row.eventId, row.locator)
      free.set(row.locator, row)
    } else blocked.push({ locator: row.locator, eventId: row.eventId, holder: first })
  }
  for (let found = true; found; ) {
    found = false
    for (const { locator, eventId } of free.values()) {
      const holder = holders.get(eventId)
      if (holder === undefined || free.has(holder)) continue
      free.delete(locator)
      blocked.push({ locator, eventId, holder })
      found = true
    }
  }
  return { free: [...free.values()], blocked }
}

/** Not by UPDATE: two rows that have each other's event id would be refused. Ordered as in `insertEntries`. */
async function replace(tx: CommonQueryMethods, rows: readonly LogRow[]): Promise<void> {
  const column = columnOf(rows.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1)))
  await tx.query(sql.unsafe`
    DELETE FROM notifications.notification_log
    WHERE locator = ANY(${column('text', ({ locator }) => locator)})`)
  await tx.query(sql.unsafe`
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
    )`)
}
