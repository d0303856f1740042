import type pg from 'pg'
import { dropIndexes } from './fill-log.ts'

/** `make soak-plans` asks for more. */
export const ROW_COUNT = Number(process.env.ROWS ?? 120_000)

/**
 * Fills an empty log with decisions: two for each tenth row; half of them about one reference and of one request; each 10,000th has no
 * row. A tenth of the rows is of one party, another one failed long ago.
 */
export async function fillMisled(client: pg.Client, rowCount: number): Promise<void> {
  const createIndexes = await dropIndexes(client, [
    'notifications.notification_log',
    'notifications.decision',
  ])
  const locator = `'NTF-01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0')`
  await client.query(
    `INSERT INTO notifications.notification_log (locator, event_id, party_locator, event_type, channel, status, subject,
      body, failure_reason, attempt_count, sent_at, created_at, last_attempt_at)
    SELECT ${locator}, 'event-' || n, CASE n % 10 WHEN 0 THEN 'party-hot' ELSE 'party-' || n % 1000 END, 'claim.paid',
      'EMAIL', status, 's', 'b', CASE status WHEN 'FAILED' THEN 'r' END, 1, CASE status WHEN 'SENT' THEN now() END,
      '2026-01-01Z'::timestamptz + n / 500 * interval '1 second', '2026-01-01Z'
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
  await createIndexes()
}

/** Fills in rejected messages: two of three are dismissed, after a redrive in vain. All but the newest tenth are old. */
export async function fillMisledRejected(client: pg.Client, rowCount: number): Promise<void> {
  await client.query(
    `INSERT INTO notifications.rejected_message (id, topic, partition_id, "offset", headers, code, error, rejected_at)
    OVERRIDING SYSTEM VALUE
    SELECT n, 'claims', 0, n, '{}', CASE n % 5000 WHEN 0 THEN 'conflict' ELSE 'invalid-json' END, 'e',
      CASE WHEN n <= $1 * 0.9 THEN '2026-01-01Z'::timestamptz ELSE now() END
    FROM generate_series(1, $1::integer) AS n`,
    [rowCount],
  )
  await client.query(
    `INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, code, error)
    SELECT n, 'o', result, CASE result WHEN 'rejected' THEN 'invalid-json' END, 'e'
    FROM generate_series(1, $1::integer) AS n, unnest('{rejected,dismissed}'::text[]) AS result
    WHERE n % 3 <> 0`,
    [rowCount],
  )
}

const TABLES = [
  'notifications.notification_log',
  'notifications.decision',
  'notifications.rejected_message',
  'notifications.redrive',
]

/** Keys that pages follow, with a histogram that ends before the first row or has all of them in one bucket. */
const MISLED_KEYS = [
  { columns: ['locator'], type: 'text', less: 664, collation: 950, bounds: '{NTF-00,NTF-01,NTF-02}' },
  { columns: ['id', 'rejected_message_id'], type: 'int8', less: 412, collation: 0, bounds: '{-3,-2,-1}' },
  {
    columns: ['created_at', 'rejected_at', 'decided_at'],
    type: 'timestamptz',
    less: 1322,
    collation: 0,
    bounds: '{2001-01-01Z,2002-01-01Z,2003-01-01Z}',
  },
] as const

/** Ways to mislead the planner, each of which needs a superuser. */
export const MISLEADING: Readonly<Record<string, (client: pg.Client) => Promise<void>>> = {
  'statistics as they are': async (client) => {
    await client.query(`VACUUM (ANALYZE) ${TABLES.join(', ')}`)
  },
  // A page of keys counts as one row or none.
  'one bucket wider than a page': async (client) => {
    await client.query(`VACUUM (ANALYZE) ${TABLES.join(', ')}`)
    for (const { columns, type, less, collation, bounds } of MISLED_KEYS) {
      await client.query(
        `UPDATE pg_statistic SET
          stakind1 = 2, staop1 = ${less}, stacoll1 = ${collation}, stanumbers1 = NULL,
          stavalues1 = array_in('${bounds}', '${type}'::regtype, -1),
          stakind2 = 0, stanumbers2 = NULL, stavalues2 = NULL, stakind3 = 0, stanumbers3 = NULL, stavalues3 = NULL,
          stakind4 = 0, stanumbers4 = NULL, stavalues4 = NULL, stakind5 = 0, stanumbers5 = NULL, stavalues5 = NULL
        WHERE starelid = ANY($1::regclass[]) AND staattnum IN (
          SELECT attnum FROM pg_attribute WHERE attrelid = starelid AND attname = ANY($2)
        )`,
        [TABLES, columns],
      )
    }
  },
  'empty statistics': async (client) => {
    await client.query('DELETE FROM pg_statistic WHERE starelid = ANY($1::regclass[])', [TABLES])
  },
}
