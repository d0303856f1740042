import { type DatabasePool, sql } from 'slonik'
import { type RuleMatches, ruleMatches } from '../../core/rules/current-rules.ts'
import { isoTime } from '../sql/columns.ts'

/** Limits the cost. */
const DECISION_COUNT_MAX = 100_000

const matchesRow = ruleMatches.omit({ complete: true })

/** Counts the decisions of each rule of a table among the newest 100,000. */
export async function countRuleMatches(
  pool: DatabasePool,
  revision: string,
  decisionCountMax = DECISION_COUNT_MAX,
): Promise<RuleMatches> {
  const found = await pool.one(ruleMatchesQuery(revision, decisionCountMax))
  return { ...found, complete: found.lookedAt < decisionCountMax }
}

/** Walks the primary key backwards: in order of time, except for clock differences. */
export function ruleMatchesQuery(revision: string, decisionCountMax: number) {
  return sql.type(matchesRow)`
    WITH walked AS MATERIALIZED (
      SELECT rule_id, decided_at, rule_table_revision = ${revision} AS is_ours
      FROM notifications.decision ORDER BY locator DESC, attempt DESC LIMIT ${decisionCountMax}
    ), hit AS (
      SELECT rule_id, count(*)::integer AS count, max(decided_at) AS last_at
      FROM walked WHERE is_ours GROUP BY rule_id
    )
    SELECT count(*)::integer AS "lookedAt", min(decided_at) AS since, ARRAY(
      SELECT json_build_object('ruleId', rule_id, 'count', count, 'lastAt', ${isoTime(sql.fragment`last_at`)})
      FROM hit ORDER BY rule_id
    ) AS matches
    FROM walked`
}
