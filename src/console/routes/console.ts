import { searchLog } from '../../operations/log/search-log.ts'
import { getRequest, listRequests } from '../../operations/requests/list-requests.ts'
import { ONE_ITEM, previewRequest } from '../../operations/requests/preview-request.ts'
import { resolveTarget } from '../../operations/requests/resolve-target.ts'
import type { ConsoleParts } from '../../service/app/listeners.ts'
import type { Config } from '../../service/config/config.ts'
import { findSkipReason, type RetryCandidate } from '../../service/decide/attempt/retry-candidate.ts'
import { listPartitions, partitionKey } from '../../service/decide/event/position.ts'
import type { Preferences } from '../../service/decide/party/preferences.ts'
import { showRules } from '../../service/decide/rules/current-rules.ts'
import type { HttpApp } from '../../service/http/server/base.ts'
import { countHeld, describeUnknownTopics } from '../../service/model/request/hold.ts'
import type { StoredRequest } from '../../service/model/request/schemas.ts'
import { type ReplicaTroubles, type ServiceStatus, showBlocked } from '../../service/model/service-status.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { readUntil } from '../../service/store/connection/read-until.ts'
import { listEventTypes } from '../../service/store/read/event-types.ts'
import {
  ALL_REJECTED,
  countRejectedMessages,
  listRejected,
} from '../../service/store/read/list-rejected-messages.ts'
import { listReplicas } from '../../service/store/read/list-replicas.ts'
import { listActivations } from '../../service/store/read/read-archive.ts'
import { readHolds } from '../../service/store/read/read-holds.ts'
import { getPreferences, listPreferenceChanges } from '../../service/store/read/read-preferences.ts'
import { resolveTime } from '../../service/store/read/resolve-time.ts'
import { awaitAttempts } from '../../service/store/write/attempts-lock.ts'
import { addRequest, cancelRequest } from '../../service/store/write/request-row.ts'
import { resumeHolds } from '../../service/store/write/resume-holds.ts'
import { CorrectableError } from '../../service/text/faults.ts'
import type { Since } from '../../service/time/duration.ts'
import { share } from '../../service/time/share.ts'
import { withTimeout } from '../../service/time/with-timeout.ts'
import { createWorkbench } from './back-tests.ts'
import { countLogEntries } from './count-log-entries.ts'
import { type ConsoleData, consoleData, type KnownEventType } from './data.ts'
import { type ConsolePage, consolePage, readConsolePage } from './page.ts'
import type { Requests, Wanted } from './request-routes.ts'

/** Producers seldom send a new type. */
const EVENT_TYPES_SHARED = { validMs: 30_000, deadlineMs: 15_000 }
/** Longer than the page's pause, so that a slow read serves its next one. */
const BACKLOG_SHARED = { validMs: 6_000, deadlineMs: 10_000 }
const REJECTED_SHARED = { validMs: 15_000, deadlineMs: 15_000 }
/** Maximum time that the state of the service waits for a count. */
const COUNT_MS_MAX = 500

/** The administrators' page and its data, for the management listener. */
export function openConsole(parts: ConsoleParts): (app: HttpApp) => void {
  const [page, data] = [readConsolePage(), createConsoleData(parts)]
  return (app) => addConsole(app, page, data, { ...parts, signIn: parts.config.signIn })
}

/** Only the data is personal, and so requires a token. */
export function addConsole(
  app: HttpApp,
  page: ConsolePage,
  data: ConsoleData,
  { tokens, isLoopback, signIn }: Pick<ConsoleParts, 'tokens' | 'isLoopback'> & Pick<Config, 'signIn'>,
): void {
  app.register(async (open: HttpApp) => consolePage(open, page, signIn))
  app.register(consoleData(data, tokens, isLoopback), { prefix: '/console/data' })
}

/** Adds a request, or changes a hold. Returns the id of the request. */
async function addWanted(
  pool: DatabasePool,
  wanted: Wanted,
  by: string,
  because: string,
  key: string | null,
): Promise<string> {
  switch (wanted.kind) {
    case 'hold': {
      const { kind, ...target } = wanted
      const id = await addRequest(pool, { kind, target }, by, because, key)
      await awaitAttempts(pool)
      return id
    }
    case 'resume': {
      const { hold } = wanted
      const [resumed] = await resumeHolds(pool, [hold], by, because)
      // Another version may have its own kind of hold; an ended hold stays unchanged.
      if (resumed === undefined && (await getRequest(pool, hold))?.kind !== 'hold')
        throw new CorrectableError(`request ${hold} is no hold that this version can end`)
      return hold
    }
    default:
      return addRequest(pool, await resolveTarget(pool, wanted), by, because, key)
  }
}

/** Throws CorrectableError if the key belongs to a request of another kind, or to a hold that has ended: nothing new was added. */
function requireSame({ id, kind, endedAt }: StoredRequest, wanted: Wanted): void {
  if (wanted.kind === 'resume') return
  const isOther = kind !== wanted.kind
  const isOver = !isOther && kind === 'hold' && endedAt !== null
  if (isOther || isOver)
    throw new CorrectableError(
      `the key belongs to request ${id}, ${isOver ? 'a hold that has ended' : `a ${kind}`}: choose another key`,
    )
}

/** Adds requests. Previews judge by current preferences and rules, as far as known without a look-up. */
function createRequestDesk({
  config,
  ruleFiles: { ruleTable, envelopeMaps },
  database: { httpPool, listPool },
}: ConsoleParts): Requests {
  const willBeSkipped = (candidate: RetryCandidate, preferences: Preferences | undefined) =>
    findSkipReason(ruleTable.decide, candidate, preferences)
  /** Throws CorrectableError for a hold that would stop nothing. A resume may name a topic that is no longer consumed. */
  const check = (wanted: Wanted) => {
    const topics = wanted.kind === 'hold' ? (wanted.topics ?? []) : []
    const unknown = describeUnknownTopics(topics, config.broker.topics)
    if (unknown !== null) throw new CorrectableError(unknown)
  }
  return {
    list: async (page) => listRequests(listPool(), page),
    get: async (id) => getRequest(httpPool(), id),
    preview: async (wanted, signal) =>
      readUntil(signal, listPool(), async (connection) => {
        check(wanted)
        if (wanted.kind === 'hold' || wanted.kind === 'resume') return ONE_ITEM
        const target = await resolveTarget(connection, wanted)
        return previewRequest(connection, config.retry, target, envelopeMaps, willBeSkipped)
      }),
    add: async (wanted, by, because, key) => {
      check(wanted)
      const added = await getRequest(httpPool(), await addWanted(httpPool(), wanted, by, because, key))
      if (added === null) throw new Error('the request that was added is gone')
      requireSame(added, wanted)
      return added
    },
    cancel: async (id, by) => cancelRequest(httpPool(), id, by),
  }
}

/** A replica in trouble reports four times as often, and counts as gone without a report. */
const TROUBLES_MS_MAX = 60_000

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
const toIso = (ms: number) => new Date(ms).toISOString()

/** Reads the state of the service. A slow count appears at the next call. */
function createStatus({
  config,
  consumer: readConsumer,
  parties,
  replicaId,
  notices,
  backlog,
  database,
}: ConsoleParts) {
  const monotonicMs = () => performance.now()
  /** Counted anew for each set of holds, since an earlier count does not include a hold's waiting events. */
  const readBacklog = share((_holds: string) => backlog(), BACKLOG_SHARED, monotonicMs)
  const open = { ...ALL_REJECTED, open: true }
  const countRejected = share(
    async () => (await countRejectedMessages(database.listPool(), open)).count,
    REJECTED_SHARED,
    monotonicMs,
  )
  const soon = <Value>(read: () => Promise<Value>) =>
    withTimeout(
      COUNT_MS_MAX,
      read().catch(() => null),
      () => null,
    )
  async function troublesOfOthers(): Promise<readonly ReplicaTroubles[]> {
    const replicas = await listReplicas(database.httpPool())
    return replicas.flatMap(({ id, groupId, seenMsAgo, troubles }) =>
      id === replicaId ||
      groupId !== config.broker.groupId ||
      seenMsAgo > TROUBLES_MS_MAX ||
      troubles === null
        ? []
        : [troubles],
    )
  }
  return async (): Promise<ServiceStatus> => {
    const consumer = readConsumer()
    const [fault, lookUps] = await Promise.all([database.fault(), parties.fault()])
    const failsSinceMs = parties.failsSinceMs()
    const holds = fault === null ? await readHolds(database.httpPool()).catch(() => null) : []
    const others = fault === null ? await troublesOfOthers().catch(() => []) : []
    const down = others.find((one) => one.lookUps !== null)
    const own = new Set(listPartitions(consumer?.membership.assignment ?? {}).map(partitionKey))
    const blocked = [
      ...showBlocked(consumer?.blocked ?? [], toIso),
      ...others.flatMap((one) => one.blocked).filter((one) => !own.has(partitionKey(one))),
    ]
    const held = (holds ?? []).map(({ id }) => id).join()
    const [found, rejected] = await Promise.all([soon(() => readBacklog(held)), soon(countRejected)])
    const here = (found?.partitions ?? []).filter(({ messageCount }) => messageCount > 0)
    const oldestMs = Date.now() - 1_000 * Math.max(...here.map(({ oldestAgeS }) => oldestAgeS))
    const waiting = sum([...(found?.waitingByTopic.values() ?? [])])
    const isAllHere = waiting === sum(here.map(({ messageCount }) => messageCount))
    return {
      isStarting: consumer === null,
      consuming:
        consumer === null
          ? 'the service is starting'
          : (consumer.membership.waitsFor ?? consumer.foreign.reason),
      database: fault ?? (holds === null ? 'it does not answer' : null),
      lookUps: lookUps ?? (down ? `${down.lookUps} for another replica` : null),
      lookUpsFailSince: failsSinceMs === null ? (down?.lookUpsFailSince ?? null) : toIso(failsSinceMs),
      retryMaxAgeMs: config.retry.maxAgeMs,
      notices: notices(),
      totals: {
        waiting: found?.brokerReachable ? waiting : null,
        waitingSince: here.length > 0 && isAllHere ? toIso(oldestMs) : null,
        rejected,
        givenUp: found?.failedRows?.givenUp ?? null,
        retrying: found?.failedRows?.waiting ?? null,
      },
      partitionCount: found?.brokerReachable ? found.waitingByPartition.size : null,
      // The state of the database explains why they are unknown.
      holds: (holds ?? []).map((hold) => ({
        ...hold,
        waiting:
          found === null ? undefined : found.brokerReachable ? countHeld(hold, found.waitingByTopic) : null,
      })),
      topics: config.broker.topics,
      blocked: [...new Map(blocked.map((one) => [partitionKey(one), one])).values()].map((one) => ({
        ...one,
        waiting: found?.waitingByPartition.get(partitionKey(one)) ?? null,
      })),
    }
  }
}

function createConsoleData(parts: ConsoleParts): ConsoleData {
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
    status: createStatus(parts),
    listRejected: async (query, page, signal) =>
      readUntil(signal, listPool(), async (connection) => {
        const timeAt = async (at: Since | null) => (at === null ? null : resolveTime(connection, at))
        const times = { since: await timeAt(query.since), before: await timeAt(query.before) }
        return listRejected(connection, { ...ALL_REJECTED, ...query, ...times }, page)
      }),
    rules: async () => showRules(ruleFiles, await listActivations(httpPool())),
  }
}
