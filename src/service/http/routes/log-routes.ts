import { z } from 'zod'
import { explainedDecision, followedChange } from '../../decide/decision/recorded-decision.ts'
import { type ExplainedLogEntry, explainedLogEntry, listedLogEntry } from '../../model/log/log-entry.ts'
import {
  type ChosenFilterName,
  isChosen,
  LOG_FILTER_LIST,
  LOG_FILTERS,
  type LogFilter,
} from '../../model/log/log-filters.ts'
import { isLogLocator } from '../../model/log/log-locator.ts'
import type { LogPage, LogPosition, PageRequest } from '../../model/log/log-page.ts'
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

const VALUES = {
  text: identifier,
  time: since,
  id: z.string().regex(/^[1-9]\d{0,17}$/, 'must be the id of a request'),
  true: z.literal('true', 'must be true').transform(() => true as const),
}

function filterSchema(name: ChosenFilterName) {
  const { values, only } = LOG_FILTERS[name]
  const words = typeof values === 'string' ? VALUES[values] : oneOf(values)
  const schema = name === 'reference' ? text(REFERENCE_LENGTH_MAX, NOT_ONCE) : words
  const description = `Only entries ${only}${values === 'time' ? `: ${SINCE_WORDS}` : ''}`
  return schema.optional().meta({ description })
}

function oneOf(words: readonly string[]) {
  return z.enum(words, `must be one of ${words.join(', ')}`)
}

/** The filters of a list. */
const filters = Object.fromEntries(
  LOG_FILTER_LIST.flatMap(([name]) => (isChosen(name) ? [[name, filterSchema(name)]] : [])),
) as unknown as {
  readonly [Name in ChosenFilterName]: z.ZodOptional<z.ZodType<NonNullable<LogFilter<Since>[Name]>>>
}
export const logFilter = z.strictObject(filters)
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
      { config: { access: 'admin', returnsPersonalData: true }, schema: listOperation },
      async (request) => {
        const { limit, cursor: after = null, ...filter } = request.query
        return cursor.toPage(await logEntries.list(filter, { limit, after }, request.signal))
      },
    )

    app.get(
      `${path}/:locator`,
      { config: { access: 'admin', returnsPersonalData: true }, schema: oneOperation },
      async (request) => {
        const { locator } = request.params
        const entry = isLogLocator(locator) ? await logEntries.get(locator) : null
        if (entry === null) throw new ProblemError('not-found', { detail: 'No log entry has this locator.' })
        return entry
      },
    )
  }
}
