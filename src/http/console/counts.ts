import { z } from 'zod'
import { STATUSES } from '../../core/log/entry.ts'
import { COUNT_WINDOW_NAMES, type CountWindow, type LogCounts } from '../../core/log/log-counts.ts'
import { problemBody } from '../problems/problem.ts'
import type { App } from '../server/base.ts'
import { share } from './share.ts'

const seconds = z.number()
const counts = z.object({
  fromS: seconds,
  toS: seconds,
  stepS: seconds,
  complete: z.boolean(),
  counts: z.array(
    z.object({
      startS: seconds,
      status: z.enum(STATUSES),
      reason: z.string().nullable(),
      eventType: z.string(),
      count: z.int(),
    }),
  ),
})
const window = z
  .enum(COUNT_WINDOW_NAMES, `must be one of ${COUNT_WINDOW_NAMES.join(', ')}`)
  .default('24h' satisfies CountWindow)

/** Entries counted by time, status, reason and event type. No personal data. */
export function countsRoute(app: App, countEntries: (window: CountWindow) => Promise<LogCounts>): void {
  const counted = share(countEntries, () => performance.now())
  const schema = {
    querystring: z.strictObject({ window }),
    response: { 200: counts, 400: problemBody, 503: problemBody },
  }
  app.get('/counts', { config: { access: 'admin' }, schema }, async ({ query }) => {
    const found = await counted(query.window)
    return { ...found, counts: [...found.counts] }
  })
}
