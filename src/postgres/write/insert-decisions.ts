import { type CommonQueryMethods, sql } from 'slonik'
import type { DecidedBatch } from '../../core/batch/batch.ts'
import type { Entry } from '../../core/log/compose-entry.ts'
import type { Delivery } from '../../core/log/delivery.ts'
import { columnOf } from '../sql/columns.ts'
import { noRow } from '../sql/no-row.ts'

/** Where the events of one batch came from, how they were read, and the rule table that decided them. */
export type Provenance = Pick<
  DecidedBatch,
  'topic' | 'partition' | 'ruleTableRevision' | 'envelopeMapRevision'
>

/** Appends the decisions behind inserted rows, in one statement. */
export async function insertDecisions(
  tx: CommonQueryMethods,
  entries: readonly Entry[],
  deliveries: ReadonlyMap<string, Delivery>,
  { topic, partition, ruleTableRevision, envelopeMapRevision }: Provenance,
): Promise<void> {
  if (entries.length === 0) return
  const column = columnOf(entries)
  await tx.query(sql.prepared('insert-decisions', noRow)`
    INSERT INTO notifications.decision (
      topic, partition_id, rule_table_revision, envelope_map_revision,
      locator, attempt, event_id, party_locator, event_type, outcome, channel, rule_id, reason, facts, variables,
      template_revision, receipt, send_error, unknown_attempt, preference_change_id, "offset", trace_id
    )
    SELECT ${topic}, ${partition}::integer, ${ruleTableRevision}, ${envelopeMapRevision}, entry.*
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
      ${column('jsonb', (entry) => JSON.stringify(entry.variables))},
      ${column('text', (entry) => entry.templateRevision)},
      ${column('text', (entry) => deliveries.get(entry.locator)?.receipt ?? null)},
      ${column('text', (entry) => deliveries.get(entry.locator)?.error ?? null)},
      ${column('int4', (entry) => (deliveries.get(entry.locator)?.isUnknown ? 1 : null))},
      ${column('int8', (entry) => entry.decision.preferenceChangeId)},
      ${column('int8', (entry) => entry.offset)},
      ${column('text', (entry) => entry.event.traceId)}
    ) AS entry`)
}
