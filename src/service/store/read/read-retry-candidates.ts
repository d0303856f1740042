import { type CommonQueryMethods, sql } from 'slonik'
import { type RetryCandidate, retryCandidate } from '../../decide/attempt/retry-candidate.ts'
import { logEntry } from '../../model/log/log-entry.ts'
import type { LogFilter } from '../../model/log/log-filters.ts'
import type { LogPosition } from '../../model/log/log-page.ts'
import type { RetryFilter, RetryTarget } from '../../model/request/schemas.ts'
import { sqlArray } from '../sql/columns.ts'
import { type GivenUpLimits, isGivenUp } from '../sql/given-up.ts'
import { DUE_BYTES, DUE_COLUMNS, NEWEST_FIRST, selectLastDecision, WITH_DECIDED } from '../sql/log-columns.ts'
import { withinBytes } from '../sql/page-bytes.ts'
import { listLogEntries } from './list-log-entries.ts'

const PAGE_COUNT_MAX = 500
/** A preview needs no texts, which can be large. */
type Texts = 'with texts' | 'without texts'

/**
 * The next page of a retry's log entries, newest first, after a position: as many as fit into `PAGE_BYTES_MAX`. `next` is null on
 * the last page. A page can be empty without being the last one.
 */
export async function listRetryCandidates(
  pool: CommonQueryMethods,
  limits: GivenUpLimits,
  target: RetryTarget,
  after: LogPosition | null,
  texts: Texts = 'with texts',
): Promise<{ readonly candidates: readonly RetryCandidate[]; readonly next: LogPosition | null }> {
  const { items, next } = await ('locators' in target
    ? listNamed(pool, target.locators, after)
    : listLogEntries(pool, limits, toNotTold(target.filter), { limit: PAGE_COUNT_MAX, after }))
  const locators = items.map(({ locator }) => locator)
  const candidates = await readRetryCandidates(pool, limits, locators, texts)
  const last = candidates.at(-1)
  // An entry that was pruned meanwhile is missing at the end: it is looked for once more, with the next page.
  const isWhole = last === undefined || last.locator === items.at(-1)?.locator
  return { candidates, next: isWhole ? next : { createdAt: last.createdAt, locator: last.locator } }
}

/** The filter of a retry, limited to entries whose member was not told and will not be. */
function toNotTold(filter: RetryFilter): LogFilter {
  return { ...filter, notTold: true }
}

const positionRow = logEntry.pick({ createdAt: true, locator: true })

async function listNamed(pool: CommonQueryMethods, locators: readonly string[], after: LogPosition | null) {
  const start =
    after === null
      ? sql.fragment``
      : sql.fragment`AND (created_at, locator) < (${after.createdAt}::timestamptz, ${after.locator})`
  const items = await pool.any(sql.type(positionRow)`
    SELECT created_at AS "createdAt", locator FROM notifications.notification_log
    WHERE locator = ANY(${sqlArray('text', locators)}) ${start}
    ORDER BY ${NEWEST_FIRST} LIMIT ${PAGE_COUNT_MAX + 1}`)
  const page = items.slice(0, PAGE_COUNT_MAX)
  return { items: page, next: items.length > page.length ? (page.at(-1) ?? null) : null }
}

/**
 * Rows of the log by their locators, in this order, with the data that a requested retry needs: as many as fit into
 * `PAGE_BYTES_MAX`. Locks nothing.
 */
function readRetryCandidates(
  pool: CommonQueryMethods,
  limits: GivenUpLimits,
  locators: readonly string[],
  texts: Texts = 'with texts',
): Promise<readonly RetryCandidate[]> {
  const isShort = texts === 'without texts'
  const row = isShort
    ? sql.fragment`notification_log.locator, event_id, event_type, party_locator, created_at, status, attempt_count, failure_reason, NULL AS subject, NULL AS body`
    : sql.fragment`notification_log.*`
  const variables = isShort
    ? sql.fragment`CASE WHEN variables IS NOT NULL THEN '{}'::jsonb END`
    : sql.fragment`variables`
  const decision = sql.fragment`json_build_object(
    'ruleId', rule_id, 'variables', ${variables}, 'reason', reason, 'facts', facts, 'topic', topic,
    'partition', partition_id, 'offset', "offset"::text, 'envelopeMapRevision', envelope_map_revision)`
  const named = sql.fragment`
    SELECT named.nr, ${row}, decided.*
    FROM unnest(${sqlArray('text', locators)}) WITH ORDINALITY AS named (locator, nr)
    CROSS JOIN LATERAL (
      SELECT * FROM notifications.notification_log WHERE locator = named.locator LIMIT 1
    ) AS notification_log ${WITH_DECIDED}`
  const order = sql.fragment`nr`
  return pool.any(sql.type(retryCandidate)`
    SELECT
      ${DUE_COLUMNS}, failure_reason AS "failureReason", ${isGivenUp(limits)} AS "isGivenUp",
      (
        SELECT true FROM notifications.decision
        WHERE decision.locator = notification_log.locator AND erased_at IS NOT NULL LIMIT 1
      ) IS NOT NULL OR EXISTS (SELECT FROM notifications.erasure WHERE erasure.party_locator = notification_log.party_locator) AS "isErased",
      (${selectLastDecision(decision)}) AS decision
    FROM (${isShort ? named : withinBytes(named, order, DUE_BYTES)}) AS notification_log
    ORDER BY ${order}`)
}
