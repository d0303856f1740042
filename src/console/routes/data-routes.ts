import { z } from 'zod'
import { type SearchResult, searchResult } from '../../operations/log/search.ts'
import {
  type PreferenceHistory,
  preferenceHistory,
  type StoredPreferences,
} from '../../service/decide/party/preferences.ts'
import { type CurrentRules, currentRules } from '../../service/decide/rules/current-rules.ts'
import { type AskRules, requireAsker } from '../../service/http/auth/rights.ts'
import { requireTokens, type Tokens } from '../../service/http/auth/tokens.ts'
import { identifier } from '../../service/http/input/fields.ts'
import { type LogEntries, logRoutes } from '../../service/http/routes/log-routes.ts'
import { params } from '../../service/http/routes/preference-routes.ts'
import type { HttpApp } from '../../service/http/server/base.ts'
import { logRead, logReads } from '../../service/http/server/log-reads.ts'
import { COUNT_WINDOW_NAMES, type CountWindow } from '../../service/model/log/count-windows.ts'
import { type LogCounts, logCounts } from '../../service/model/log/log-counts.ts'
import { type ServiceStatus, serviceStatus } from '../../service/model/service-status.ts'
import { share } from '../../service/time/share.ts'
import { type ListRejected, rejectedRoute } from './rejected-routes.ts'
import { type Requests, requestRoutes, rightsRoute } from './request-routes.ts'
import { backtestMembersRoute, type Workbench, workbenchRoutes } from './workbench-routes.ts'

/** The console's data. Reads reject if the database fails. */
export interface ConsoleData {
  readonly logEntries: LogEntries
  readonly countEntries: (window: CountWindow) => Promise<LogCounts>
  readonly search: (text: string, signal: AbortSignal) => Promise<SearchResult>
  /** Event types that a text, a rule or the log knows, each with the time of its newest log entry. */
  readonly eventTypes: () => Promise<readonly KnownEventType[]>
  readonly preferences: PreferenceReader
  readonly listRejected: ListRejected
  readonly rules: () => Promise<CurrentRules>
  /** Works while the database is down. */
  readonly status: () => Promise<ServiceStatus>
  readonly workbench: Workbench
  readonly requests: Requests
}

const knownEventType = z.object({ eventType: z.string(), lastAt: z.string().nullable() })
export type KnownEventType = Readonly<z.infer<typeof knownEventType>>

interface PreferenceReader {
  readonly get: (partyLocator: string) => Promise<StoredPreferences | null>
  /** Returns the event types that no template, rule or log entry names. */
  readonly unknownEventTypes: (eventTypes: readonly string[]) => Promise<readonly string[]>
  /** The newest changes, newest first. */
  readonly changes: (
    partyLocator: string,
    countMax: number,
  ) => Promise<Pick<PreferenceHistory, 'changes' | 'isMore'>>
}

const CHANGE_COUNT_MAX = 100
/** Counting may take as long as any statement. */
const COUNTS_SHARED = { validMs: 5_000, deadlineMs: 15_000 }

const config = { access: 'admin', returnsPersonalData: false } as const
const personalConfig = { access: 'admin', returnsPersonalData: true } as const
const nothing = z.strictObject({})
const window = z
  .enum(COUNT_WINDOW_NAMES, `must be one of ${COUNT_WINDOW_NAMES.join(', ')}`)
  .default('24h' satisfies CountWindow)

/**
 * The console's data, under the rules of the public listener's administrative views: same tokens, same scope, same audit log for
 * reads of personal data. Requests to the service need a scope of their own.
 */
export function dataRoutes(data: ConsoleData, tokens: Tokens | null, isLoopback: boolean) {
  const askRules: AskRules = { tokens, isLoopback }
  return async (app: HttpApp): Promise<void> => {
    if (tokens !== null) requireTokens(app, tokens)
    requireAsker(app, askRules)
    logReads(app)
    app.register(async (counted: HttpApp) => {
      const count = share(data.countEntries, COUNTS_SHARED, () => performance.now())
      // The page of 1.1.0, which an open tab keeps after the upgrade, also names a grouping.
      const querystring = z.strictObject({ window, by: z.enum(['status', 'reason']).optional() })
      const counts = { querystring, response: { 200: logCounts } }
      counted.get('/counts', { config, schema: counts }, async ({ query }) => count(query.window))
      const rules = { querystring: nothing, response: { 200: currentRules } }
      counted.get('/rules', { config, schema: rules }, data.rules)
      const status = { querystring: nothing, response: { 200: serviceStatus } }
      counted.get('/status', { config, schema: status }, async (request) => {
        const found = await data.status()
        // Reasons of holds are free text that may name a member.
        if (found.holds.length > 0) logRead(request, {}, found.holds.length)
        return found
      })
      const eventTypes = {
        querystring: nothing,
        response: { 200: z.object({ items: z.array(knownEventType) }) },
      }
      counted.get('/event-types', { config, schema: eventTypes }, async () => ({
        items: [...(await data.eventTypes())],
      }))
      workbenchRoutes(counted, data.workbench)
      rightsRoute(counted, askRules)
    })
    app.register(async (personal: HttpApp) => {
      logRoutes(personal, data.logEntries, ['/log'])
      const search = { querystring: z.strictObject({ q: identifier }), response: { 200: searchResult } }
      personal.get('/search', { config: personalConfig, schema: search }, async ({ query, signal }) =>
        data.search(query.q, signal),
      )
      preferencesRoute(personal, data.preferences)
      rejectedRoute(personal, data.listRejected)
      requestRoutes(personal, data.requests, tokens)
      backtestMembersRoute(personal, data.workbench)
    })
  }
}

/** A party's preferences and their history. A party without preferences is no error here. */
function preferencesRoute(app: HttpApp, { get, unknownEventTypes, changes }: PreferenceReader): void {
  const schema = { params, response: { 200: preferenceHistory } }
  app.get(
    '/preferences/:partyLocator',
    { config: personalConfig, schema },
    async ({ params: { partyLocator } }) => {
      const [now, history] = await Promise.all([get(partyLocator), changes(partyLocator, CHANGE_COUNT_MAX)])
      return {
        preferences: now,
        unknownEventTypes: [...(await unknownEventTypes(now?.optedOutEvents ?? []))],
        ...history,
      }
    },
  )
}
