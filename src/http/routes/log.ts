import { z } from 'zod'
import { CHANNELS } from '../../core/channel.ts'
import { STATUSES } from '../../core/entry.ts'
import { IDENTIFIER_LENGTH_MAX } from '../../core/event.ts'
import { PARTY_STATES } from '../../core/facts.ts'
import {
  type ExplainedLogEntry,
  isLogLocator,
  type LogFilter,
  type LogPage,
  type LogPageRequest,
} from '../../core/log-entry.ts'
import { OUTCOMES } from '../../core/rules/verdict.ts'
import type { App } from '../app.ts'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import { ProblemError, problemBody } from '../problem.ts'

/** Reads the notification log. Both reject where the database fails. */
export interface LogEntries {
  list: (filter: LogFilter, page: LogPageRequest) => Promise<LogPage>
  get: (locator: string) => Promise<ExplainedLogEntry | null>
}

/** A time as clients see it: always with microseconds, so that times compare as texts. */
const time = z.codec(z.iso.datetime({ precision: 6 }), z.iso.datetime(), {
  decode: (shown) => shown,
  encode: (stored) => {
    const [seconds, decimals = ''] = stored.slice(0, -1).split('.')
    return `${seconds}.${decimals.padEnd(6, '0').slice(0, 6)}Z`
  },
})

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
  topic: z.string(),
  partition: z.int(),
  offset: z.string(),
  traceId: z.string().nullable(),
})

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 200

/** What an identifier of an event can be at all; PostgreSQL refuses NUL. */
const identifier = z
  .string('must be given once')
  .min(1, 'must not be empty')
  .max(IDENTIFIER_LENGTH_MAX, `must have at most ${IDENTIFIER_LENGTH_MAX} characters`)
  .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must be well-formed text without NUL')

const query = z.strictObject({
  partyLocator: identifier.optional(),
  eventType: identifier.optional(),
  status: z.enum(STATUSES, `must be one of ${STATUSES.join(', ')}`).optional(),
  limit: z
    .string('must be given once')
    .transform((text) => (/^\d{1,3}$/.test(text) ? Number(text) : 0))
    .refine((limit) => limit >= 1 && limit <= LIMIT_MAX, `must be a whole number from 1 to ${LIMIT_MAX}`)
    .default(LIMIT_DEFAULT),
  cursor: z
    .string('must be given once')
    .transform(decodeCursor)
    .refine((after) => after !== null, 'must be the nextCursor of an earlier answer')
    .optional(),
})

/** The notification log under both of its names: newest first, filtered, in pages; and one entry with its decisions. */
export function logRoutes(app: App, logEntries: LogEntries): void {
  const list = z.object({ items: z.array(logEntry), nextCursor: z.string().nullable() })
  const listSchema = { querystring: query, response: { 200: list, 400: problemBody, 503: problemBody } }
  const oneSchema = {
    params: z.object({ locator: z.string() }),
    response: { 200: logEntry.extend({ decisions: z.array(decision) }), 404: problemBody, 503: problemBody },
  }

  for (const path of ['/log', '/notifications']) {
    app.get(`${path}/list`, { config: { access: 'admin' }, schema: listSchema }, async (request) => {
      const { limit, cursor, ...filter } = request.query
      const { items, nextCursor } = await logEntries.list(filter, { limit, after: cursor ?? null })
      return { items: [...items], nextCursor: nextCursor === null ? null : encodeCursor(nextCursor) }
    })

    app.get(`${path}/:locator`, { config: { access: 'admin' }, schema: oneSchema }, async (request) => {
      const { locator } = request.params
      const entry = isLogLocator(locator) ? await logEntries.get(locator) : null
      if (entry === null) throw new ProblemError('not-found', { detail: 'No log entry has this locator.' })
      return { ...entry, decisions: [...entry.decisions] }
    })
  }
}
