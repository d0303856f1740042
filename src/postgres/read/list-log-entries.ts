import { type CommonQueryMethods, sql } from 'slonik'
import { CHANNELS } from '../../core/decision/channel.ts'
import { listedLogEntry } from '../../core/log/log-entry.ts'
import type { LogFilter, LogPage, LogPageRequest, LogPosition } from '../../core/log/log-page.ts'
import { STATUSES, type Status } from '../../core/log/status.ts'
import { boundedPage, CANDIDATE_COUNT_MAX, hasReason, hasRule, isUpTo, rowsAt } from './bounded-page.ts'
import { type GivenUpLimits, isNotTold, listedColumns } from './log-columns.ts'

/** One page of the log, newest first. */
export async function listLogEntries(
  pool: CommonQueryMethods,
  limits: GivenUpLimits,
  filter: LogFilter,
  page: LogPageRequest,
): Promise<LogPage> {
  if (filter.reason !== undefined || filter.rule !== undefined || filter.notTold) {
    return boundedPage(pool, candidatesOf(filter, page.after), page.limit, (tx, limit, end) =>
      tx.any(logSearchQuery(limits, filter, { ...page, limit, end })),
    )
  }
  const rows = await pool.any(logPageQuery(limits, filter, page))
  const items = rows.slice(0, page.limit)
  const last = items.at(-1)
  const isMore = rows.length > page.limit && last !== undefined
  return { items, next: isMore ? { createdAt: last.createdAt, locator: last.locator } : null }
}

/**
 * The query for one page and the row after it. It finds the positions of the page's rows by walks of an index in its order,
 * one for each kind of row (event type, status, channel; as far as the filter leaves it open), then reads these rows.
 * However common or rare what is asked for, nothing is read but what is walked over.
 */
export function logPageQuery(limits: GivenUpLimits, filter: LogFilter, { limit, after }: LogPageRequest) {
  const walk: Walk = { bounds: boundsOf(filter, after), rowCount: limit + 1 }
  return sql.type(listedLogEntry)`
    SELECT ${listedColumns(limits)}
    FROM (
      SELECT * FROM (${positionsOf(filter, walk)}) AS walks
      ORDER BY created_at DESC, locator DESC LIMIT ${walk.rowCount}
    ) AS position
    JOIN notifications.notification_log USING (created_at, locator)
    ORDER BY created_at DESC, locator DESC`
}

/**
 * The query for entries that no index finds: by reason, by rule, or of members not told. It looks at a bounded number of rows, after
 * `after` and up to `end`.
 */
export function logSearchQuery(
  limits: GivenUpLimits,
  filter: LogFilter,
  { limit, after, end }: LogPageRequest & { readonly end: LogPosition | null },
) {
  return sql.type(listedLogEntry)`
    SELECT ${listedColumns(limits)}
    FROM ${rowsAt(candidatesOf(filter, after))}
    WHERE ${isUpTo(end)} AND ${hasReason(filter.reason)} AND ${hasRule(filter.rule)}
      AND ${filter.notTold ? isNotTold(limits) : sql.fragment`true`}
    ORDER BY created_at DESC, locator DESC
    LIMIT ${limit}`
}

function candidatesOf(filter: LogFilter, after: LogPosition | null): Fragment {
  const statuses = filter.status === undefined ? STATUSES : [filter.status]
  // A sent entry has no reason.
  const isUnsent = filter.reason !== undefined || filter.notTold === true
  const searched = isUnsent ? statuses.filter((status) => status !== 'SENT') : statuses
  return searched.length === 0
    ? sql.fragment`SELECT created_at, locator FROM notifications.notification_log WHERE false`
    : newestPositions(searched, filter, after, CANDIDATE_COUNT_MAX)
}

/**
 * The newest positions of the rows that have one of these statuses, in order, `rowCount` at most: a query in itself. Nothing
 * is read but index entries that are walked over.
 */
function newestPositions(
  statuses: readonly Status[],
  filter: LogFilter,
  after: LogPosition | null,
  rowCount: number,
): Fragment {
  const walk: Walk = { bounds: boundsOf(filter, after), rowCount }
  const walks = statuses.map(
    (status) => sql.fragment`SELECT * FROM (${positionsOf({ ...filter, status }, walk)}) AS walk`,
  )
  return sql.fragment`
    SELECT * FROM (${sql.join(walks, sql.fragment` UNION ALL `)}) AS walks
    ORDER BY created_at DESC, locator DESC LIMIT ${rowCount}`
}

type Fragment = ReturnType<typeof sql.fragment>

/** How far a walk goes: between which times and behind which position, and how many rows at most. */
interface Walk {
  readonly bounds: readonly Fragment[]
  readonly rowCount: number
}

function positionsOf(filter: LogFilter, walk: Walk): Fragment {
  const { eventId, reference, partyLocator, eventType, status, channel } = filter
  if (eventId !== undefined || reference !== undefined) {
    // An event has one row at most, and a reference few.
    const key = { event_id: eventId, party_locator: partyLocator, event_type: eventType, status, channel }
    return walked([...equal(key), ...isAbout(reference)], walk)
  }
  return partyLocator === undefined
    ? positionsOfAll(filter, walk)
    : positionsOfParty(partyLocator, filter, walk)
}

/** The newest positions under a key. */
function walked(key: readonly Fragment[], { bounds, rowCount }: Walk): Fragment {
  return sql.fragment`
    SELECT * FROM (
      SELECT created_at, locator FROM notifications.notification_log WHERE ${all([...key, ...bounds])}
      ORDER BY created_at DESC, locator DESC LIMIT ${rowCount}
    ) AS walk`
}

/** All parties: one walk for each status and channel. The key must match the index's expression exactly. */
function positionsOfAll({ eventType, status, channel }: LogFilter, walk: Walk): Fragment {
  const walks = (status === undefined ? STATUSES : [status]).flatMap((status) =>
    (channel === undefined ? CHANNELS : [channel]).map((channel) =>
      walked([keyOf(eventType, `${status} ${channel}`)], walk),
    ),
  )
  return sql.fragment`${sql.join(walks, sql.fragment` UNION ALL `)}`
}

function keyOf(eventType: string | undefined, statusAndChannel: string): Fragment {
  return eventType === undefined
    ? sql.fragment`status || ' ' || channel = ${statusAndChannel}`
    : sql.fragment`event_type || ' ' || status || ' ' || channel = ${`${eventType} ${statusAndChannel}`}`
}

/** One party: one walk for each kind of its rows. A skip scan finds the kinds. */
function positionsOfParty(
  partyLocator: string,
  { eventType, status, channel }: LogFilter,
  walk: Walk,
): Fragment {
  const ofParty = sql.fragment`party_locator = ${partyLocator}`
  const firstKind = (conditions: readonly Fragment[]) => sql.fragment`
    SELECT event_type, status, channel FROM notifications.notification_log
    WHERE ${all(conditions)} ORDER BY event_type, status, channel LIMIT 1`
  // Together with `event_type = …` the next kind would be looked for among all rows of that type, from the first one on.
  const isLater = sql.fragment`(event_type, status, channel) > (kind.event_type, kind.status, kind.channel)`
  const ofKind = sql.fragment`event_type = kind.event_type AND status = kind.status AND channel = kind.channel`
  return sql.fragment`
    WITH RECURSIVE kind AS (
      (${firstKind([ofParty])})
      UNION ALL
      SELECT next.* FROM kind CROSS JOIN LATERAL (${firstKind([ofParty, isLater])}) AS next
    )
    SELECT position.* FROM (SELECT * FROM kind WHERE ${all(equal({ event_type: eventType, status, channel }))}) AS kind
    CROSS JOIN LATERAL (${walked([ofParty, ofKind], walk)}) AS position`
}

function isAbout(reference: string | undefined): Fragment[] {
  if (reference === undefined) return []
  // As an array, the locators are found first, whatever the planner takes the other filters for.
  return [
    sql.fragment`locator = ANY(ARRAY(SELECT locator FROM notifications.decision WHERE variables ->> 'locator' = ${reference}))`,
  ]
}

/** The columns for which there is a value have it. */
function equal(values: Readonly<Record<string, string | undefined>>): Fragment[] {
  return Object.entries(values).flatMap(([column, value]) =>
    value === undefined ? [] : [sql.fragment`${sql.identifier([column])} = ${value}`],
  )
}

function all(conditions: readonly Fragment[]): Fragment {
  return sql.fragment`${sql.join([sql.fragment`true`, ...conditions], sql.fragment` AND `)}`
}

/** Between which times, and behind which position, all walks run. */
function boundsOf({ from, to }: LogFilter, after: LogPageRequest['after']): Fragment[] {
  // With two upper bounds a walk could start at the higher one and read all rows down to the other.
  const isBehindPosition = after !== null && (to === undefined || after.createdAt < to)
  return [
    from === undefined ? null : sql.fragment`created_at >= ${from}::timestamptz`,
    to === undefined || isBehindPosition ? null : sql.fragment`created_at < ${to}::timestamptz`,
    isBehindPosition
      ? sql.fragment`(created_at, locator) < (${after.createdAt}::timestamptz, ${after.locator})`
      : null,
  ].filter((condition) => condition !== null)
}
