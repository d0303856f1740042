import { z } from 'zod'
import { type LogPageRequest, pageOf } from '../../core/log/log-page.ts'
import {
  type ExplainedNotTold,
  explainedNotTold,
  NOT_TOLD_STATUSES,
  type NotToldCounts,
  type NotToldFilter,
  type NotToldPage,
  notToldCounts,
} from '../../core/log/not-told.ts'
import type { Since } from '../../core/time/duration.ts'
import { problemBody } from '../problems/problem.ts'
import { identifier, since, time } from '../request/fields.ts'
import { cursors, limit } from '../request/paging.ts'
import { position } from '../routes/log.ts'
import type { App } from '../server/base.ts'

/** Counts what `ListNotTold` lists. */
export type CountNotTold = (filter: NotToldFilter<Since>, signal: AbortSignal) => Promise<NotToldCounts>

export type ListNotTold = (
  filter: NotToldFilter<Since>,
  page: LogPageRequest,
  signal: AbortSignal,
) => Promise<NotToldPage<ExplainedNotTold>>

const cursor = cursors('not-told', position)

const item = explainedNotTold.extend({ createdAt: time })

const filters = z.strictObject({
  since,
  eventType: identifier.optional(),
  rule: identifier.optional(),
  reason: identifier.optional(),
  status: z.enum(NOT_TOLD_STATUSES, `must be one of ${NOT_TOLD_STATUSES.join(', ')}`).optional(),
})

/** Members who were not told, newest first, and their counts. A short or empty page need not be the last one. */
export function notToldRoutes(app: App, listNotTold: ListNotTold, countNotTold: CountNotTold): void {
  const schema = {
    querystring: filters.extend({ limit, cursor: cursor.parameter }),
    response: {
      200: pageOf(item),
      400: problemBody,
      503: problemBody,
    },
  }
  app.get('/not-told', { config: { access: 'admin' }, schema }, async ({ query, signal }) => {
    const { limit, cursor: after = null, ...filter } = query
    const { items, next } = await listNotTold(filter, { limit, after }, signal)
    return { items: [...items], nextCursor: next && cursor.encode(next) }
  })

  const counts = notToldCounts.extend({ cutAt: time.nullable() })
  const countsSchema = {
    querystring: filters,
    response: { 200: counts, 400: problemBody, 503: problemBody },
  }
  app.get(
    '/not-told/counts',
    { config: { access: 'admin' }, schema: countsSchema },
    async ({ query, signal }) => countNotTold(query, signal),
  )
}
