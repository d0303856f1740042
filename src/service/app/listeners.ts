import type { Logger } from 'pino'
import { countLogEntries } from '../../console/routes/count-log-entries.ts'
import type { ConsoleData, KnownEventType } from '../../console/routes/data.ts'
import { readConsolePage } from '../../console/routes/page.ts'
import type { Requests } from '../../console/routes/request-routes.ts'
import type { Workbench } from '../../console/routes/workbench-routes.ts'
import { findEventTypes, listEventTypes, searchLog } from '../../operations/log/search-log.ts'
import { getRequest, listRequests } from '../../operations/requests/list-requests.ts'
import { previewRequest } from '../../operations/requests/preview-request.ts'
import { resolveTarget } from '../../operations/requests/resolve-target.ts'
import { explain } from '../../operations/why/explain-decision.ts'
import type { Config } from '../config/config.ts'
import { findSkipReason, type RetryCandidate } from '../decide/attempt/retry-candidate.ts'
import { coversEventType, foldEventType } from '../decide/event/event-type-pattern.ts'
import type { Preferences } from '../decide/party/preferences.ts'
import { showRules } from '../decide/rules/current-rules.ts'
import type { RuleTable } from '../decide/rules/table.ts'
import { createKeySet } from '../http/auth/key-set.ts'
import { buildManagement } from '../http/management.ts'
import { buildApp } from '../http/public.ts'
import type { Readiness } from '../http/routes/health.ts'
import type { LogEntries } from '../http/routes/log.ts'
import type { PreferencesStore } from '../http/routes/preferences.ts'
import { type Http, serve } from '../http/server/server.ts'
import { showBlocked } from '../model/service-status.ts'
import { readUntil } from '../store/connection/read-until.ts'
import { getLogEntry } from '../store/read/get-log-entry.ts'
import { listLogEntries } from '../store/read/list-log-entries.ts'
import { ALL_REJECTED, listRejected } from '../store/read/list-rejected-messages.ts'
import { listActivations } from '../store/read/read-archive.ts'
import { getPreferences, listPreferenceChanges, listPreferences } from '../store/read/read-preferences.ts'
import { resolveTime } from '../store/read/resolve-time.ts'
import { putPreferences } from '../store/write/put-preferences.ts'
import { addRequest, cancelRequest } from '../store/write/request-row.ts'
import type { Metrics } from '../telemetry/registry.ts'
import type { Since } from '../time/duration.ts'
import { share } from '../time/share.ts'
import { explainPage, loadArchivedRules } from './in-force.ts'
import type { Database } from './pools.ts'
import { TEMPLATE_EVENT_TYPES } from './rule-files.ts'
import type { Worker } from './worker.ts'

/** Producers seldom send a new type. */
const EVENT_TYPES_SHARED = { validMs: 30_000, deadlineMs: 15_000 }

interface ListenerNeeds {
  readonly config: Config
  readonly ruleTable: RuleTable
  readonly database: Database
  /** Returns null until the database is ready. */
  readonly worker: () => Worker | null
  readonly lookUpFault: () => Promise<string | null>
  readonly workbench: Workbench
  readonly metrics: Metrics
  readonly readiness: Readiness
  readonly startup: Readiness
  readonly log: Logger
}

/** The public listener and, if configured, the management listener. */
export function createListeners(needs: ListenerNeeds) {
  const { config, database, metrics, readiness, startup, log } = needs
  const keySet = config.tokens && createKeySet(config.tokens.keySetUrl, log)
  const shared = {
    log,
    tokens: config.tokens && keySet && { ...config.tokens, keySet },
    requestCountMax: config.http.requestCountMax,
    isUnavailable: database.isUnavailable,
    observeResponse: metrics.observeResponse,
  }
  const logEntries = createLogEntries(config, database)
  const app = buildApp({ ...shared, readiness, logEntries, preferences: createPreferences(needs) })
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
        isLoopback: isLoopback(host),
        document: app.swagger(),
        startup,
        exposeMetrics: metrics.expose,
        consolePage: readConsolePage(),
        consoleData: createConsoleData(needs, logEntries),
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
function createPreferences(needs: ListenerNeeds): PreferencesStore {
  const { httpPool, listPool } = needs.database
  async function warnOfUnknown(partyLocator: string, optedOutEvents: readonly string[]): Promise<void> {
    const eventTypes = await unknownEventTypes(needs, optedOutEvents).catch(() => [])
    if (eventTypes.length > 0)
      needs.log.warn(
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
      void warnOfUnknown(partyLocator, stored.optedOutEvents)
      return stored
    },
  }
}

/** Event types that a template or a rule names. */
function listAuthoredTypes({ rules }: RuleTable): readonly string[] {
  return [...TEMPLATE_EVENT_TYPES, ...rules.flatMap(({ when }) => when.eventType?.names ?? [])]
}

/** Returns the event types that no template, rule or log entry names. */
async function unknownEventTypes(
  { ruleTable, database }: ListenerNeeds,
  eventTypes: readonly string[],
): Promise<readonly string[]> {
  const authored = new Set(listAuthoredTypes(ruleTable).map(foldEventType))
  const unnamed = eventTypes.filter((type) => !authored.has(foldEventType(type)))
  if (unnamed.length === 0) return []
  const logged = await findEventTypes(database.listPool(), [...unnamed, ...unnamed.map(foldEventType)])
  return unnamed.filter((type) => !coversEventType(logged, type))
}

/** Takes what people ask for. Previews judge by today's preferences and rules, as far as they are known without a look-up. */
function createRequestDesk({ config, ruleTable, database: { httpPool, listPool } }: ListenerNeeds): Requests {
  const willBeSkipped = (candidate: RetryCandidate, preferences: Preferences | undefined) =>
    findSkipReason(ruleTable.decide, candidate, preferences)
  return {
    list: async (page) => listRequests(listPool(), page),
    get: async (id) => getRequest(httpPool(), id),
    preview: async (wanted, signal) =>
      readUntil(signal, listPool(), async (connection) => {
        const target = await resolveTarget(connection, wanted)
        return previewRequest(connection, config.retry, target, willBeSkipped)
      }),
    add: async (wanted, by, because, key) => {
      const target = await resolveTarget(httpPool(), wanted)
      const added = await getRequest(httpPool(), await addRequest(httpPool(), target, by, because, key))
      if (added === null) throw new Error('the request that was added is gone')
      return added
    },
    cancel: async (id, by) => cancelRequest(httpPool(), id, by),
  }
}

/** True if only this machine reaches a listener with this host. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

function createConsoleData(needs: ListenerNeeds, logEntries: LogEntries): ConsoleData {
  const { config, ruleTable, workbench, lookUpFault } = needs
  const { httpPool, listPool, fault } = needs.database
  const loggedEventTypes = share(
    () => listEventTypes(listPool()),
    EVENT_TYPES_SHARED,
    () => performance.now(),
  )
  const eventTypes = async (): Promise<readonly KnownEventType[]> => {
    const known = new Map<string, string | null>(listAuthoredTypes(ruleTable).map((type) => [type, null]))
    for (const { eventType, lastAt } of await loggedEventTypes()) known.set(eventType, lastAt)
    return [...known].map(([eventType, lastAt]) => ({ eventType, lastAt }))
  }
  return {
    logEntries,
    eventTypes,
    search: async (text, signal) => {
      const known = {
        eventTypes: (await eventTypes()).map(({ eventType }) => eventType),
        reasons: [...new Set(ruleTable.rules.flatMap(({ reason }) => reason ?? []))],
      }
      return readUntil(signal, listPool(), (connection) => searchLog(connection, text, known))
    },
    countEntries: async (window, by) => countLogEntries(listPool(), config.retry, window, by),
    preferences: {
      get: async (partyLocator) => getPreferences(httpPool(), partyLocator),
      unknownEventTypes: (eventTypes) => unknownEventTypes(needs, eventTypes),
      changes: async (partyLocator, countMax) => listPreferenceChanges(httpPool(), partyLocator, countMax),
    },
    workbench,
    requests: createRequestDesk(needs),
    status: async () => {
      const worker = needs.worker()
      const [database, lookUps] = await Promise.all([fault(), lookUpFault()])
      return {
        isStarting: worker === null,
        consuming: worker === null ? 'the service is starting' : worker.waitsFor(),
        database,
        lookUps,
        blocked: showBlocked(worker?.blocked() ?? [], (ms) => new Date(ms).toISOString()),
      }
    },
    listRejected: async (query, page, signal) =>
      readUntil(signal, listPool(), (connection) =>
        listRejected(connection, { ...ALL_REJECTED, ...query }, page),
      ),
    rules: async () => showRules(ruleTable, await listActivations(httpPool())),
  }
}
