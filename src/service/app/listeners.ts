import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { isLoopback } from '../config/loopback.ts'
import type { Consumer } from '../consume/consumer.ts'
import type { PartyClient } from '../contacts/client.ts'
import { explain } from '../decide/why/explain-decision.ts'
import { createKeySet } from '../http/auth/key-set.ts'
import type { Tokens } from '../http/auth/tokens.ts'
import { buildManagement } from '../http/management.ts'
import { buildApp } from '../http/public.ts'
import type { Readiness } from '../http/routes/health-routes.ts'
import type { LogEntries } from '../http/routes/log-routes.ts'
import type { PreferencesStore } from '../http/routes/preference-routes.ts'
import type { HttpApp } from '../http/server/base.ts'
import { type Http, serve } from '../http/server/server.ts'
import type { Backlog } from '../model/backlog.ts'
import type { Notice } from '../model/service-status.ts'
import { readUntil } from '../store/connection/read-until.ts'
import { getLogEntry } from '../store/read/get-log-entry.ts'
import { listLogEntries } from '../store/read/list-log-entries.ts'
import { getPreferences, listPreferences } from '../store/read/read-preferences.ts'
import { resolveTime } from '../store/read/resolve-time.ts'
import { putPreferences } from '../store/write/put-preferences.ts'
import type { Metrics } from '../telemetry/registry.ts'
import type { Since } from '../time/duration.ts'
import { createEventTypes, type EventTypes } from './known-event-types.ts'
import { explainPage, loadArchivedRules } from './load-archived-rules.ts'
import type { Database } from './pools.ts'
import type { RuleFiles } from './rule-files.ts'

/** Parts of the service that the listeners and the administrators' page show or use. */
interface ServiceParts {
  readonly config: Config
  readonly ruleFiles: RuleFiles
  readonly database: Database
  /** Returns null until the database is ready. */
  readonly consumer: () => Consumer | null
  readonly parties: Pick<PartyClient, 'fault' | 'failsSinceMs'>
  /** The id of this process in the database. */
  readonly replicaId: string
  readonly notices: () => readonly Notice[]
  readonly backlog: () => Promise<Backlog>
}

/** Dependencies of the administrators' page. */
export interface ConsoleParts extends ServiceParts {
  readonly eventTypes: EventTypes
  readonly logEntries: LogEntries
  /** Null: the console's data is open. */
  readonly tokens: Tokens | null
  /** Only this machine reaches the listener. */
  readonly isLoopback: boolean
}

/** Returns a function that adds the administrators' page to a listener. */
export type OpenConsole = (parts: ConsoleParts) => (app: HttpApp) => void

interface ListenerParts extends ServiceParts {
  readonly openConsole: OpenConsole | null
  readonly metrics: Metrics
  readonly readiness: Readiness
  readonly log: Logger
}

/** The public listener and, if configured, the management listener. */
export function createListeners(parts: ListenerParts) {
  const { config, database, consumer, notices, metrics, readiness, log } = parts
  const keySet = config.tokens && createKeySet(config.tokens.keySetUrl, log)
  const shared = {
    log,
    tokens: config.tokens && keySet && { ...config.tokens, keySet },
    requestCountMax: config.http.requestCountMax,
    isUnavailable: database.isUnavailable,
    observeResponse: metrics.observeResponse,
  }
  const logEntries = createLogEntries(config, database)
  const eventTypes = createEventTypes(parts.ruleFiles.ruleTable, database.listPool)
  const app = buildApp({
    ...shared,
    readiness,
    logEntries,
    preferences: createPreferences(database, eventTypes, log),
  })
  const http = serve(app, config.http)
  let management: Http | null = null
  return {
    /** Resolves to the URL of the public listener. */
    listen: async (): Promise<string> => {
      const url = await http.listen()
      keySet?.start()
      if (config.management === null) return url
      const { host, allowedHosts } = config.management
      const managementApp = buildManagement({
        ...shared,
        hosts: [host, ...allowedHosts],
        document: app.swagger(),
        startup: () => findStartupFault(consumer(), database),
        startupWarning: () => describeStartupWarnings(consumer(), notices()),
        exposeMetrics: metrics.expose,
        console:
          parts.openConsole?.({
            ...parts,
            eventTypes,
            logEntries,
            tokens: shared.tokens,
            isLoopback: isLoopback(host),
          }) ?? null,
      })
      management = serve(managementApp, config.management, 'MANAGEMENT_')
      log.info({ url: await management.listen() }, 'the management listener is up')
      return url
    },
    close: async () => {
      await Promise.all([http.close(), management?.close()])
      keySet?.stop()
    },
  }
}

/** Null once the process has joined the consumer group, whatever happens later. */
async function findStartupFault(consumer: Consumer | null, database: Database): Promise<string | null> {
  if (consumer === null) return (await database.fault()) ?? 'the service is starting'
  return consumer.membership.hasJoined ? null : consumer.membership.waitsFor
}

function describeStartupWarnings(consumer: Consumer | null, notices: readonly Notice[]): string | null {
  const shared = notices.filter(({ shares }) => shares !== undefined)
  const warnings = [consumer?.foreign.reason, ...shared.map(({ text, remedy }) => `${text}; ${remedy}`)]
  return warnings.filter(Boolean).join('; ') || null
}

/** The log. Each entry is explained by the rules then in force. */
function createLogEntries({ retry, traceUrl }: Config, { httpPool, listPool }: Database): LogEntries {
  return {
    list: async ({ from, to, ...filter }, page, signal) =>
      readUntil(signal, listPool(), async (connection) => {
        const timeAt = async (since?: Since) =>
          since === undefined ? undefined : resolveTime(connection, since)
        const times = { from: await timeAt(from), to: await timeAt(to) }
        return explainPage(connection, await listLogEntries(connection, retry, { ...filter, ...times }, page))
      }),
    get: async (locator) => {
      const entry = await getLogEntry(httpPool(), retry, locator)
      return entry && explain(entry, await loadArchivedRules(httpPool(), entry.decisions), traceUrl)
    },
  }
}

/** Preferences. A change that names unknown event types is stored, and leaves a warning. */
function createPreferences(
  { httpPool, listPool }: Database,
  { listUnknown }: EventTypes,
  log: Logger,
): PreferencesStore {
  async function warnOfUnknown(partyLocator: string, optedOutEvents: readonly string[]): Promise<void> {
    const eventTypes = await listUnknown(optedOutEvents).catch(() => [])
    if (eventTypes.length > 0)
      log.warn(
        { partyLocator, eventTypes },
        'an opt-out names event types that no template, rule or log entry names',
      )
  }
  return {
    list: async (page, signal) =>
      readUntil(signal, listPool(), (connection) => listPreferences(connection, page)),
    get: async (partyLocator) => getPreferences(httpPool(), partyLocator),
    put: async (partyLocator, ...change) => {
      const stored = await putPreferences(httpPool(), partyLocator, ...change)
      // Not awaited: an opt-out must not wait for the log.
      if (stored !== null) void warnOfUnknown(partyLocator, stored.optedOutEvents)
      return stored
    },
  }
}
