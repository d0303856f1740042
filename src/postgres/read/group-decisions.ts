import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { PRUNED_RULE_ID } from '../../core/decision/skip-pruned.ts'
import { LOCATOR_COUNT_MAX } from '../../core/rules/backtest.ts'
import { type DecisionGroup, decisionGroup, earlierDecision } from '../../core/rules/decision-group.ts'
import { jsonBytes, withinBytes } from '../sql/page-bytes.ts'
import { inSnapshot } from '../sql/snapshot.ts'
import { factsColumn, HAS_INVALID_LOCATOR } from './log-columns.ts'

const page = z.object({
  last: z.string().nullable(),
  events: z.number(),
  found: z.number(),
  groups: z.array(
    decisionGroup.extend({
      facts: factsColumn,
      earlier: z.array(earlierDecision.extend({ facts: factsColumn })),
    }),
  ),
})

/** Locators begin with a time in milliseconds, from a clock other than the database's. The clocks may differ by this much. */
export const CLOCKS_APART_MAX_MS = 86_400_000

/** 50,000 usual events fit. Most of them are alike, and so become few groups. */
const FACTS_BYTES_MAX = 8 * 1024 * 1024

/**
 * Yields the decisions of a period (without end: up to now), grouped by facts and result, one page at a time. A page looks at
 * `countMax` events and `FACTS_BYTES_MAX` at most, so that progress can be shown. An event belongs to the period and rule of its
 * first decision, and counts once, by its last one. Read-only.
 */
export async function* decisionGroups(
  pool: DatabasePool,
  since: string,
  countMax: number,
  until: string | null = null,
): AsyncGenerator<{ readonly events: number; readonly groups: readonly DecisionGroup[] }> {
  let after: string | null = firstLocatorAt(since)
  const end = until && firstLocatorAt(new Date(Date.parse(until) + 2 * CLOCKS_APART_MAX_MS).toISOString())
  while (after !== null) {
    const start: string = after
    const looked = sql.fragment`
          SELECT DISTINCT ON (locator)
            locator, facts, rule_id, outcome, channel, rule_table_revision,
            ${HAS_INVALID_LOCATOR} AS invalid_party, decided_at,
            lead(attempt) OVER (PARTITION BY locator ORDER BY attempt) IS NOT NULL AS superseded,
            sum(${jsonBytes(sql.fragment`facts`)}) OVER (PARTITION BY locator) AS bytes
          FROM notifications.decision
          WHERE locator > ${start} AND (${end}::text IS NULL OR locator < ${end})
          ORDER BY locator, attempt LIMIT ${countMax}`
    const { events, found, groups, last } = await inSnapshot(pool, (tx) =>
      tx.one(sql.type(page)`
        WITH first AS MATERIALIZED (
          ${withinBytes(looked, sql.fragment`locator`, sql.fragment`bytes`, FACTS_BYTES_MAX)}
        ), of_rules AS (
          SELECT * FROM first 
          WHERE decided_at >= ${since}::timestamptz AND (${until}::timestamptz IS NULL OR decided_at < ${until}) AND rule_id <> ${PRUNED_RULE_ID}
        ), counting AS (
          SELECT locator, facts, '[]'::jsonb AS earlier, false AS on_request, rule_id, outcome, channel, rule_table_revision, invalid_party
          FROM of_rules WHERE NOT superseded
          UNION ALL
          SELECT locator, last.* FROM of_rules CROSS JOIN LATERAL (
            SELECT d.facts, (
              SELECT jsonb_agg(
                jsonb_build_object('facts', e.facts, 'outcome', e.outcome, 'onRequest', e.retried_by IS NOT NULL)
                ORDER BY e.attempt
              )
              FROM notifications.decision e WHERE e.locator = d.locator AND e.attempt < d.attempt
            ), d.retried_by IS NOT NULL, d.rule_id, d.outcome, d.channel, d.rule_table_revision, ${HAS_INVALID_LOCATOR}
            FROM notifications.decision d WHERE d.locator = of_rules.locator ORDER BY d.attempt DESC LIMIT 1
          ) AS last
          WHERE superseded
        ), counted AS (
          SELECT facts, earlier, on_request, rule_id, outcome, channel, rule_table_revision, invalid_party,
            count(*) AS count, (array_agg(locator ORDER BY locator))[1:${LOCATOR_COUNT_MAX}] AS locators
          FROM counting
          GROUP BY facts, earlier, on_request, rule_id, outcome, channel, rule_table_revision, invalid_party
        )
        SELECT
          (SELECT max(locator) FROM first) AS last,
          (SELECT count(*)::integer FROM first) AS events,
          coalesce((SELECT max(found) FROM first), 0) AS found,
          ARRAY(
            SELECT json_build_object(
              'facts', facts, 'earlier', earlier, 'onRequest', on_request, 'ruleId', rule_id, 'outcome', outcome, 'channel', channel,
              'ruleTableRevision', rule_table_revision, 'invalidParty', invalid_party, 'count', count, 'locators', locators
            ) FROM counted
          ) AS groups`),
    )
    yield { events, groups }
    after = events === found && found < countMax ? null : last
  }
}

/** All entries from this time on have greater locators: see CLOCKS_APART_MAX_MS. */
export function firstLocatorAt(time: string): string {
  const hex = Math.max(Date.parse(time) - CLOCKS_APART_MAX_MS, 0)
    .toString(16)
    .padStart(12, '0')
  return `NTF-${hex.slice(0, 8)}-${hex.slice(8)}`
}
