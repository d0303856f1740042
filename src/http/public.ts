import type { Logger } from 'pino'
import { requireAccess } from './auth/access.ts'
import { requireTokens, type Tokens } from './auth/tokens.ts'
import { documentRoutes } from './openapi.ts'
import { healthRoutes, type Readiness } from './routes/health.ts'
import { type LogEntries, logRoutes } from './routes/log.ts'
import { type PreferencesStore, preferencesRoutes } from './routes/preferences.ts'
import { preferencesPlaceholderRoutes } from './routes/preferences-placeholder.ts'
import { sendRoute } from './routes/send.ts'
import { type App, createBase } from './server/base.ts'
import { logReads } from './server/log-reads.ts'
import { otherMethods } from './server/methods.ts'

export interface AppDependencies {
  readonly log: Logger
  readonly readiness: () => Promise<Readiness>
  readonly logEntries: LogEntries
  readonly preferences: PreferencesStore
  /** Whether an error of `logEntries` or `preferences` is an outage (503) rather than a bug (500). */
  readonly isUnavailable: (error: unknown) => boolean
  /** What tokens are validated against; null: all routes are open. */
  readonly tokens: Tokens | null
}

/** All routes, with everything that they need passed in; listens to nothing yet. */
export function buildApp(dependencies: AppDependencies): App {
  const { log, readiness, logEntries, preferences, isUnavailable, tokens } = dependencies
  const app = createBase(log, isUnavailable)
  app.addHook('onRoute', requireAccess)
  if (tokens !== null) requireTokens(app, tokens, log)
  logReads(app)
  const refuseOtherMethods = otherMethods(app)
  documentRoutes(app, { withTokens: tokens !== null })
  // In a plugin, since what documents them is one: it sees only the routes that come after it.
  app.register(async (routes: App) => {
    healthRoutes(routes, readiness)
    logRoutes(routes, logEntries)
  })
  app.register((routes: App) => preferencesRoutes(routes, preferences))
  app.register(preferencesPlaceholderRoutes)
  app.register(sendRoute)
  app.register(refuseOtherMethods)
  return app
}
