import { requireAccess } from './auth/rights.ts'
import { requireTokens, type Tokens } from './auth/tokens.ts'
import { documentRoutes } from './openapi.ts'
import { healthRoutes, type Readiness } from './routes/health-routes.ts'
import { type LogEntries, logRoutes } from './routes/log-routes.ts'
import { type PreferencesStore, preferencesRoutes } from './routes/preference-routes.ts'
import { preferencesPlaceholderRoutes } from './routes/preferences-placeholder.ts'
import { sendRoute } from './routes/send-route.ts'
import { type BaseOptions, createBase, type HttpApp } from './server/base.ts'
import { limitRequests } from './server/limit-requests.ts'
import { logReads } from './server/log-reads.ts'
import { otherMethods } from './server/methods.ts'

export interface PublicOptions extends BaseOptions {
  /** Maximum number of requests in progress behind a token. */
  readonly requestCountMax: number
  readonly readiness: Readiness
  readonly logEntries: LogEntries
  readonly preferences: PreferencesStore
  /** Null: all routes are open. */
  readonly tokens: Tokens | null
}

/** All routes; does not listen yet. */
export function buildApp(options: PublicOptions): HttpApp {
  const { readiness, logEntries, preferences, tokens } = options
  const app = createBase(options)
  limitRequests(app, options.requestCountMax)
  app.addHook('onRoute', requireAccess)
  if (tokens !== null) requireTokens(app, tokens)
  logReads(app)
  const refuseOtherMethods = otherMethods(app)
  documentRoutes(app, { withTokens: tokens !== null })
  // A plugin, because the plugin that documents routes sees only those added after it.
  app.register(async (routes: HttpApp) => {
    healthRoutes(routes, readiness)
    logRoutes(routes, logEntries)
  })
  app.register((routes: HttpApp) => preferencesRoutes(routes, preferences))
  app.register(preferencesPlaceholderRoutes)
  app.register(sendRoute)
  app.register(refuseOtherMethods)
  return app
}
