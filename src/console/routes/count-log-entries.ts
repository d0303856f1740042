import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { COUNT_WINDOWS, type CountWindow } from '../../service/model/log/count-windows.ts'
import { type LogCounts, logCounts } from '../../service/model/log/log-counts.ts'
import { STATUSES } from '../../service/model/log/status.ts'
import { type GivenUpLimits, isGivenUp } from '../../service/store/sql/given-up.ts'

/** Limits the cost: in a larger log only the newest entries are counted, and the response has their start. */
const ROW_COUNT_MAX = 100_000
const countsRow = logCounts.omit({ stepS: true, complete: true }).extend({ cutAtS: z.number().nullable() })

/** Counts the entries of a window that ends now, by the database's clock: the newest 100,000 at most. */
export async function countLogEntries(
  pool: DatabasePool,
  limits: GivenUpLimits,
  window: CountWindow,
  rowCountMax = ROW_COUNT_MAX,
): Promise<LogCounts> {
  const { stepS } = COUNT_WINDOWS[window]
  const query = logCountsQuery(limits, COUNT_WINDOWS[window], rowCountMax)
  const { cutAtS, ...counted } = await pool.one(query)
  return { ...counted, fromS: cutAtS ?? counted.fromS, stepS, complete: cutAtS === null }
}

/** @internal Walks the index by status, once per status, newest first, and stops at this total number of rows. */
export function logCountsQuery(
  limits: GivenUpLimits,
  { lengthS, stepS }: { readonly lengthS: number; readonly stepS: number },
  rowCountMax: number,
) {
  const from = sql.fragment`now() - ${lengthS}::integer * interval '1 second'`
  const walks = STATUSES.map(
    (status) => sql.fragment`
      (SELECT created_at, status, attempt_count FROM notifications.notification_log
      WHERE status = ${status} AND created_at BETWEEN ${from} AND now()
      ORDER BY created_at DESC LIMIT ${rowCountMax + 1})`,
  )
  return sql.type(countsRow)`
    WITH walked AS (
      SELECT * FROM (${sql.join(walks, sql.fragment` UNION ALL `)}) AS walk
      ORDER BY created_at DESC LIMIT ${rowCountMax + 1}
    ), counted AS MATERIALIZED (
      SELECT
        floor(extract(epoch FROM created_at) / ${stepS}::integer)::bigint * ${stepS}::integer AS start_s,
        status, count(*)::integer AS count, min(created_at) AS oldest_at,
        count(*) FILTER (WHERE ${isGivenUp(limits)})::integer AS given_up
      FROM walked GROUP BY 1, 2
    )
    SELECT
      extract(epoch FROM ${from})::float8 AS "fromS", extract(epoch FROM now())::float8 AS "toS",
      (SELECT extract(epoch FROM min(oldest_at))::float8 FROM counted HAVING sum(count) > ${rowCountMax}) AS "cutAtS",
      ARRAY(
        SELECT json_build_object('startS', start_s, 'status', status, 'count', count, 'givenUp', given_up)
        FROM counted ORDER BY start_s
      ) AS counts`
}
