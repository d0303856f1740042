import type pg from 'pg'

/**
 * Fills an empty log with rows that are skewed, and related in ways that a planner, which takes columns for
 * independent, cannot see:
 * - a tenth is party-hot's, and nobody else has as many; it has no row of policy.issued, the type of most others;
 * - FAILED is rare, all of it by SMS and none of policy.issued; SKIPPED is only by EMAIL; IN_APP never for claim.paid;
 * - within `QUIET` there is only policy.issued, SENT by EMAIL, and not to party-hot.
 * @param perSecond rows that share their creation time, as those of one batch do
 */
export async function fillLog(client: pg.Client, count: number, perSecond = 500): Promise<void> {
  const createdAt = `'2026-01-01Z'::timestamptz + n / ${perSecond} * interval '1 second'`
  const createIndexes = await dropIndexes(client, ['notifications.notification_log'])
  await client.query('ALTER TABLE notifications.notification_log SET UNLOGGED')
  await client.query(
    `INSERT INTO notifications.notification_log (
      locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count,
      sent_at, created_at
    )
    SELECT
      ${LOCATOR}, 'event-' || to_char(n, 'FM00000000'), party_locator, ${EVENT_TYPE}, channel, status,
      CASE WHEN status <> 'SKIPPED' THEN 'Your policy' END, CASE WHEN status <> 'SKIPPED' THEN 'It is issued.' END,
      CASE WHEN status <> 'SENT' THEN 'reason' END, 1, CASE WHEN status = 'SENT' THEN now() END, ${createdAt}
    FROM (
      SELECT
        n,
        CASE WHEN is_quiet OR n % 10 <> 0 THEN 'party-' || n::bigint * n % 50021 ELSE 'party-hot' END AS party_locator,
        CASE WHEN is_quiet OR kind < 950 THEN 'EMAIL' WHEN kind < 980 THEN 'SMS' WHEN kind < 990 THEN 'EMAIL'
          WHEN kind < 995 THEN 'IN_APP' ELSE 'SMS' END AS channel,
        CASE WHEN is_quiet OR kind < 980 THEN 'SENT' WHEN kind < 990 THEN 'SKIPPED' WHEN kind < 995 THEN 'SENT'
          ELSE 'FAILED' END AS status
      FROM (
        SELECT n, n % 1000 AS kind, ${createdAt} >= $2 AND ${createdAt} < $3 AS is_quiet
        FROM generate_series(1, $1::integer) n
      ) AS number
    ) AS row`,
    [count, QUIET.from, QUIET.to],
  )
  await createIndexes()
  await client.query('ANALYZE notifications.notification_log')
}

/** Drops the indexes of tables until the returned function is called: much faster than to keep them up to date row by row. */
export async function dropIndexes(
  client: pg.Client,
  tables: readonly string[],
): Promise<() => Promise<void>> {
  const { rows: indexes } = await client.query(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
    WHERE indrelid = ANY($1::regclass[]) AND NOT indisunique`,
    [tables],
  )
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`)
  return async () => {
    await client.query(`SET maintenance_work_mem = '256MB'`)
    for (const { definition } of indexes) await client.query(definition)
  }
}

const LOCATOR = `'NTF-01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0')`
const EVENT_TYPE = `CASE
  WHEN status = 'FAILED' THEN 'claim.paid'
  WHEN channel = 'IN_APP' THEN 'invoice.paid'
  WHEN party_locator = 'party-hot' THEN 'claim.paid'
  WHEN status = 'SENT' AND channel = 'SMS' AND n % 50 = 1 THEN 'payment.void'
  ELSE 'policy.issued'
END`

/** The minute after 800 s of rows. */
export const QUIET = { from: '2026-01-01T00:13:20.000000Z', to: '2026-01-01T00:14:20.000000Z' }
