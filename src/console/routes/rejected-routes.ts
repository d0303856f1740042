import { z } from 'zod'
import {
  type RejectedMessageSummary,
  type ShownRejectedMessage,
  shownRejectedMessage,
} from '../../service/decide/event/rejected-message.ts'
import { REJECTIONS } from '../../service/decide/event/rejection.ts'
import { identifier, since } from '../../service/http/input/fields.ts'
import { cursors, limit } from '../../service/http/input/paging.ts'
import type { HttpApp } from '../../service/http/server/base.ts'
import { type ListPage, type PageRequest, pageSchema } from '../../service/model/log/log-page.ts'
import type { Since } from '../../service/time/duration.ts'

export interface RejectedQuery {
  readonly topic: string | null
  readonly code: string | null
  readonly since: Since | null
  readonly before: Since | null
  /** Only messages that no redrive or dismissal has settled. */
  readonly open: boolean
}
export type ListRejected = (
  query: RejectedQuery,
  page: PageRequest<bigint>,
  signal: AbortSignal,
) => Promise<ListPage<RejectedMessageSummary, bigint>>

const cursor = cursors('rejected', shownRejectedMessage.shape.id)
const codes = Object.keys(REJECTIONS)

/** Rejected messages, newest first, each with the first bytes of its value. */
export function rejectedRoute(app: HttpApp, listRejected: ListRejected): void {
  const schema = {
    querystring: z.strictObject({
      topic: identifier.optional(),
      code: z.enum(codes, `must be one of ${codes.join(', ')}`).optional(),
      from: since.optional(),
      to: since.optional(),
      open: z.enum(['true', 'false'], 'must be true or false').default('false'),
      limit,
      cursor: cursor.parameter,
    }),
    response: { 200: pageSchema(shownRejectedMessage) },
  }
  app.get(
    '/rejected',
    { config: { access: 'admin', returnsPersonalData: true }, schema },
    async ({ query, signal }) => {
      const { topic = null, code = null, from = null, to = null, open, limit, cursor: after } = query
      const { items, next } = await listRejected(
        { topic, code, since: from, before: to, open: open === 'true' },
        { limit, after: after == null ? null : BigInt(after) },
        signal,
      )
      return cursor.toPage({ items: items.map(toItem), next: next === null ? null : String(next) })
    },
  )
}

function toItem({ id, offset, begin, redriven, ...rest }: RejectedMessageSummary): ShownRejectedMessage {
  return {
    ...rest,
    id: String(id),
    offset: String(offset),
    begin: begin && Buffer.from(begin).toString('base64'),
    redriven: redriven && {
      at: redriven.at,
      by: redriven.by,
      result: redriven.result.result,
      locator: redriven.result.locator ?? null,
    },
  }
}
