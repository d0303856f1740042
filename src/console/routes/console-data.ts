import { searchLog } from '../../operations/log/search-log.ts'
import type { ConsoleParts } from '../../service/app/listeners.ts'
import { showRules } from '../../service/decide/rules/current-rules.ts'
import { readUntil } from '../../service/store/connection/read-until.ts'
import { listEventTypes } from '../../service/store/read/event-types.ts'
import { ALL_REJECTED, listRejected } from '../../service/store/read/list-rejected-messages.ts'
import { listActivations } from '../../service/store/read/read-archive.ts'
import { getPreferences, listPreferenceChanges } from '../../service/store/read/read-preferences.ts'
import { resolveTime } from '../../service/store/read/resolve-time.ts'
import type { Since } from '../../service/time/duration.ts'
import { share } from '../../service/time/share.ts'
import { countLogEntries } from './count-log-entries.ts'
import { createWorkbench } from './create-workbench.ts'
import type { ConsoleData, KnownEventType } from './data-routes.ts'
import { createRequestDesk } from './request-desk.ts'
import { createStatusReader } from './status-reader.ts'

/** Producers seldom send a new type. */
const EVENT_TYPES_SHARED = { validMs: 30_000, deadlineMs: 15_000 }

/** Reads the data of the console from the database and from the running parts of the service. */
export function createConsoleData(parts: ConsoleParts): ConsoleData {
  const { config, ruleFiles, logEntries } = parts
  const { ruleTable } = ruleFiles
  const { httpPool, listPool } = parts.database
  const loggedEventTypes = share(
    () => listEventTypes(listPool()),
    EVENT_TYPES_SHARED,
    () => performance.now(),
  )
  const eventTypes = async (): Promise<readonly KnownEventType[]> => {
    const known = new Map<string, string | null>(parts.eventTypes.authored.map((type) => [type, null]))
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
    countEntries: async (window) => countLogEntries(listPool(), config.retry, window),
    preferences: {
      get: async (partyLocator) => getPreferences(httpPool(), partyLocator),
      unknownEventTypes: parts.eventTypes.listUnknown,
      changes: async (partyLocator, limit) => {
        const { items, next } = await listPreferenceChanges(httpPool(), partyLocator, { limit, after: null })
        return { changes: [...items], isMore: next !== null }
      },
    },
    workbench: createWorkbench(config, ruleFiles, listPool),
    requests: createRequestDesk(parts),
    status: createStatusReader(parts),
    listRejected: async (query, page, signal) =>
      readUntil(signal, listPool(), async (connection) => {
        const timeAt = async (at: Since | null) => (at === null ? null : resolveTime(connection, at))
        const times = { since: await timeAt(query.since), before: await timeAt(query.before) }
        return listRejected(connection, { ...ALL_REJECTED, ...query, ...times }, page)
      }),
    rules: async () => showRules(ruleFiles, await listActivations(httpPool())),
  }
}
