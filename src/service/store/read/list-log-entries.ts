import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { type DecidedRow, decidedRow, logEntry } from '../../model/log/log-entry.ts'
import type { LogFilter } from '../../model/log/log-filters.ts'
import type { LogPage, LogPosition, PageRequest } from '../../model/log/log-page.ts'
import { STATUSES } from '../../model/log/status.ts'
import { type GivenUpLimits, isNotTold } from '../sql/given-up.ts'
import { listedColumns, NEWEST_FIRST, selectLastDecision, WITH_LAST } from '../sql/log-columns.ts'
import { textBytes, withinBytes } from '../sql/page-bytes.ts'
import { inSnapshot } from '../sql/snapshot.ts'

/** @internal Maximum number of entries examined for one page if an index finds more than match the filter. */
export const CANDIDATE_COUNT_MAX = 5_000
/** @internal The same if decisions lead to the entries: each costs reads of its decision, later ones and its row. */
export const DECIDED_COUNT_MAX = 1_000

const position = logEntry.pick({ createdAt: true, locator: true })

export async function listLogEntries(
  pool: CommonQueryMethods,
  limits: GivenUpLimits,
  filter: LogFilter,
  page: PageRequest<LogPosition>,
): Promise<LogPage<DecidedRow>> {
  const query = logPageQuery(limits, filter, page)
  if (isExact(planWalks(limits, filter))) return toPage(await pool.any(query), page.limit)
  // In a snapshot, since entries logged between the two reads would push others off the page and out of the list.
  return inSnapshot(pool, async (tx) => {
    const rows = await tx.any(query)
    const found = toPage(rows, page.limit)
    if (found.next !== null) return found
    return { ...found, next: await tx.maybeOne(lastCandidateQuery(limits, filter, page.after)) }
  })
}

const foundEntry = decidedRow.extend({ found: z.int() })
type FoundEntry = Readonly<z.infer<typeof foundEntry>>

/** `next` is null if all entries that were found are on the page. */
function toPage(rows: readonly FoundEntry[], limit: number): LogPage<DecidedRow> {
  const items = rows.slice(0, limit).map(({ found: _, ...entry }) => entry)
  const last = items.at(-1)
  const isMore = last !== undefined && items.length < (rows[0]?.found ?? 0)
  return { items, next: isMore ? { createdAt: last.createdAt, locator: last.locator } : null }
}

/** @internal */
export function logPageQuery(
  limits: GivenUpLimits,
  filter: LogFilter,
  { limit, after }: PageRequest<LogPosition>,
) {
  const walks = planWalks(limits, filter)
  const order = walks.kind === 'rows' ? NEWEST_FIRST : AS_WALKED
  const countMax = isExact(walks) ? limit + 1 : CANDIDATE_COUNT_MAX
  const candidates =
    walks.kind === 'rows'
      ? selectCandidates(walks, filter, after, countMax)
      : selectDecided(walks.decided, after)
  const matching = sql.fragment`
    SELECT * FROM (${candidates}) AS notification_log WHERE ${all(walks.rest)} ORDER BY ${order} LIMIT ${limit + 1}`
  const bytes = textBytes(sql.fragment`subject`, sql.fragment`body`, sql.fragment`failure_reason`)
  return sql.type(foundEntry)`
    SELECT ${listedColumns(limits)}, last.outcome, last."ruleId", last."ruleTableRevision", found
    FROM (${withinBytes(matching, order, bytes)}) AS notification_log ${WITH_LAST}
    ORDER BY ${order}`
}

/** The last position that a page may examine; none if fewer entries are left. */
function lastCandidateQuery(limits: GivenUpLimits, filter: LogFilter, after: LogPosition | null) {
  const walks = planWalks(limits, filter)
  const [candidates, order, countMax] =
    walks.kind === 'rows'
      ? [selectCandidates(walks, filter, after, CANDIDATE_COUNT_MAX), NEWEST_FIRST, CANDIDATE_COUNT_MAX]
      : [walkDecisions(walks.decided, after), sql.fragment`locator DESC`, DECIDED_COUNT_MAX]
  return sql.type(position)`
    SELECT created_at AS "createdAt", locator FROM (${candidates}) AS candidate
    ORDER BY ${order} OFFSET ${countMax - 1} LIMIT 1`
}

type Fragment = ReturnType<typeof sql.fragment>

/**
 * The keys or decisions by which an index finds the entries, and the conditions left to check on their rows. Indexes of decisions
 * have no creation time, so the entries found are listed by locator, which begins with a time.
 */
type Walks =
  | { readonly kind: 'rows'; readonly keys: readonly Fragment[]; readonly rest: readonly Fragment[] }
  | { readonly kind: 'decisions'; readonly decided: DecisionCondition; readonly rest: readonly Fragment[] }

/** The condition for decisions under this name. */
type DecisionCondition = (decision: Fragment) => Fragment

/** The locator from the walk over decisions: the planner knows its order, and stops early. */
const AS_WALKED = sql.fragment`walked_locator DESC`

/** True if every entry of a walk is to be listed. A decision may have no row, or an entry several decisions. */
function isExact(walks: Walks): boolean {
  return walks.kind === 'rows' && walks.rest.length === 0
}

/** The filters with a condition; `listBounds` turns times into bounds. */
type FilterName = Exclude<keyof LogFilter, 'from' | 'to'>

const equals = (column: string) => (value: string) => sql.fragment`${sql.identifier([column])} = ${value}`

/** The condition of each filter. */
const CONDITIONS: {
  readonly [Name in FilterName]-?: (value: NonNullable<LogFilter[Name]>, limits: GivenUpLimits) => Fragment
} = {
  locator: equals('locator'),
  eventId: equals('event_id'),
  partyLocator: equals('party_locator'),
  eventType: equals('event_type'),
  status: equals('status'),
  channel: equals('channel'),
  reference: (reference) => isDecided(hasReference(reference)),
  reason: hasReason,
  reasonPrefix: (prefix) => sql.fragment`starts_with(failure_reason, ${prefix})`,
  rule: hasRule,
  request: (id) => isDecided(isOfRequest(id)),
  notTold: (_, limits) => isNotTold(limits),
}
const FILTER_NAMES = Object.keys(CONDITIONS) as readonly FilterName[]
/** Filters by which an index finds few entries, the most selective first. */
const KEYS = ['locator', 'eventId', 'reference', 'request', 'partyLocator'] as const

function planWalks(limits: GivenUpLimits, filter: LogFilter): Walks {
  const { eventType, status, reason, reasonPrefix, notTold } = filter
  // A sent entry has no reason.
  const isUnsent = reason !== undefined || reasonPrefix !== undefined || notTold === true
  const statuses = STATUSES.filter((known) => known === (status ?? known) && !(isUnsent && known === 'SENT'))
  // Most entries are sent: the other statuses are more selective than an event type.
  const byType = eventType !== undefined && statuses.includes('SENT') ? 'eventType' : 'status'
  const walked = KEYS.find((name) => filter[name] !== undefined) ?? byType
  const listConditions = (names: readonly FilterName[]) =>
    names.flatMap((name) =>
      filter[name] === undefined ? [] : CONDITIONS[name](filter[name] as never, limits),
    )
  const rest = listConditions(FILTER_NAMES.filter((name) => name !== walked))
  const decided =
    walked === 'reference' && filter.reference !== undefined
      ? hasReference(filter.reference)
      : walked === 'request' && filter.request !== undefined
        ? isOfRequest(filter.request)
        : null
  if (decided !== null) return { kind: 'decisions', decided, rest: [...rest, ...listBounds(filter, null)] }
  if (walked !== 'status') return { kind: 'rows', keys: listConditions([walked]), rest }
  const keys = statuses.map((wanted) => CONDITIONS.status(wanted, limits))
  return { kind: 'rows', keys: keys.length === 0 ? [sql.fragment`false`] : keys, rest }
}

/**
 * The newest rows after `after`, in order, at most `countMax`. An index finds them by creation time; rows of one transaction share
 * it and are sorted by locator.
 */
function selectCandidates(
  { keys }: Extract<Walks, { kind: 'rows' }>,
  filter: LogFilter,
  after: LogPosition | null,
  countMax: number,
): Fragment {
  const walks = keys.map(
    (key) => sql.fragment`(
      SELECT * FROM notifications.notification_log WHERE ${all([key, ...listBounds(filter, after)])}
      ORDER BY ${NEWEST_FIRST} LIMIT ${countMax}
    )`,
  )
  return sql.fragment`
    SELECT * FROM (${sql.join(walks, sql.fragment` UNION ALL `)}) AS walks
    ORDER BY ${NEWEST_FIRST} LIMIT ${countMax}`
}

/** The rows of entries that decisions lead to, newest locator first; the walk ends with the last one that is asked for. */
function selectDecided(decided: DecisionCondition, after: LogPosition | null): Fragment {
  return sql.fragment`
    SELECT found.locator AS walked_locator, entry.* FROM (${walkDecisions(decided, after)}) AS found
    CROSS JOIN LATERAL (SELECT * FROM notifications.notification_log WHERE locator = found.locator LIMIT 1) AS entry
    ORDER BY walked_locator DESC`
}

/** Locator and time of the last such decision of each entry, newest locator first, at most `DECIDED_COUNT_MAX`. */
function walkDecisions(decided: DecisionCondition, after: LogPosition | null): Fragment {
  const isBehind = after === null ? sql.fragment`true` : sql.fragment`locator < ${after.locator}`
  return sql.fragment`
    SELECT locator, decided_at AS created_at FROM notifications.decision
    WHERE ${decided(sql.fragment`decision`)} AND ${isBehind} AND (
      SELECT true FROM notifications.decision AS later
      WHERE later.locator = decision.locator AND later.attempt > decision.attempt AND ${decided(sql.fragment`later`)} LIMIT 1
    ) IS NULL
    ORDER BY locator DESC LIMIT ${DECIDED_COUNT_MAX}`
}

/** The condition for rows with such a decision. The limit keeps the planner from reading all such decisions. */
function isDecided(decided: DecisionCondition): Fragment {
  return sql.fragment`(
    SELECT true FROM notifications.decision
    WHERE decision.locator = notification_log.locator AND ${decided(sql.fragment`decision`)} LIMIT 1
  ) IS NOT NULL`
}

/** Decisions about this claim, policy or invoice. An index holds the beginning of the reference. */
function hasReference(reference: string): DecisionCondition {
  return (decision) => sql.fragment`
    left(${decision}.variables ->> 'locator', 255) = left(${reference}, 255) AND ${decision}.variables ->> 'locator' = ${reference}`
}

/** Decisions that a request made, by a retry or redrive. */
function isOfRequest(id: string): DecisionCondition {
  return (decision) => sql.fragment`${decision}.request_id = ${id}::bigint`
}

function hasRule(rule: string): Fragment {
  return sql.fragment`(${selectLastDecision(sql.fragment`rule_id`)}) = ${rule}`
}

/** The condition for rows with this failure reason, or with one that starts with it and a colon. */
function hasReason(reason: string): Fragment {
  return sql.fragment`(failure_reason = ${reason} OR starts_with(failure_reason, ${`${reason}:`}))`
}

function all(conditions: readonly Fragment[]): Fragment {
  return sql.fragment`${sql.join([sql.fragment`true`, ...conditions], sql.fragment` AND `)}`
}

function listBounds({ from, to }: LogFilter, after: LogPosition | null): Fragment[] {
  const bounds: Fragment[] = []
  if (from !== undefined) bounds.push(sql.fragment`created_at >= ${from}::timestamptz`)
  if (after === null) {
    if (to !== undefined) bounds.push(sql.fragment`created_at < ${to}::timestamptz`)
    return bounds
  }
  const position = sql.fragment`${after.createdAt}::timestamptz`
  if (to === undefined) {
    bounds.push(sql.fragment`(created_at, locator) < (${position}, ${after.locator})`)
    return bounds
  }
  // Given two upper bounds, a walk could start at the higher one and read all rows down to the other. No locator is less than ''.
  const end = sql.fragment`${to}::timestamptz`
  bounds.push(sql.fragment`(created_at, locator) < (
    least(${end}, ${position}), CASE WHEN ${end} <= ${position} THEN '' ELSE ${after.locator} END
  )`)
  return bounds
}
