import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import {
  buildFacts,
  findForeign,
  PARTY_STATES,
  type RecordedFacts,
  type RuleFacts,
} from '../../service/decide/decision/facts.ts'
import { PRUNED_RULE_ID } from '../../service/decide/decision/skip-pruned.ts'
import { firstLocatorAt, lastLocatorAt } from '../../service/store/sql/locators.ts'
import { factsColumn } from '../../service/store/sql/log-columns.ts'
import type { Traffic, TrafficGroup } from './traffic-sheet.ts'

const DAY_MS = 86_400_000
const DAY_COUNT = 30
/** Smaller groups might point to a member. */
const GROUP_COUNT_MIN = 10
/** Anyone can invent event types: those beyond this number are not told apart. */
const EVENT_TYPE_COUNT_MAX = 1_000
/** The database takes some 30 ms for as many. */
const DECISION_COUNT_MAX = 10_000

const page = z.object({
  last: z.string().nullable(),
  looked: z.number(),
  groups: z.array(z.object({ facts: factsColumn, count: z.number() })),
})

/**
 * Counts the events of the last 30 whole days in UTC by their facts: each once, on the day of its first decision, by the facts of its
 * last one, as a back-test does.
 */
export async function countEvents(
  pool: DatabasePool,
  nowMs: number,
  onProgress: (decisions: number) => void,
): Promise<Traffic> {
  const endMs = Math.floor(nowMs / DAY_MS) * DAY_MS
  const [from, to] = [endMs - DAY_COUNT * DAY_MS, endMs].map((ms) => new Date(ms).toISOString()) as [
    string,
    string,
  ]
  const groups = new Map<string, { facts: RuleFacts; count: number }>()
  const eventTypes = new Set<string>()
  let restCount = 0
  const add = (recorded: RecordedFacts, count: number) => {
    if (eventTypes.size < EVENT_TYPE_COUNT_MAX) eventTypes.add(recorded.eventType)
    if (findForeign(recorded) !== undefined || !eventTypes.has(recorded.eventType)) {
      restCount += count
      return
    }
    const facts = completeFacts(recorded)
    const key = JSON.stringify(facts)
    const group = groups.get(key) ?? { facts, count: 0 }
    group.count += count
    groups.set(key, group)
  }
  let looked = 0
  for (let after: string | null = firstLocatorAt(from); after !== null; ) {
    const found: z.infer<typeof page> = await pool.one(pageQuery(from, to, after))
    for (const { facts, count } of found.groups) add(facts, count)
    looked += found.looked
    onProgress(looked)
    after = found.looked < DECISION_COUNT_MAX ? null : found.last
  }
  const shown = [...groups.values()].filter(({ count }) => count >= GROUP_COUNT_MIN)
  for (const { count } of groups.values()) if (count < GROUP_COUNT_MIN) restCount += count
  return {
    firstDay: from.slice(0, 10),
    lastDay: new Date(endMs - DAY_MS).toISOString().slice(0, 10),
    groups: shown.sort(bySize),
    restCount,
  }
}

/** The facts that this version knows; one that is not recorded has its usual value. */
function completeFacts(recorded: RecordedFacts): RuleFacts {
  const party = PARTY_STATES.find((state) => state === recorded.party) ?? 'found'
  return buildFacts(
    recorded.eventType,
    party,
    (key, { values, usual }) => values.find((value) => value === recorded[key]) ?? usual,
  )
}

function bySize(one: TrafficGroup, other: TrafficGroup): number {
  return other.count - one.count || (JSON.stringify(one.facts) < JSON.stringify(other.facts) ? -1 : 1)
}

/** @internal The query for the next decisions after a locator: the first of each event, with the facts of its last one. */
export function pageQuery(from: string, to: string, after: string) {
  return sql.type(page)`
    WITH looked AS MATERIALIZED (
      SELECT locator, attempt, facts, rule_id, decided_at FROM notifications.decision
      WHERE locator > ${after} AND locator < ${lastLocatorAt(to)} ORDER BY locator, attempt LIMIT ${DECISION_COUNT_MAX}
    ), first AS (
      SELECT DISTINCT ON (locator) *, coalesce(lead(locator) OVER (ORDER BY locator, attempt) = locator, true) AS may_be_retried
      FROM looked ORDER BY locator, attempt
    )
    SELECT (SELECT max(locator) FROM looked) AS last, (SELECT count(*)::integer FROM looked) AS looked, ARRAY(
      SELECT json_build_object('facts', facts, 'count', count(*)) FROM (
        SELECT CASE WHEN may_be_retried THEN (
          SELECT last.facts FROM notifications.decision AS last WHERE last.locator = first.locator ORDER BY attempt DESC LIMIT 1
        ) ELSE facts END AS facts
        FROM first
        WHERE decided_at >= ${from}::timestamptz AND decided_at < ${to}::timestamptz AND rule_id <> ${PRUNED_RULE_ID}
        OFFSET 0
      ) AS event
      GROUP BY facts
    ) AS groups`
}
