import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { DecidedBatch } from '../../core/batch/batch.ts'
import type { Entry } from '../../core/log/entry.ts'
import { storable } from '../../core/text/text.ts'
import { arrayOf, columnOf } from '../sql/columns.ts'
import { nothing } from '../sql/nothing.ts'

/** What became of handing a row to its sender; both null where the channel has no sender. */
export interface Delivery {
  readonly receipt: string | null
  readonly error: string | null
}

/** Where the events of one batch came from, and the rule table that decided them. */
export type Provenance = Pick<DecidedBatch, 'topic' | 'partition' | 'ruleTableRevision'>

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
  const { rowCount } = await tx.query(sql.prepared('insert-entries', nothing)`
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

/** Appends the decisions behind inserted rows, in one statement. */
export async function insertDecisions(
  tx: CommonQueryMethods,
  entries: readonly Entry[],
  deliveries: ReadonlyMap<string, Delivery>,
  { topic, partition, ruleTableRevision }: Provenance,
): Promise<void> {
  if (entries.length === 0) return
  const column = columnOf(entries)
  await tx.query(sql.prepared('insert-decisions', nothing)`
    INSERT INTO notifications.decision (
      topic, partition_id, rule_table_revision,
      locator, attempt, event_id, party_locator, event_type, outcome, channel, rule_id, reason, facts, variables,
      template_revision, receipt, send_error, preference_change_id, "offset", trace_id
    )
    SELECT ${topic}, ${partition}::integer, ${ruleTableRevision}, entry.*
    FROM unnest(
      ${column('text', (entry) => entry.locator)},
      ${column('int4', (entry) => entry.attemptCount)},
      ${column('text', (entry) => entry.event.eventId)},
      ${column('text', (entry) => entry.event.partyLocator)},
      ${column('text', (entry) => entry.event.eventType)},
      ${column('text', (entry) => entry.decision.outcome)},
      ${column('text', (entry) => entry.decision.channel)},
      ${column('text', (entry) => entry.decision.ruleId)},
      ${column('text', (entry) => entry.decision.failureReason)},
      ${column('jsonb', (entry) => JSON.stringify(entry.decision.facts))},
      ${column('jsonb', (entry) => entry.variables && JSON.stringify(entry.variables))},
      ${column('text', (entry) => entry.templateRevision)},
      ${column('text', (entry) => deliveries.get(entry.locator)?.receipt ?? null)},
      ${column('text', (entry) => deliveries.get(entry.locator)?.error ?? null)},
      ${column('int8', (entry) => entry.decision.preferenceChangeId)},
      ${column('int8', (entry) => entry.offset)},
      ${column('text', (entry) => entry.event.traceId)}
    ) AS entry`)
}

/** Corrects rows that were inserted as SENT and whose sender then failed. */
export async function markSendFailures(
  tx: CommonQueryMethods,
  deliveries: ReadonlyMap<string, Delivery>,
): Promise<void> {
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

/** A sender's answer as it can be stored. */
export function deliveryOf(result: { receipt: string } | { error: string } | null): Delivery {
  if (result === null) return { receipt: null, error: null }
  if ('error' in result) return { receipt: null, error: storable(result.error) }
  return { receipt: storable(result.receipt), error: null }
}
