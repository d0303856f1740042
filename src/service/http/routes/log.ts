import { z } from 'zod'
import { explainedDecision, followedChange } from '../../decide/decision/recorded-decision.ts'
import { CHANNELS } from '../../decide/party/channel.ts'
import { type ExplainedLogEntry, explainedLogEntry, listedLogEntry } from '../../model/log/log-entry.ts'
import type { ChosenFilterName, LogFilter } from '../../model/log/log-filter.ts'
import { isLogLocator } from '../../model/log/log-locator.ts'
import type { LogPage, LogPosition, PageRequest } from '../../model/log/log-page.ts'
import { STATUSES } from '../../model/log/status.ts'
import { SINCE_WORDS, type Since } from '../../time/duration.ts'
import { ENTRY_EXAMPLE, EXPLAINED_ENTRY_EXAMPLE } from '../examples.ts'
import { identifier, isFarTime, NOT_ONCE, shownTime, since, text, time } from '../input/fields.ts'
import { cursors, describedPageSchema, limit } from '../input/paging.ts'
import { ProblemError, problemBody } from '../problems/problem.ts'
import type { HttpApp } from '../server/base.ts'

/** Reads the notification log. Both reject if the database fails. A list ends with its signal: its client is gone. */
export interface LogEntries {
  list: (filter: LogFilter<Since>, page: PageRequest<LogPosition>, signal: AbortSignal) => Promise<LogPage>
  get: (locator: string) => Promise<ExplainedLogEntry | null>
}

const entryTimes = { sentAt: shownTime.nullable(), createdAt: shownTime }
const listedEntry = listedLogEntry.extend(entryTimes).meta({ title: 'LogEntry' })
const decision = explainedDecision.extend({
  decidedAt: shownTime,
  erasedAt: shownTime.nullable(),
  preferenceChange: followedChange
    .extend({
      changedAt: shownTime,
      optedOutAt: shownTime.nullable(),
      withdrawnAt: shownTime.nullable().optional(),
    })
    .nullable(),
})
const { story } = explainedLogEntry.shape
const wholeEntry = explainedLogEntry
  .extend({
    ...entryTimes,
    story: story.describe('What happened, why, and what happens next, in sentences'),
    decisions: z
      .array(decision.meta({ title: 'Decision' }))
      .describe('The decision of each attempt, with its reasons; oldest first'),
  })
  .meta({ title: 'ExplainedLogEntry', examples: [EXPLAINED_ENTRY_EXAMPLE] })

/** PostgreSQL has no year 0. */
const YEAR_KNOWN = /^(?!0000)/
const position = z.object({
  createdAt: z.union([time.regex(YEAR_KNOWN), z.string().refine(isFarTime)]),
  locator: identifier.startsWith('NTF-'),
})
const cursor = cursors('log', position)

/** The longest reference that fits into a request line. */
const REFERENCE_LENGTH_MAX = 8_192

function only<Schema extends z.ZodType>(schema: Schema, description: string) {
  return schema.optional().meta({ description: `Only entries ${description}` })
}

/** The filters of a list. */
export const logFilter = z.strictObject({
  partyLocator: only(identifier, 'of this party'),
  eventType: only(identifier, 'of this type of event'),
  status: only(z.enum(STATUSES, `must be one of ${STATUSES.join(', ')}`), 'with this status'),
  channel: only(z.enum(CHANNELS, `must be one of ${CHANNELS.join(', ')}`), 'by this channel'),
  eventId: z.optional(identifier).meta({ description: 'Only the entry of this event' }),
  reference: only(
    text(REFERENCE_LENGTH_MAX, NOT_ONCE),
    'about this claim, policy or invoice: the `locator` of their events',
  ),
  reason: only(identifier, 'with this failure reason, or with one that begins with it and a colon'),
  rule: only(identifier, 'that this rule decided last'),
  request: only(
    z.string().regex(/^[1-9]\d{0,17}$/, 'must be the id of a request'),
    'that this request retried or redrove',
  ),
  notTold: z
    .literal('true', 'must be true')
    .transform(() => true as const)
    .optional()
    .meta({
      description:
        '`true`: only entries whose member was not told and will not be: `SKIPPED`, or `FAILED` past the last retry',
    }),
  from: only(since, `created then or later: ${SINCE_WORDS}`),
  to: only(since, `created earlier: ${SINCE_WORDS}`),
} satisfies Readonly<Record<ChosenFilterName, z.ZodType>>)
const query = logFilter.extend({ limit, cursor: cursor.parameter })

/** The specification's names for the log, and their words in operation ids. */
const NAMES: Readonly<Record<string, string>> = { '/log': 'Log', '/notifications': 'Notifications' }

/** The notification log under both names: newest first, filtered, in pages; and one entry with its decisions. */
export function logRoutes(app: HttpApp, logEntries: LogEntries, paths = Object.keys(NAMES)): void {
  const tags = ['Log']
  const list = describedPageSchema(listedEntry).meta({
    title: 'LogPage',
    examples: [{ items: [ENTRY_EXAMPLE], nextCursor: null }],
  })
  const listSchema = {
    tags,
    summary: 'The log, newest first by creation time',
    description:
      'Filters can be combined. Paging shows each entry that was there at the start exactly once. With several filters, or with ' +
      '`channel`, `reason`, `rule` or `notTold`, a page can be short or empty and yet have a `nextCursor`. So can a page with ' +
      'more than 2 MB of text.',
    querystring: query,
    response: { 200: list },
  }
  const locator = z.string().meta({
    description: 'Locator of the entry: `NTF-` and a UUID',
    examples: [ENTRY_EXAMPLE.locator],
  })
  const oneSchema = {
    tags,
    summary: 'One entry of the log, with its decisions and their reasons in words',
    params: z.object({ locator }),
    response: { 200: wholeEntry, 404: problemBody },
  }

  for (const path of paths) {
    const name = NAMES[path]
    const listOperation = { ...listSchema, operationId: `list${name}` }
    const oneOperation = { ...oneSchema, operationId: `get${name}Entry` }
    app.get(
      `${path}/list`,
      { config: { access: 'admin', tellsOfMembers: true }, schema: listOperation },
      async (request) => {
        const { limit, cursor: after = null, ...filter } = request.query
        return cursor.toPage(await logEntries.list(filter, { limit, after }, request.signal))
      },
    )

    app.get(
      `${path}/:locator`,
      { config: { access: 'admin', tellsOfMembers: true }, schema: oneOperation },
      async (request) => {
        const { locator } = request.params
        const entry = isLogLocator(locator) ? await logEntries.get(locator) : null
        if (entry === null) throw new ProblemError('not-found', { detail: 'No log entry has this locator.' })
        return entry
      },
    )
  }
}
