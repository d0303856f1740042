import type pg from 'pg'
import type { RuleTable } from '../../src/core/rules/table.ts'
import { render } from '../../src/core/templates/render.ts'
import { templates } from '../../src/generated/templates.ts'

const EVENT_TYPES = ['claim.paid', 'invoice.paid', 'policy.issued', 'consent.given']
/** What stands for the event's own locator until the database puts it in. */
const MARK = '<locator>'

/** Of a hundred events of each type: sent at once, retried and sent, skipped. */
const SHARES = { sent: 90, retried: 5, skipped: 5 } as const

/** How many of `count` events are sent at once, one type taken alone. `count` is a multiple of 400. */
export function sentOfEachType(count: number): number {
  return ((count / EVENT_TYPES.length) * SHARES.sent) / 100
}

/** How many of them are sent by a retry. */
export function retriedOfEachType(count: number): number {
  return ((count / EVENT_TYPES.length) * SHARES.retried) / 100
}

/**
 * Fills an empty log and its decisions by SQL with what the service would have written for `count` events of the last
 * seven days: see SHARES. The rule table and the templates are archived already.
 */
export async function fillDecisions(client: pg.Client, count: number, table: RuleTable): Promise<void> {
  const facts = { party: 'found', preferredChannel: 'EMAIL', emailOnFile: true, phoneOnFile: true } as const
  const unknown = { party: 'unresolved', emailOnFile: null, phoneOnFile: null } as const
  const types = EVENT_TYPES.map((eventType) => {
    const { subject, body, revision } = render(templates, { eventType, locator: MARK, reason: null })
    return {
      eventType,
      subject,
      body,
      templateRevision: revision,
      sent: { eventType, ...facts, optedOut: false },
      retried: { eventType, ...facts, ...unknown, optedOut: false },
      skipped: { eventType, ...facts, optedOut: true },
    }
  })
  await client.query(`SET work_mem = '256MB'`)
  await client.query(`
    CREATE TEMP TABLE filled AS
    SELECT n, kind, event_type, event_type_index, at, at + interval '1 minute' AS later,
      'NTF-' || substr(hex, 1, 8) || '-' || substr(hex, 9, 4) || '-7000-8000-' || lpad(to_hex(n), 12, '0') AS locator,
      'CLM-' || n AS subject_locator
    FROM (
      SELECT n, event_type, event_type_index, at,
        lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0') AS hex,
        CASE WHEN n / ${EVENT_TYPES.length} % 100 < ${SHARES.sent} THEN 'sent'
          WHEN n / ${EVENT_TYPES.length} % 100 < ${SHARES.sent + SHARES.retried} THEN 'retried' ELSE 'skipped' END AS kind
      FROM (
        SELECT n, now() - interval '7 days' + n * (interval '6 days 23 hours' / ${count}) AS at,
          n % ${EVENT_TYPES.length} AS event_type_index,
          (ARRAY[${EVENT_TYPES.map((type) => `'${type}'`).join()}])[n % ${EVENT_TYPES.length} + 1] AS event_type
        FROM generate_series(0, ${count - 1}) AS n
      ) AS timed
    ) AS known`)
  await client.query(
    `INSERT INTO notifications.decision (
      locator, attempt, event_id, party_locator, event_type, outcome, channel, rule_id, reason, facts, variables,
      template_revision, rule_table_revision, receipt, decided_at, topic, partition_id, "offset"
    )
    SELECT
      locator, attempt, 'event-' || n, 'party-' || n % 50021, event_type, outcome, 'EMAIL', rule_id, reason,
      type -> attempts.facts,
      CASE WHEN kind <> 'skipped' THEN
        jsonb_build_object('eventType', event_type, 'locator', subject_locator, 'reason', NULL) END,
      CASE WHEN kind <> 'skipped' THEN type ->> 'templateRevision' END,
      $2, CASE WHEN outcome = 'SEND' THEN 'recorded' END, CASE WHEN is_retry THEN later ELSE at END,
      'claims', 0, n
    FROM filled
    CROSS JOIN LATERAL (SELECT $1::jsonb -> event_type_index AS type) AS types
    JOIN (
      VALUES
        ('sent', 1, 'sent', 'SEND', 'email', NULL, false),
        ('skipped', 0, 'skipped', 'SKIP', 'opted-out', 'event type opted out', false),
        ('retried', 0, 'retried', 'FAIL', 'unresolved', 'contact could not be resolved: HTTP 500', false),
        ('retried', 1, 'sent', 'SEND', 'email', NULL, true)
    ) AS attempts (of, attempt, facts, outcome, rule_id, reason, is_retry) ON attempts.of = filled.kind
    ORDER BY locator, attempt`,
    [JSON.stringify(types), table.revision],
  )
  await client.query(
    `INSERT INTO notifications.notification_log (
      locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
      sent_at, created_at, last_attempt_at
    )
    SELECT
      locator, 'event-' || n, 'party-' || n % 50021, event_type, 'EMAIL',
      CASE kind WHEN 'skipped' THEN 'SKIPPED' ELSE 'SENT' END,
      CASE WHEN kind <> 'skipped' THEN replace(type ->> 'subject', $2, subject_locator) END,
      CASE WHEN kind <> 'skipped' THEN replace(type ->> 'body', $2, subject_locator) END,
      CASE kind WHEN 'skipped' THEN 'event type opted out' END, CASE kind WHEN 'skipped' THEN 0 ELSE 1 END,
      CASE kind WHEN 'sent' THEN at WHEN 'retried' THEN later END, at,
      CASE kind WHEN 'sent' THEN at WHEN 'retried' THEN later END
    FROM filled CROSS JOIN LATERAL (SELECT $1::jsonb -> event_type_index AS type) AS types
    ORDER BY locator`,
    [JSON.stringify(types), MARK],
  )
  await client.query('DROP TABLE filled')
  await client.query('ANALYZE notifications.decision, notifications.notification_log')
}
