import { type CommonQueryMethods, sql } from 'slonik'
import { type NotToldCounts, type NotToldFilter, notToldCounts } from '../../core/log/not-told.ts'
import { isoTime } from '../sql/columns.ts'
import { hasReason, hasRule, rowsAt } from './bounded-page.ts'
import { isNotTold, newestNotTold } from './list-not-told.ts'
import type { GivenUpLimits } from './log-columns.ts'

/** Bounds the cost: of more rows only the newest are looked at, and the answer says since when. */
const ROW_COUNT_MAX = 50_000
/** Reasons and parties come from outside, in any number. */
const REASON_COUNT_MAX = 10
const PARTY_COUNT_MAX = 5

/** Counts what `listNotTold` lists. */
export function countNotTold(
  pool: CommonQueryMethods,
  limits: GivenUpLimits,
  filter: NotToldFilter,
  rowCountMax = ROW_COUNT_MAX,
): Promise<NotToldCounts> {
  return pool.one(notToldCountsQuery(limits, filter, rowCountMax))
}

/** The query: one pass over the newest rows, then all counts from its pairs of reason and party. */
export function notToldCountsQuery(limits: GivenUpLimits, filter: NotToldFilter, rowCountMax: number) {
  return sql.type(notToldCounts)`
    WITH looked_at AS MATERIALIZED (
      SELECT
        split_part(failure_reason, ':', 1) AS reason, party_locator, created_at,
        ${isNotTold(limits)} AND ${hasReason(filter.reason)} AND ${hasRule(filter.rule)} AS counts
      FROM ${rowsAt(newestNotTold(filter, null, rowCountMax))}
    ), pair AS MATERIALIZED (
      SELECT reason, party_locator, count(*)::integer AS count FROM looked_at WHERE counts GROUP BY 1, 2
    ), by_reason AS MATERIALIZED (
      SELECT reason, sum(count)::integer AS count, count(party_locator)::integer AS parties FROM pair GROUP BY 1
    ), by_party AS (
      SELECT party_locator, sum(count)::integer AS count FROM pair WHERE party_locator IS NOT NULL
      GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${PARTY_COUNT_MAX}
    )
    SELECT
      (SELECT coalesce(sum(count), 0)::integer FROM pair) AS "eventCount",
      (SELECT count(DISTINCT party_locator)::integer FROM pair) AS "partyCount",
      ARRAY(
        SELECT json_build_object('reason', reason, 'eventCount', count, 'partyCount', parties)
        FROM by_reason ORDER BY count DESC, reason LIMIT ${REASON_COUNT_MAX}
      ) AS "byReason",
      (SELECT count(*)::integer FROM by_reason) AS "reasonCount",
      ARRAY(
        SELECT json_build_object('partyLocator', party_locator, 'eventCount', count)
        FROM by_party ORDER BY count DESC, party_locator
      ) AS "byParty",
      (
        SELECT ${isoTime(sql.fragment`min(created_at)`)} FROM looked_at HAVING count(*) >= ${rowCountMax}
      ) AS "cutAt"`
}
