import type { Config } from '../config/config.ts'
import { showBlocked } from '../core/batch/service-status.ts'
import type { RuleTable } from '../core/rules/table.ts'
import { createRuleCache } from '../core/why/archived-rules.ts'
import { explain } from '../core/why/explain.ts'
import type { ConsoleData } from '../http/console/data.ts'
import type { Workbench } from '../http/console/workbench.ts'
import type { LogEntries } from '../http/routes/log.ts'
import { readUntil } from '../postgres/connection/read-until.ts'
import { countLogEntries } from '../postgres/read/count-log-entries.ts'
import { getLogEntry } from '../postgres/read/get-log-entry.ts'
import { listLogEntries } from '../postgres/read/list-log-entries.ts'
import { listRejected } from '../postgres/read/list-rejected-messages.ts'
import { getPreferences, listPreferenceChanges } from '../postgres/read/preferences.ts'
import { listActivations, readArchivedRuleTable } from '../postgres/read/read-archive.ts'
import { timeOf } from '../postgres/read/time-ago.ts'
import type { Database } from './database.ts'
import { TEMPLATE_EVENT_TYPES } from './rule-files.ts'
import type { Worker } from './worker.ts'

export type Reads = ReturnType<typeof createReads>

/**
 * The reads behind HTTP: log entries with their reasons, and the console's data.
 *
 * @param workerNow returns null until the database is ready
 */
export function createReads(
  { retry: retryLimits, traceUrl }: Config,
  { revision, rules }: RuleTable,
  { httpPool, listPool, fault }: Database,
  workerNow: () => Worker | null,
  isPolicyAdministrationDown: () => boolean,
  workbench: Workbench,
) {
  const rulesOf = createRuleCache(
    (revision) => readArchivedRuleTable(httpPool(), revision),
    TEMPLATE_EVENT_TYPES,
  )
  /** Returns the event types that no template, rule or logged event has. */
  async function unknownEventTypes(eventTypes: readonly string[]): Promise<readonly string[]> {
    const named = rules.flatMap(({ when }) => when.eventType?.names ?? [])
    const unknown: string[] = []
    for (const eventType of eventTypes) {
      if (TEMPLATE_EVENT_TYPES.includes(eventType) || named.includes(eventType)) continue
      const newest = { limit: 1, after: null }
      const { items } = await listLogEntries(listPool(), retryLimits, { eventType }, newest)
      if (items.length === 0) unknown.push(eventType)
    }
    return unknown
  }
  const logEntries: LogEntries = {
    list: async ({ from, to, ...filter }, page, signal) =>
      readUntil(signal, listPool(), async (connection) => {
        const times = {
          from: from === undefined ? from : await timeOf(connection, from),
          to: to === undefined ? to : await timeOf(connection, to),
        }
        return listLogEntries(connection, retryLimits, { ...filter, ...times }, page)
      }),
    get: async (locator) => {
      const entry = await getLogEntry(httpPool(), retryLimits, locator)
      return entry && explain(entry, await rulesOf(entry.decisions), traceUrl)
    },
  }
  const consoleData: ConsoleData = {
    logEntries,
    countEntries: async (window) => countLogEntries(listPool(), retryLimits, window),
    preferences: {
      get: async (partyLocator) => getPreferences(httpPool(), partyLocator),
      unknownEventTypes,
      changes: async (partyLocator, countMax) => listPreferenceChanges(httpPool(), partyLocator, countMax),
    },
    workbench,
    status: async () => {
      const worker = workerNow()
      return {
        consuming: worker === null ? 'the service is starting' : worker.waitsFor(),
        database: await fault(),
        lookUps: isPolicyAdministrationDown() ? 'policy administration is down' : null,
        blocked: showBlocked(worker?.blocked() ?? [], (ms) => new Date(ms).toISOString()),
      }
    },
    listRejected: async (query, page, signal) =>
      readUntil(signal, listPool(), (connection) =>
        listRejected(connection, { ...query, ids: null, since: null }, page),
      ),
    rulesInForce: {
      revision,
      rules,
      activation: async () =>
        (await listActivations(httpPool())).findLast((activation) => activation.revision === revision) ??
        null,
    },
  }
  return { logEntries, consoleData, unknownEventTypes }
}
