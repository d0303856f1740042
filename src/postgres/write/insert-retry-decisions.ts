import { type CommonQueryMethods, sql } from 'slonik'
import type { RetriedEntry } from '../../core/log/decide-retry.ts'
import { columnOf } from '../sql/columns.ts'

/**
 * Appends the decisions of retries, before anything is sent: `recordDeliveries` adds what the senders say. What does not
 * change between attempts (variables, template, where the event came from) is the first decision's.
 */
export async function insertRetryDecisions(
  tx: CommonQueryMethods,
  retried: readonly RetriedEntry[],
  ruleTableRevision: string,
): Promise<void> {
  const column = columnOf(retried)
  await tx.query(sql.unsafe`
    INSERT INTO notifications.decision (
      locator, attempt, outcome, channel, rule_id, reason, facts, preference_change_id,
      rule_table_revision, event_id, party_locator, event_type, variables, template_revision,
      topic, partition_id, "offset", trace_id, envelope_map_revision
    )
    SELECT
      retried.*, ${ruleTableRevision}, first.event_id, first.party_locator, first.event_type, first.variables,
      first.template_revision, first.topic, first.partition_id, first."offset", first.trace_id, first.envelope_map_revision
    FROM unnest(
      ${column('text', ({ due }) => due.locator)},
      ${column('int4', ({ attemptCount }) => attemptCount)},
      ${column('text', ({ decision }) => decision.outcome)},
      ${column('text', ({ decision }) => decision.channel)},
      ${column('text', ({ decision }) => decision.ruleId)},
      ${column('text', ({ decision }) => decision.failureReason)},
      ${column('jsonb', ({ decision }) => JSON.stringify(decision.facts))},
      ${column('int8', ({ decision }) => decision.preferenceChangeId)}
    ) AS retried (
      locator, attempt, outcome, channel, rule_id, reason, facts, preference_change_id
    )
    JOIN LATERAL (
      SELECT * FROM notifications.decision
      WHERE decision.locator = retried.locator ORDER BY attempt LIMIT 1
    ) AS first ON true`)
}
