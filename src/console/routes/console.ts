import { setTimeout as sleep } from 'node:timers/promises'
import { searchLog } from '../../operations/log/search-log.ts'
import { getRequest, listRequests } from '../../operations/requests/list-requests.ts'
import { previewRequest } from '../../operations/requests/preview-request.ts'
import { resolveTarget } from '../../operations/requests/resolve-target.ts'
import type { ConsoleNeeds } from '../../service/app/listeners.ts'
import { findSkipReason, type RetryCandidate } from '../../service/decide/attempt/retry-candidate.ts'
import type { Preferences } from '../../service/decide/party/preferences.ts'
import { showRules } from '../../service/decide/rules/current-rules.ts'
import type { Tokens } from '../../service/http/auth/tokens.ts'
import type { HttpApp } from '../../service/http/server/base.ts'
import { type ServiceStatus, showBlocked } from '../../service/model/service-status.ts'
import { readUntil } from '../../service/store/connection/read-until.ts'
import { listEventTypes } from '../../service/store/read/event-types.ts'
import {
  ALL_REJECTED,
  countRejectedMessages,
  listRejected,
} from '../../service/store/read/list-rejected-messages.ts'
import { listActivations } from '../../service/store/read/read-archive.ts'
import { readHolds } from '../../service/store/read/read-holds.ts'
import { getPreferences, listPreferenceChanges } from '../../service/store/read/read-preferences.ts'
import { addRequest, cancelRequest } from '../../service/store/write/request-row.ts'
import { share } from '../../service/time/share.ts'

import { createWorkbench } from './back-tests.ts'
import { countLogEntries } from './count-log-entries.ts'
import { type ConsoleData, consoleData, type KnownEventType } from './data.ts'
import { type ConsolePage, consolePage, readConsolePage } from './page.ts'
import type { Requests } from './request-routes.ts'

/** Producers seldom send a new type. */
const EVENT_TYPES_SHARED = { validMs: 30_000, deadlineMs: 15_000 }
/** Longer than the page's pause, so that a slow read is there for its next one. */
const BACKLOG_SHARED = { validMs: 10_000, deadlineMs: 10_000 }
/** Counting the open rejected messages may take as long as a statement may. */
const REJECTED_SHARED = { validMs: 60_000, deadlineMs: 15_000 }
/** The state of the service does not wait longer for a count. */
const COUNT_MS_MAX = 500

/** The administrators' page and its data, for the management listener. */
export function openConsole(needs: ConsoleNeeds): (app: HttpApp) => void {
  const [page, data] = [readConsolePage(), createConsoleData(needs)]
  return (app) => addConsole(app, page, data, needs)
}

/** Only the data is personal and needs a token. */
export function addConsole(
  app: HttpApp,
  page: ConsolePage,
  data: ConsoleData,
  { tokens, isLoopback }: { readonly tokens: Tokens | null; readonly isLoopback: boolean },
): void {
  app.register(async (open: HttpApp) => consolePage(open, page))
  app.register(consoleData(data, tokens, isLoopback), { prefix: '/console/data' })
}

/** Takes what people ask for. Previews judge by today's preferences and rules, as far as they are known without a look-up. */
function createRequestDesk({
  config,
  ruleFiles: { ruleTable },
  database: { httpPool, listPool },
}: ConsoleNeeds): Requests {
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

const toIso = (ms: number) => new Date(ms).toISOString()

/** Reads the state of the service. A count that takes long is there at the next call. */
function createStatus({ worker: current, lookUpFault, notices, backlog, database }: ConsoleNeeds) {
  const nowMs = () => performance.now()
  const readBacklog = share(backlog, BACKLOG_SHARED, nowMs)
  const open = { ...ALL_REJECTED, open: true }
  const countRejected = share(
    async () => countRejectedMessages(database.listPool(), open),
    REJECTED_SHARED,
    nowMs,
  )
  const soon = <Value>(read: () => Promise<Value>) =>
    Promise.race([read().catch(() => null), sleep(COUNT_MS_MAX, null, { ref: false })])
  return async (): Promise<ServiceStatus> => {
    const worker = current()
    const [fault, lookUps, found, rejected] = await Promise.all([
      database.fault(),
      lookUpFault(),
      soon(readBacklog),
      soon(countRejected),
    ])
    const holds = fault === null ? await readHolds(database.httpPool()).catch(() => null) : []
    const waiting = (found?.partitions ?? []).filter(({ messageCount }) => messageCount > 0)
    const oldestMs = Date.now() - 1_000 * Math.max(...waiting.map(({ oldestAgeS }) => oldestAgeS))
    return {
      isStarting: worker === null,
      consuming: worker === null ? 'the service is starting' : (worker.waitsFor() ?? worker.foreignReason()),
      database: fault ?? (holds === null ? 'it does not answer' : null),
      lookUps,
      notices: notices(),
      totals: {
        waiting: found?.brokerReachable
          ? waiting.reduce((sum, { messageCount }) => sum + messageCount, 0)
          : null,
        waitingSince: waiting.length === 0 ? null : toIso(oldestMs),
        rejected,
        givenUp: found?.failedRows?.givenUp ?? null,
      },
      assignedCount: found?.assignedCount ?? null,
      // The state of the database says why they are not known.
      holds: holds ?? [],
      blocked: showBlocked(worker?.blocked() ?? [], found?.partitions ?? [], toIso),
    }
  }
}

function createConsoleData(needs: ConsoleNeeds): ConsoleData {
  const { config, ruleFiles, logEntries } = needs
  const { ruleTable } = ruleFiles
  const { httpPool, listPool } = needs.database
  const loggedEventTypes = share(
    () => listEventTypes(listPool()),
    EVENT_TYPES_SHARED,
    () => performance.now(),
  )
  const eventTypes = async (): Promise<readonly KnownEventType[]> => {
    const known = new Map<string, string | null>(needs.eventTypes.authored.map((type) => [type, null]))
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
      unknownEventTypes: needs.eventTypes.listUnknown,
      changes: async (partyLocator, countMax) => listPreferenceChanges(httpPool(), partyLocator, countMax),
    },
    workbench: createWorkbench(config, ruleFiles, listPool),
    requests: createRequestDesk(needs),
    status: createStatus(needs),
    listRejected: async (query, page, signal) =>
      readUntil(signal, listPool(), (connection) =>
        listRejected(connection, { ...ALL_REJECTED, ...query }, page),
      ),
    rules: async () => showRules(ruleFiles, await listActivations(httpPool())),
  }
}
