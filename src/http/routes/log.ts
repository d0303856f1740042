import { z } from 'zod'
import { CHANNELS } from '../../core/decision/channel.ts'
import { PARTY_STATES } from '../../core/decision/facts.ts'
import { OUTCOMES } from '../../core/decision/verdict.ts'
import { STATUSES } from '../../core/log/entry.ts'
import {
  type ExplainedLogEntry,
  isLogLocator,
  type LogFilter,
  type LogPage,
  type LogPageRequest,
} from '../../core/log/log-entry.ts'
import { ProblemError, problemBody } from '../problems/problem.ts'
import { cursors } from '../request/cursor.ts'
import { identifier, instant, limit, time } from '../request/fields.ts'
import type { App } from '../server/base.ts'

/** Reads the notification log. Both reject where the database fails. */
export interface LogEntries {
  list: (filter: LogFilter, page: LogPageRequest) => Promise<LogPage>
  get: (locator: string) => Promise<ExplainedLogEntry | null>
}

const logEntry = z.object({
  locator: z.string(),
  eventId: z.string(),
  partyLocator: z.string().nullable(),
  eventType: z.string(),
  channel: z.enum(CHANNELS),
  status: z.enum(STATUSES),
  subject: z.string().nullable(),
  body: z.string().nullable(),
  failureReason: z.string().nullable(),
  attemptCount: z.int(),
  sentAt: time.nullable(),
  createdAt: time,
})

const decision = z.object({
  attempt: z.int(),
  outcome: z.enum(OUTCOMES),
  channel: z.enum(CHANNELS),
  ruleId: z.string(),
  reason: z.string().nullable(),
  facts: z.object({
    eventType: z.string(),
    party: z.enum(PARTY_STATES),
    optedOut: z.boolean(),
    preferredChannel: z.enum(CHANNELS),
    emailOnFile: z.boolean().nullable(),
    phoneOnFile: z.boolean().nullable(),
  }),
  templateRevision: z.string().nullable(),
  ruleTableRevision: z.string(),
  receipt: z.string().nullable(),
  sendError: z.string().nullable(),
  decidedAt: time,
  erasedAt: time.nullable(),
  topic: z.string(),
  partition: z.int(),
  offset: z.string(),
  traceId: z.string().nullable(),
  preferenceChange: z
    .object({ changedAt: time, changedBy: z.string().nullable(), optedOutAt: time.nullable() })
    .nullable(),
  why: z.string(),
  because: z.string().nullable(),
  rulesAbove: z.array(z.object({ ruleId: z.string(), mismatch: z.string() })),
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
  from: instant.optional(),
  to: instant.optional(),
  limit,
  cursor: cursor.parameter,
})

/** The names under which the specification has the log. */
const PATHS = ['/log', '/notifications']

/** The notification log under its names: newest first, filtered, in pages; and one entry with its decisions. */
export function logRoutes(app: App, logEntries: LogEntries, paths: readonly string[] = PATHS): void {
  const list = z.object({ items: z.array(logEntry), nextCursor: z.string().nullable() })
  const listSchema = { querystring: query, response: { 200: list, 400: problemBody, 503: problemBody } }
  const oneSchema = {
    params: z.object({ locator: z.string() }),
    response: { 200: logEntry.extend({ decisions: z.array(decision) }), 404: problemBody, 503: problemBody },
  }

  for (const path of paths) {
    app.get(`${path}/list`, { config: { access: 'admin' }, schema: listSchema }, async (request) => {
      const { limit, cursor: after = null, ...filter } = request.query
      const { items, next } = await logEntries.list(filter, { limit, after })
      return { items: [...items], nextCursor: next && cursor.encode(next) }
    })

    app.get(`${path}/:locator`, { config: { access: 'admin' }, schema: oneSchema }, async (request) => {
      const { locator } = request.params
      const entry = isLogLocator(locator) ? await logEntries.get(locator) : null
      if (entry === null) throw new ProblemError('not-found', { detail: 'No log entry has this locator.' })
      return {
        ...entry,
        decisions: entry.decisions.map((made) => ({ ...made, rulesAbove: [...made.rulesAbove] })),
      }
    })
  }
}
