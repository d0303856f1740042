import { type CommonQueryMethods, sql } from 'slonik'
import type { PreparedRetries, RetriedEntry } from '../../core/log/decide-retry.ts'
import { storable } from '../../core/text/sanitize.ts'
import { columnOf } from '../sql/columns.ts'

/**
 * Appends the decisions of retries, before anything is sent: `recordDeliveries` adds what the senders say. What does not
 * change between attempts (variables and template, unless the text was rendered anew; where the event came from) is the last
 * decision's.
 */
export async function insertRetryDecisions(
  tx: CommonQueryMethods,
  retried: readonly RetriedEntry[],
  { ruleTableRevision, request }: Pick<PreparedRetries, 'ruleTableRevision' | 'request'>,
): Promise<void> {
  const column = columnOf(retried)
  const by = request === null ? null : storable(request.by)
  const because = request === null ? null : storable(request.because)
  await tx.query(sql.unsafe`
    INSERT INTO notifications.decision (
      locator, attempt, outcome, channel, rule_id, reason, facts, preference_change_id, variables, template_revision,
      rule_table_revision, retried_by, retried_because, event_id, party_locator, event_type,
      topic, partition_id, "offset", trace_id, envelope_map_revision
    )
    SELECT
      retried.locator, retried.attempt, retried.outcome, retried.channel, retried.rule_id, retried.reason, retried.facts,
      retried.preference_change_id, coalesce(retried.variables, last.variables),
      coalesce(retried.template_revision, last.template_revision),
      ${ruleTableRevision}, ${by}, ${because}, last.event_id, last.party_locator, last.event_type,
      last.topic, last.partition_id, last."offset", last.trace_id, last.envelope_map_revision
    FROM unnest(
      ${column('text', ({ due }) => due.locator)},
      ${column('int4', ({ attemptCount }) => attemptCount)},
      ${column('text', ({ decision }) => decision.outcome)},
      ${column('text', ({ decision }) => decision.channel)},
      ${column('text', ({ decision }) => decision.ruleId)},
      ${column('text', ({ decision }) => decision.failureReason)},
      ${column('jsonb', ({ decision }) => JSON.stringify(decision.facts))},
      ${column('int8', ({ decision }) => decision.preferenceChangeId)},
      ${column('jsonb', ({ due: { rendered } }) => (rendered ? JSON.stringify(rendered.variables) : null))},
      ${column('text', ({ due: { rendered } }) => rendered?.templateRevision ?? null)}
    ) AS retried (
      locator, attempt, outcome, channel, rule_id, reason, facts, preference_change_id, variables, template_revision
    )
    JOIN LATERAL (
      SELECT * FROM notifications.decision
      WHERE decision.locator = retried.locator ORDER BY attempt DESC LIMIT 1
    ) AS last ON true`)
}
