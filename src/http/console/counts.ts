import { z } from 'zod'
import { COUNT_WINDOW_NAMES, type CountWindow } from '../../core/log/count-windows.ts'
import { type LogCounts, logCounts } from '../../core/log/log-counts.ts'
import { share } from '../../core/time/share.ts'
import { problemBody } from '../problems/problem.ts'
import type { App } from '../server/base.ts'

const window = z
  .enum(COUNT_WINDOW_NAMES, `must be one of ${COUNT_WINDOW_NAMES.join(', ')}`)
  .default('24h' satisfies CountWindow)

const COUNTS_VALID_MS = 5_000

/** Entries counted by time, status, reason and event type. No personal data. */
export function countsRoute(app: App, countEntries: (window: CountWindow) => Promise<LogCounts>): void {
  const counted = share(countEntries, COUNTS_VALID_MS, () => performance.now())
  const schema = {
    querystring: z.strictObject({ window }),
    response: { 200: logCounts, 400: problemBody, 503: problemBody },
  }
  app.get('/counts', { config: { access: 'admin' }, schema }, async ({ query }) => counted(query.window))
}
