import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { readConsolePage } from '../http/console/page.ts'
import type { Readiness } from '../http/routes/health.ts'
import { createHttp, createManagement, type Http } from '../http/server/server.ts'
import { readUntil } from '../postgres/connection/read-until.ts'
import { getPreferences, listPreferences } from '../postgres/read/preferences.ts'
import { putPreferences } from '../postgres/write/put-preferences.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Database } from './database.ts'
import type { Reads } from './reads.ts'

interface ListenerParts {
  readonly config: Config
  readonly database: Database
  readonly reads: Reads
  readonly metrics: Metrics
  readonly readiness: Readiness
  readonly startup: Readiness
  readonly log: Logger
}

/** The public listener and, if configured, the management listener. */
export function createListeners(parts: ListenerParts) {
  const { config, database, reads, metrics, readiness, startup, log } = parts
  const { tokens } = config
  const { httpPool, listPool, isUnavailable } = database
  const http = createHttp({
    ...config.http,
    log,
    readiness,
    logEntries: reads.logEntries,
    preferences: {
      list: async (page, signal) =>
        readUntil(signal, listPool(), (connection) => listPreferences(connection, page)),
      get: async (partyLocator) => getPreferences(httpPool(), partyLocator),
      put: async (partyLocator, ...change) => {
        const stored = await putPreferences(httpPool(), partyLocator, ...change)
        void warnOfUnknown(partyLocator, stored.optedOutEvents)
        return stored
      },
    },
    tokens,
    isUnavailable,
    observeResponse: metrics.observeResponse,
  })
  async function warnOfUnknown(partyLocator: string, optedOutEvents: readonly string[]): Promise<void> {
    const eventTypes = await reads.unknownEventTypes(optedOutEvents).catch(() => [])
    if (eventTypes.length > 0)
      log.warn(
        { partyLocator, eventTypes },
        'an opt-out names event types that no template, rule or logged event has',
      )
  }
  let management: Http | null = null
  return {
    /** Resolves to the URL of the public listener. */
    listen: async (): Promise<string> => {
      const { url } = await http.listen()
      if (config.management === null) return url
      const { host, port, allowedHosts } = config.management
      management = createManagement({
        host,
        port,
        hosts: [host, ...allowedHosts],
        requestCountMax: config.http.requestCountMax,
        log,
        document: await http.document(),
        startup,
        exposeMetrics: metrics.expose,
        consolePage: readConsolePage(),
        consoleData: reads.consoleData,
        tokens,
        isUnavailable,
        observeResponse: metrics.observeResponse,
      })
      log.info(await management.listen(), 'the management listener is up')
      return url
    },
    close: async () => {
      await Promise.all([http.close(), management?.close()])
    },
  }
}
