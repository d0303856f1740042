import type { Logger } from 'pino'
import { z } from 'zod'
import { type ServiceStatus, serviceStatus } from '../../core/batch/service-status.ts'
import { COUNT_WINDOW_NAMES, type CountWindow } from '../../core/log/count-windows.ts'
import { type LogCounts, logCounts } from '../../core/log/log-counts.ts'
import { share } from '../../core/time/share.ts'
import { requireAccess } from '../auth/access.ts'
import { requireTokens, type Tokens } from '../auth/tokens.ts'
import { problemBody } from '../problems/problem.ts'
import { type LogEntries, logRoutes } from '../routes/log.ts'
import type { HttpApp } from '../server/base.ts'
import { logReads } from '../server/log-reads.ts'
import { type PreferenceReader, preferencesRoute } from './preferences.ts'
import { type ListRejected, rejectedRoute } from './rejected.ts'
import { type RulesInForce, rulesRoute } from './rules.ts'
import { type Workbench, workbenchRoutes } from './workbench.ts'

/** The console's data. Reads reject if the database fails. */
export interface ConsoleData {
  readonly logEntries: LogEntries
  readonly countEntries: (window: CountWindow) => Promise<LogCounts>
  readonly preferences: PreferenceReader
  readonly listRejected: ListRejected
  readonly rulesInForce: RulesInForce
  readonly status: () => Promise<ServiceStatus>
  readonly workbench: Workbench
}

/**
 * The console's read-only data, under the rules of the public listener's administrative views: same tokens, same scope, same
 * audit log for reads of personal data.
 */
export function consoleData(data: ConsoleData, tokens: Tokens | null, log: Logger) {
  return async (app: HttpApp): Promise<void> => {
    app.addHook('onRoute', requireAccess)
    if (tokens !== null) requireTokens(app, tokens, log)
    app.register(async (counted: HttpApp) => {
      countsRoute(counted, data.countEntries)
      rulesRoute(counted, data.rulesInForce)
      statusRoute(counted, data.status)
      workbenchRoutes(counted, data.workbench)
    })
    app.register(async (personal: HttpApp) => {
      logReads(personal)
      logRoutes(personal, data.logEntries, ['/log'])
      preferencesRoute(personal, data.preferences)
      rejectedRoute(personal, data.listRejected)
    })
  }
}

/** State of this process. Works while the database is down. No personal data. */
export function statusRoute(app: HttpApp, status: () => Promise<ServiceStatus>): void {
  const schema = { querystring: z.strictObject({}), response: { 200: serviceStatus } }
  app.get('/status', { config: { access: 'admin' }, schema }, status)
}

const window = z
  .enum(COUNT_WINDOW_NAMES, `must be one of ${COUNT_WINDOW_NAMES.join(', ')}`)
  .default('24h' satisfies CountWindow)

const COUNTS_VALID_MS = 5_000

/** Entries counted by time, status, reason and event type. No personal data. */
export function countsRoute(app: HttpApp, countEntries: (window: CountWindow) => Promise<LogCounts>): void {
  const counted = share(countEntries, COUNTS_VALID_MS, () => performance.now())
  const schema = {
    querystring: z.strictObject({ window }),
    response: { 200: logCounts, 400: problemBody, 503: problemBody },
  }
  app.get('/counts', { config: { access: 'admin' }, schema }, async ({ query }) => counted(query.window))
}
