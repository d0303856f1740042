import { z } from 'zod'
import type { LogPageRequest } from '../../core/log/log-page.ts'
import {
  type ExplainedNotTold,
  explainedNotTold,
  type NotToldFilter,
  type NotToldPage,
} from '../../core/log/not-told.ts'
import type { Since } from '../../core/time/since.ts'
import { problemBody } from '../problems/problem.ts'
import { identifier, since, time } from '../request/fields.ts'
import { cursors, limit } from '../request/paging.ts'
import { position } from '../routes/log.ts'
import type { App } from '../server/base.ts'

export type ListNotTold = (
  filter: NotToldFilter<Since>,
  page: LogPageRequest,
  signal: AbortSignal,
) => Promise<NotToldPage<ExplainedNotTold>>

const cursor = cursors('not-told', position)

const item = explainedNotTold.extend({ createdAt: time })

/** Members who were not told, newest first. A short or empty page need not be the last one. */
export function notToldRoute(app: App, listNotTold: ListNotTold): void {
  const schema = {
    querystring: z.strictObject({
      since,
      eventType: identifier.optional(),
      rule: identifier.optional(),
      limit,
      cursor: cursor.parameter,
    }),
    response: {
      200: z.object({ items: z.array(item), nextCursor: z.string().nullable() }),
      400: problemBody,
      503: problemBody,
    },
  }
  app.get('/not-told', { config: { access: 'admin' }, schema }, async ({ query, signal }) => {
    const { limit, cursor: after = null, ...filter } = query
    const { items, next } = await listNotTold(filter, { limit, after }, signal)
    return { items: [...items], nextCursor: next && cursor.encode(next) }
  })
}
