import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { isoTime } from '../sql/columns.ts'

/** Fewer messages of a type are no surge. */
const SURGE_COUNT_MIN = 500
/** Factor over the maximum of the other days. */
const SURGE_FACTOR = 3
const DAYS = 7
/** Limits the rows read. If an hour has more, only the minutes of the newest rows are compared with those of the other days. */
const ROW_COUNT_MAX = 50_000

const surge = z.object({
  eventType: z.string(),
  count: z.int(),
  /** The maximum at the same time in the last seven days. */
  usual: z.int(),
  /** The beginning of the time compared, ISO 8601. */
  from: z.string(),
})
export type Surge = Readonly<z.infer<typeof surge>>

/** Event types with far more messages sent in the last hour than at the same time of the last seven days, largest first. */
export function findSurges(
  connection: CommonQueryMethods,
  rowCountMax = ROW_COUNT_MAX,
): Promise<readonly Surge[]> {
  const day = sql.fragment`days * interval '1 day'`
  return connection.any(sql.type(surge)`
    WITH walked AS MATERIALIZED (
      SELECT event_type, created_at FROM notifications.notification_log
      WHERE status = 'SENT' AND created_at BETWEEN now() - interval '1 hour' AND now()
      ORDER BY created_at DESC LIMIT ${rowCountMax}
    ), span AS (
      SELECT CASE WHEN count(*) < ${rowCountMax} THEN now() - interval '1 hour' ELSE min(created_at) END AS from_at FROM walked
    ), today AS MATERIALIZED (
      SELECT event_type, count(*)::integer AS count FROM walked GROUP BY 1 HAVING count(*) >= ${SURGE_COUNT_MIN}
    )
    SELECT event_type AS "eventType", count, usual, ${isoTime(sql.fragment`from_at`)} AS "from"
    FROM today, span, LATERAL (
      SELECT max(of_day.count) AS usual FROM generate_series(1, ${DAYS}::integer) AS days, LATERAL (
        SELECT count(*)::integer AS count FROM (
          SELECT FROM notifications.notification_log AS log
          WHERE log.event_type = today.event_type AND status = 'SENT' AND created_at BETWEEN from_at - ${day} AND now() - ${day}
          LIMIT today.count / ${SURGE_FACTOR} + 1
        ) AS sent
      ) AS of_day
    ) AS before
    WHERE usual * ${SURGE_FACTOR} < count
      -- On its first day a log has nothing to compare with.
      AND (SELECT true FROM notifications.notification_log WHERE status = 'SENT' AND created_at < now() - interval '1 day' LIMIT 1)
    ORDER BY count DESC, event_type`)
}
