import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import {
  buildFacts,
  findForeign,
  PARTY_STATES,
  type RecordedFacts,
  type RuleFacts,
} from '../../service/decide/decision/facts.ts'
import { storedFacts } from '../../service/decide/decision/recorded-decision.ts'
import { PRUNED_RULE_ID } from '../../service/decide/decision/skip-pruned.ts'
import { firstLocatorAt, lastLocatorAt } from '../../service/store/sql/locators.ts'
import type { Traffic, TrafficGroup } from './traffic-sheet.ts'

const DAY_MS = 86_400_000
const DAY_COUNT = 30
/** Smaller groups could identify a member. */
const GROUP_COUNT_MIN = 10
/** Limit for event types, since anyone can invent some; further ones are counted as one. */
const EVENT_TYPE_COUNT_MAX = 1_000
/** The database takes some 30 ms for this many. */
const DECISION_COUNT_MAX = 10_000

const page = z.object({
  last: z.string().nullable(),
  groups: z.array(z.object({ facts: storedFacts, count: z.number() })),
})

/**
 * Counts the events of the last 30 whole days in UTC by their facts. Like a back-test, it counts each event once, on the day of its
 * first decision and by the facts of its last one.
 */
export async function countEvents(
  pool: DatabasePool,
  wallMs: number,
  onProgress: (events: number) => void,
): Promise<Traffic> {
  const endMs = Math.floor(wallMs / DAY_MS) * DAY_MS
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
  let counted = 0
  for (let after: string | null = firstLocatorAt(from); after !== null; ) {
    const found: z.infer<typeof page> = await pool.one(pageQuery(from, to, after))
    for (const { facts, count } of found.groups) {
      add(facts, count)
      counted += count
    }
    onProgress(counted)
    after = found.last
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

/** The facts that this version knows; an unrecorded one has its usual value. */
function completeFacts(recorded: RecordedFacts): RuleFacts {
  const party = PARTY_STATES.find((state) => state === recorded.party) ?? 'found'
  return buildFacts(
    recorded.eventType,
    party,
    (key, { values, usual }) => values.find((value) => value === recorded[key]) ?? usual,
  )
}

function bySize(a: TrafficGroup, b: TrafficGroup): number {
  return b.count - a.count || (JSON.stringify(a.facts) < JSON.stringify(b.facts) ? -1 : 1)
}

/**
 * @internal The query for the events after a locator, with the facts of their last decisions. Nearly every event has one decision,
 * so all decisions are counted as read, and events with several are corrected afterwards.
 */
export function pageQuery(from: string, to: string, after: string) {
  const end = lastLocatorAt(to)
  const isOfPeriod = sql.fragment`decided_at >= ${from}::timestamptz AND decided_at < ${to}::timestamptz AND rule_id <> ${PRUNED_RULE_ID}`
  const isOnPage = sql.fragment`locator > ${after} AND locator <= coalesce((SELECT last FROM page), ${end})`
  return sql.type(page)`
    WITH page AS MATERIALIZED (
      SELECT (
        SELECT locator FROM notifications.decision WHERE locator > ${after} AND locator < ${end}
        ORDER BY locator, attempt OFFSET ${DECISION_COUNT_MAX - 1} LIMIT 1
      ) AS last
    ), counted AS (
      SELECT facts, count(*) AS count FROM notifications.decision WHERE ${isOnPage} AND ${isOfPeriod} GROUP BY facts
    ), retried AS MATERIALIZED (
      SELECT locator FROM notifications.decision WHERE ${isOnPage} GROUP BY locator HAVING count(*) > 1
    ), corrections AS (
      SELECT facts, (is_last AND is_first_of_period)::integer - is_of_period::integer AS count
      FROM retried CROSS JOIN LATERAL (
        SELECT facts, ${isOfPeriod} AS is_of_period, lead(attempt) OVER attempts IS NULL AS is_last,
          first_value(${isOfPeriod}) OVER attempts AS is_first_of_period
        FROM notifications.decision WHERE locator = retried.locator WINDOW attempts AS (ORDER BY attempt)
      ) AS decided
    )
    SELECT last, ARRAY(
      SELECT json_build_object('facts', facts, 'count', sum(count))
      FROM (SELECT * FROM counted UNION ALL SELECT * FROM corrections) AS event
      GROUP BY facts HAVING sum(count) > 0
    ) AS groups FROM page`
}
