import { type DatabasePool, sql } from 'slonik'
import { CHANNELS, type Channel } from '../core/channel.ts'
import { STATUSES, type Status } from '../core/entry.ts'
import type { LogFilter, LogPage, LogPageRequest } from '../core/log-entry.ts'
import { LOG_COLUMNS, logRow } from './log-rows.ts'

/** One page of the log, newest first. */
export async function listLogEntries(
  pool: DatabasePool,
  filter: LogFilter,
  page: LogPageRequest,
): Promise<LogPage> {
  const rows = await pool.any(logPageQuery(filter, page))
  const items = rows.slice(0, page.limit)
  const last = items.at(-1)
  const isMore = rows.length > page.limit && last !== undefined
  return { items, next: isMore ? { createdAt: last.createdAt, locator: last.locator } : null }
}

/**
 * The query for one page and the row after it. For each pair of status and channel that the filter allows (where there
 * is one) there is one walk of an index in its order, and these are merged, row by row as the page needs them: however common or rare what
 * is asked for, at most a row per walk is read in vain. The keys are those of the indexes, to the letter.
 */
export function logPageQuery(filter: LogFilter, { limit, after }: LogPageRequest) {
  const rowCount = limit + 1
  const times = timesOf(filter, after)
  const walks = keysOf(filter).map(
    (key) => sql.fragment`(
      SELECT ${LOG_COLUMNS} FROM notifications.notification_log
      WHERE ${sql.join([key, ...times], sql.fragment` AND `)}
      ORDER BY created_at DESC, locator DESC LIMIT ${rowCount}
    )`,
  )
  return sql.type(logRow)`
    SELECT * FROM (${sql.join(walks, sql.fragment` UNION ALL `)}) AS entry
    ORDER BY "createdAt" DESC, locator DESC LIMIT ${rowCount}`
}

/** What the rows of each walk have in common. */
function keysOf({ partyLocator, eventType, status, channel, eventId }: LogFilter) {
  // An event has one row at most.
  if (eventId !== undefined) {
    const equal = { event_id: eventId, party_locator: partyLocator, event_type: eventType, status, channel }
    const conditions = Object.entries(equal).flatMap(([column, value]) =>
      value === undefined ? [] : [sql.fragment`${sql.identifier([column])} = ${value}`],
    )
    return [sql.join(conditions, sql.fragment` AND `)]
  }
  // The condition of the index of all rows.
  if ([partyLocator, eventType, status, channel].every((value) => value === undefined)) {
    return [sql.fragment`event_id <> ''`]
  }
  const statuses = status === undefined ? STATUSES : [status]
  const channels = channel === undefined ? CHANNELS : [channel]
  return statuses.flatMap((status) =>
    channels.map((channel) => keyOf({ partyLocator, eventType, status, channel })),
  )
}

function keyOf({
  partyLocator,
  eventType,
  status,
  channel,
}: LogFilter & { status: Status; channel: Channel }) {
  if (partyLocator === undefined && eventType === undefined) {
    return sql.fragment`status = ${status} AND channel = ${channel}`
  }
  if (eventType === undefined) {
    return sql.fragment`party_locator || ' ' || status || ' ' || channel = ${`${partyLocator} ${status} ${channel}`}`
  }
  if (partyLocator === undefined) {
    return sql.fragment`event_type || ' ' || status || ' ' || channel = ${`${eventType} ${status} ${channel}`}`
  }
  return sql.fragment`
    party_locator || ' ' || channel || ' ' || status = ${`${partyLocator} ${channel} ${status}`}
    AND event_type = ${eventType}`
}

/** Between which times, and behind which place, all walks run. */
function timesOf({ from, to }: LogFilter, after: LogPageRequest['after']) {
  // Of two upper bounds a walk could start at the higher one, and would pass all rows down to the other.
  const isBehindPlace = after !== null && (to === undefined || after.createdAt < to)
  return [
    from === undefined ? null : sql.fragment`created_at >= ${from}::timestamptz`,
    to === undefined || isBehindPlace ? null : sql.fragment`created_at < ${to}::timestamptz`,
    isBehindPlace
      ? sql.fragment`(created_at, locator) < (${after.createdAt}::timestamptz, ${after.locator})`
      : null,
  ].filter((condition) => condition !== null)
}
