import { z } from 'zod'
import { CHANNELS } from '../../core/decision/channel.ts'
import { explainedDecision, followedChange } from '../../core/decision/recorded-decision.ts'
import { type ExplainedLogEntry, explainedLogEntry, logEntry } from '../../core/log/log-entry.ts'
import { isLogLocator } from '../../core/log/log-locator.ts'
import type { LogFilter, LogPage, LogPageRequest } from '../../core/log/log-page.ts'
import { STATUSES } from '../../core/log/status.ts'
import type { Since } from '../../core/time/since.ts'
import { ProblemError, problemBody } from '../problems/problem.ts'
import { identifier, since, time } from '../request/fields.ts'
import { cursors, limit } from '../request/paging.ts'
import type { App } from '../server/base.ts'

/** Reads the notification log. Both reject where the database fails. A list ends with its signal: its client is gone. */
export interface LogEntries {
  list: (filter: LogFilter<Since>, page: LogPageRequest, signal: AbortSignal) => Promise<LogPage>
  get: (locator: string) => Promise<ExplainedLogEntry | null>
}

const entryTimes = { sentAt: time.nullable(), createdAt: time }
const listedEntry = logEntry.extend(entryTimes)
const wholeEntry = explainedLogEntry.extend({
  ...entryTimes,
  decisions: z.array(
    explainedDecision.extend({
      decidedAt: time,
      erasedAt: time.nullable(),
      preferenceChange: followedChange.extend({ changedAt: time, optedOutAt: time.nullable() }).nullable(),
    }),
  ),
})

/** PostgreSQL has no year 0. */
const YEAR_KNOWN = /^(?!0000)/
/** Where a page of log entries ended. */
export const position = z.object({
  createdAt: time.regex(YEAR_KNOWN),
  locator: identifier.startsWith('NTF-'),
})
const cursor = cursors('log', position)

const query = z.strictObject({
  partyLocator: identifier.optional(),
  eventType: identifier.optional(),
  status: z.enum(STATUSES, `must be one of ${STATUSES.join(', ')}`).optional(),
  channel: z.enum(CHANNELS, `must be one of ${CHANNELS.join(', ')}`).optional(),
  eventId: identifier.optional(),
  from: since.optional(),
  to: since.optional(),
  limit,
  cursor: cursor.parameter,
})

/** The names under which the specification has the log. */
const PATHS = ['/log', '/notifications']

/** The notification log under its names: newest first, filtered, in pages; and one entry with its decisions. */
export function logRoutes(app: App, logEntries: LogEntries, paths: readonly string[] = PATHS): void {
  const list = z.object({ items: z.array(listedEntry), nextCursor: z.string().nullable() })
  const listSchema = { querystring: query, response: { 200: list, 400: problemBody, 503: problemBody } }
  const oneSchema = {
    params: z.object({ locator: z.string() }),
    response: { 200: wholeEntry, 404: problemBody, 503: problemBody },
  }

  for (const path of paths) {
    app.get(`${path}/list`, { config: { access: 'admin' }, schema: listSchema }, async (request) => {
      const { limit, cursor: after = null, ...filter } = request.query
      const { items, next } = await logEntries.list(filter, { limit, after }, request.signal)
      return { items: [...items], nextCursor: next && cursor.encode(next) }
    })

    app.get(`${path}/:locator`, { config: { access: 'admin' }, schema: oneSchema }, async (request) => {
      const { locator } = request.params
      const entry = isLogLocator(locator) ? await logEntries.get(locator) : null
      if (entry === null) throw new ProblemError('not-found', { detail: 'No log entry has this locator.' })
      return entry
    })
  }
}
