import type pg from 'pg'

export const ROW_COUNT = 120_000

/**
 * Fills an empty log with decisions: two for each tenth row; half of them about one reference and of one request; each 10,000th has no
 * row. A tenth of the rows is of one party, another one failed long ago.
 */
export async function fillMisled(client: pg.Client, rowCount = ROW_COUNT): Promise<void> {
  const locator = `'NTF-01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0')`
  await client.query(
    `INSERT INTO notifications.notification_log (locator, event_id, party_locator, event_type, channel, status, subject,
      body, failure_reason, attempt_count, sent_at, created_at)
    SELECT ${locator}, 'event-' || n, CASE n % 10 WHEN 0 THEN 'party-hot' ELSE 'party-' || n % 1000 END, 'claim.paid',
      'EMAIL', status, 's', 'b', CASE status WHEN 'FAILED' THEN 'r' END, 1, CASE status WHEN 'SENT' THEN now() END,
      '2026-01-01Z'::timestamptz + n / 500 * interval '1 second'
    FROM generate_series(1, $1::integer) AS n, LATERAL (SELECT CASE n % 10 WHEN 1 THEN 'FAILED' ELSE 'SENT' END AS status) AS s
    WHERE n % 10000 <> 4711`,
    [rowCount],
  )
  await client.query(
    `INSERT INTO notifications.decision (locator, attempt, event_id, party_locator, event_type, outcome, channel, rule_id,
      facts, variables, rule_table_revision, topic, partition_id, "offset", request_id)
    SELECT ${locator}, attempt, 'event-' || n, 'party-' || n % 1000, 'claim.paid', 'SEND', 'EMAIL', 'email', '{}',
      jsonb_build_object('locator', CASE n % 2 WHEN 0 THEN 'CLM-hot' ELSE 'CLM-' || n END), repeat('a', 64), 'claims', 0, n,
      CASE n % 2 WHEN 0 THEN 7 END
    FROM generate_series(1, $1::integer) AS n, generate_series(1, CASE n % 10 WHEN 0 THEN 2 ELSE 1 END) AS attempt`,
    [rowCount],
  )
}

const TABLES = ['notifications.notification_log', 'notifications.decision']

/** Ways to mislead the planner, each of which needs a superuser. */
export const MISLEADING: Readonly<Record<string, (client: pg.Client) => Promise<void>>> = {
  'statistics as they are': async (client) => {
    await client.query(`VACUUM (ANALYZE) ${TABLES.join(', ')}`)
  },
  // The keys of all rows are between two neighbours of the histogram, so that a page of them counts as one row or none.
  'one bucket wider than a page': async (client) => {
    await client.query(`VACUUM (ANALYZE) ${TABLES.join(', ')}`)
    await client.query(
      `UPDATE pg_statistic SET
        stakind1 = 2, staop1 = 664, stacoll1 = 950, stanumbers1 = NULL,
        stavalues1 = array_in('{NTF-00,NTF-01,NTF-02}', 'text'::regtype, -1),
        stakind2 = 0, stanumbers2 = NULL, stavalues2 = NULL, stakind3 = 0, stanumbers3 = NULL, stavalues3 = NULL,
        stakind4 = 0, stanumbers4 = NULL, stavalues4 = NULL, stakind5 = 0, stanumbers5 = NULL, stavalues5 = NULL
      WHERE starelid = ANY($1::regclass[]) AND staattnum IN (
        SELECT attnum FROM pg_attribute WHERE attrelid = starelid AND attname = 'locator'
      )`,
      [TABLES],
    )
  },
  'empty statistics': async (client) => {
    await client.query('DELETE FROM pg_statistic WHERE starelid = ANY($1::regclass[])', [TABLES])
  },
}
