import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { storedFacts } from '../../service/decide/decision/recorded-decision.ts'
import { PRUNED_RULE_ID } from '../../service/decide/decision/skip-pruned.ts'
import { type DecisionPage, decisionGroup, earlierDecision } from '../../service/model/decision-group.ts'
import { sqlArray } from '../../service/store/sql/columns.ts'
import { firstLocatorAt, lastLocatorAt } from '../../service/store/sql/locators.ts'
import { HAS_INVALID_LOCATOR } from '../../service/store/sql/log-columns.ts'
import { jsonBytes, withinBytes } from '../../service/store/sql/page-bytes.ts'

const page = z.object({
  last: z.string().nullable(),
  looked: z.number(),
  found: z.number(),
  events: z.number(),
  groups: z.array(
    decisionGroup.extend({
      facts: storedFacts,
      earlier: z.array(earlierDecision.extend({ facts: storedFacts })),
    }),
  ),
})

/** The database takes some 40 ms for this many usual decisions. Most are alike and form few groups. */
const DECISION_COUNT_MAX = 5_000

/** A page of the decisions of a period. */
export interface DecisionPageRequest {
  /** In ISO 8601. */
  readonly from: string
  /** Null: up to now. */
  readonly to: string | null
  /** The last locator of the previous page; none for the first page. */
  readonly cursor?: string | null | undefined
}

interface PageLimits {
  /** Locators of each group. */
  readonly locatorCountMax: number
  readonly decisionCountMax?: number
}

/**
 * Reads decisions, grouped by facts and result: at most `decisionCountMax` and `PAGE_BYTES_MAX` of facts, plus the remaining ones
 * of the page's last event. An event belongs to the period and rule of its first decision, and counts once, by its last one.
 */
export async function groupDecisions(
  connection: CommonQueryMethods,
  { from, to, cursor }: DecisionPageRequest,
  { locatorCountMax, decisionCountMax = DECISION_COUNT_MAX }: PageLimits,
): Promise<DecisionPage> {
  const start = cursor ?? firstLocatorAt(from)
  const end = to && lastLocatorAt(to)
  const decisions = sql.fragment`
    SELECT
      locator, attempt, facts, rule_id, outcome, channel, rule_table_revision, ${HAS_INVALID_LOCATOR} AS invalid_party,
      decided_at, ${jsonBytes(sql.fragment`facts`)} AS bytes
    FROM notifications.decision
    WHERE locator > ${start} AND (${end}::text IS NULL OR locator < ${end})
    ORDER BY locator, attempt LIMIT ${decisionCountMax}`
  const { last, looked, found, events, groups } = await connection.one(sql.type(page)`
    WITH looked AS MATERIALIZED (
      ${withinBytes(decisions, sql.fragment`locator, attempt`, sql.fragment`bytes`)}
    ), first AS MATERIALIZED (
      -- More decisions may follow the last one of a page.
      SELECT DISTINCT ON (locator) *, coalesce(lead(locator) OVER (ORDER BY locator, attempt) = locator, true) AS may_be_retried
      FROM looked ORDER BY locator, attempt
    ), of_rules AS (
      SELECT * FROM first
      WHERE decided_at >= ${from}::timestamptz AND (${to}::timestamptz IS NULL OR decided_at < ${to}) AND rule_id <> ${PRUNED_RULE_ID}
    ), counting AS (
      SELECT locator, facts, '[]'::jsonb AS earlier, false AS on_request, rule_id, outcome, channel, rule_table_revision, invalid_party
      FROM of_rules WHERE NOT may_be_retried
      UNION ALL
      SELECT locator, last.* FROM of_rules CROSS JOIN LATERAL (
        SELECT d.facts, coalesce((
          SELECT jsonb_agg(
            jsonb_build_object('facts', e.facts, 'outcome', e.outcome, 'onRequest', e.retried_by IS NOT NULL)
            ORDER BY e.attempt
          )
          FROM notifications.decision e WHERE e.locator = d.locator AND e.attempt < d.attempt
        ), '[]'), d.attempt > of_rules.attempt AND d.retried_by IS NOT NULL, d.rule_id, d.outcome, d.channel, d.rule_table_revision,
          ${HAS_INVALID_LOCATOR}
        FROM notifications.decision d WHERE d.locator = of_rules.locator ORDER BY d.attempt DESC LIMIT 1
      ) AS last
      WHERE may_be_retried
    ), counted AS (
      SELECT facts, earlier, on_request, rule_id, outcome, channel, rule_table_revision, invalid_party,
        count(*) AS count, array_agg(locator) AS locators
      FROM counting
      GROUP BY facts, earlier, on_request, rule_id, outcome, channel, rule_table_revision, invalid_party
    )
    SELECT
      (SELECT max(locator) FROM looked) AS last,
      (SELECT count(*)::integer FROM looked) AS looked,
      coalesce((SELECT max(found) FROM looked), 0) AS found,
      (SELECT count(*)::integer FROM first) AS events,
      ARRAY(
        SELECT json_build_object(
          'id', encode(sha256(convert_to(jsonb_build_array(
            facts, earlier, on_request, rule_id, outcome, channel, rule_table_revision, invalid_party
          )::text, 'UTF8')), 'hex'),
          'facts', facts, 'earlier', earlier, 'onRequest', on_request, 'ruleId', rule_id, 'outcome', outcome, 'channel', channel,
          'ruleTableRevision', rule_table_revision, 'isPartyInvalid', invalid_party, 'count', count,
          'locators', ARRAY(SELECT unnest(locators) AS locator ORDER BY locator LIMIT ${locatorCountMax})
        ) FROM counted
      ) AS groups`)
  const isLast = looked === found && found < decisionCountMax
  return { events, groups, nextCursor: isLast ? null : last }
}

const member = z.object({ locator: z.string(), partyLocator: z.string().nullable(), createdAt: z.string() })

/** Party and creation time of these log entries, by locator. */
export async function findMembers(
  pool: CommonQueryMethods,
  locators: readonly string[],
): Promise<ReadonlyMap<string, z.infer<typeof member>>> {
  const rows = await pool.any(sql.type(member)`
    SELECT locator, party_locator AS "partyLocator", created_at AS "createdAt"
    FROM notifications.notification_log WHERE locator = ANY(${sqlArray('text', locators)})`)
  return new Map(rows.map((row) => [row.locator, row]))
}
