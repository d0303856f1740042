import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import packageJson from '../../../package.json' with { type: 'json' }
import type { Config } from '../config/config.ts'
import { createBrokers } from '../consume/brokers.ts'
import { READ_UNCOMMITTED } from '../consume/fetch-request.ts'
import { findUnusedMaps } from '../decide/event/envelope-map.ts'
import { createCaseJudge } from '../decide/event/event-type-pattern.ts'
import { findHold } from '../model/request/hold.ts'
import { showBlocked } from '../model/service-status.ts'
import type { Senders } from '../send/send.ts'
import { countFailedEntries } from '../store/read/count-failed-entries.ts'
import { listCheckpoints } from '../store/read/list-checkpoints.ts'
import { readDatabaseName } from '../store/read/read-database-name.ts'
import { readHolds } from '../store/read/read-holds.ts'
import { judgeRole, ROLE_REMEDY } from '../store/schema/judge-role.ts'
import { archiveEnvelopeMap, archiveRevisions } from '../store/write/archive-revisions.ts'
import { createMetrics } from '../telemetry/registry.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import { createActivation, type DescribeChange } from './activation.ts'
import { createAnnouncer } from './announce.ts'
import { brokerConnection, createParties, createSenders } from './clients.ts'
import { createJudges } from './judges.ts'
import { listAuthored } from './known-event-types.ts'
import { createListeners, type OpenConsole } from './listeners.ts'
import { createNotices } from './notices.ts'
import { createDatabase } from './pools.ts'
import { givesReason, type RuleFiles, TEMPLATE_EVENT_TYPES } from './rule-files.ts'
import { createBacklog } from './watch-backlog.ts'
import { createWorker, type Worker } from './worker.ts'

const LOG_INTERVAL_MS = 60_000

export interface App {
  /** Listens, then waits for the database, the schema and the broker in the background. Resolves to the URL once it listens. */
  start(): Promise<string>
  /** Stops in order: not ready, consumer and retry drained, HTTP closed, connections ended. */
  stop(): Promise<void>
}

/** Parts of the other wings that the service uses. */
export interface Wings {
  /** Null without a management listener. */
  readonly openConsole: OpenConsole | null
  readonly describeChange: DescribeChange
}

/** Assembles the service. */
export async function createApp(
  config: Config,
  log: Logger,
  ruleFiles: RuleFiles,
  wings: Wings,
  senders: Senders = createSenders(config, log),
): Promise<App> {
  // Closed in reverse order of opening.
  const opened = new AsyncDisposableStack()
  const stopping = new AbortController()
  let worker: Worker | null = null
  /** Null until the database is ready. */
  const consumer = () => worker?.consumer ?? null
  let stopped: Promise<void> | null = null

  const unusedMaps = findUnusedMaps(ruleFiles.envelopeMaps, config.broker.topics)
  for (const warning of [...ruleFiles.warnings, ...unusedMaps]) log.warn(warning)
  const tracing = await openTracing(config, log)
  opened.defer(async () => tracing?.stop())
  const database = await createDatabase(config.database, log)
  opened.defer(database.close)
  const parties = createParties(config, log)
  opened.defer(parties.close)
  const connection = brokerConnection(config.broker)
  // Errors only: the consumer logs broker problems.
  const brokers = createBrokers(connection, config.broker.groupId, log.child({}, { level: 'error' }))
  opened.defer(brokers.close)

  const { groupId, topics } = config.broker
  const self = { id: randomUUID(), groupId, topics }
  const announcer = createAnnouncer(self, database.pool, () => {
    const failsSinceMs = parties.failsSinceMs()
    return {
      lookUps: parties.isDown() ? 'policy administration is down' : null,
      lookUpsFailSince: failsSinceMs === null ? null : new Date(failsSinceMs).toISOString(),
      blocked: showBlocked(consumer()?.blocked ?? [], (ms) => new Date(ms).toISOString()),
    }
  })
  const { judges, listMembers, clockAheadMs } = createJudges(self, brokers, database, announcer.announce)
  const notices = createNotices(judges, log)
  const backlog = createBacklog({
    assignment: () => consumer()?.membership.assignment ?? null,
    oldestMs: (topic, partition) => consumer()?.partitions.oldestMs(topic, partition) ?? null,
    // Messages behind an open transaction are unprocessed, too: a producer that hangs must not go unnoticed.
    // A broker that stands still must not hide how far the partitions of the others are behind.
    ends: () => brokers.readReachableEnds(topics, READ_UNCOMMITTED),
    ownedByGroup: async () => new Set((await listMembers()).flatMap(({ owned }) => owned)),
    checkpoints: async () => listCheckpoints(database.pool(), topics),
    failedRows: async () => countFailedEntries(database.pool(), config.retry),
    wallMs: Date.now,
    monotonicMs: () => performance.now(),
  })
  const metrics = createMetrics({
    ...describeMetrics(config, ruleFiles),
    backlog,
    heldTopics: async () => {
      const holds = await readHolds(database.pool())
      return topics.filter((topic) => findHold(holds, topic) !== null)
    },
    readState: () => ({
      connections: database.connections(),
      blocked: consumer()?.blocked ?? [],
      foreign: consumer()?.foreign.found ?? [],
      notices: notices.list(),
      clockAheadMs: clockAheadMs(),
      isPolicyAdministrationDown: parties.isDown(),
    }),
  })
  const minute = setInterval(() => {
    void metrics.logMinute(log)
    void notices.update()
  }, LOG_INTERVAL_MS).unref()
  opened.defer(() => {
    clearInterval(minute)
    return metrics.logMinute(log)
  })
  const listeners = createListeners({
    config,
    ruleFiles,
    database,
    consumer,
    parties,
    replicaId: self.id,
    backlog,
    openConsole: wings.openConsole,
    metrics,
    readiness: async () => (stopping.signal.aborted ? 'the service is stopping' : database.fault()),
    startup,
    startupWarning: () => {
      const shared = notices.list().filter(({ shares }) => shares !== undefined)
      const warnings = [consumer()?.foreign.reason, ...shared.map(({ text, remedy }) => `${text}; ${remedy}`)]
      return warnings.filter(Boolean).join('; ') || null
    },
    notices: () => [...notices.list(), ...metrics.dataFaults()],
    log,
  })
  opened.defer(listeners.close)

  /** Waits for the database and its schema, then consumes and retries until stopped. */
  async function work(): Promise<void> {
    const { pool, prepared: databaseName } = await database.reach(stopping.signal, async (reached) => {
      // Each decision names its revisions.
      await archiveRevisions(reached, ruleFiles.ruleTable, [...ruleFiles.templates.values()])
      await archiveEnvelopeMap(reached, ruleFiles.envelopeMapRevision)
      // Before it joins the group, whose other members look for it in the database. Tried again each minute.
      await announcer
        .announce(reached)
        .catch((error) => log.warn({ err: error }, 'could not record that this replica runs'))
      const roleFault = await judgeRole(reached)
      if (roleFault !== null) log.warn({ remedy: ROLE_REMEDY }, roleFault)
      return readDatabaseName(reached, config.database.url)
    })
    if (stopping.signal.aborted) return
    void notices.update()
    void announcer.watch(stopping.signal)
    const activation = createActivation(pool, ruleFiles, config, wings.describeChange, log)
    opened.defer(activation.settled)
    worker = createWorker({
      config,
      connection,
      brokers,
      ruleFiles,
      senders,
      parties,
      pool,
      databaseName,
      replicaId: self.id,
      metrics,
      tracing,
      onCommit: activation.begin,
      log,
    })
    opened.defer(worker.stop)
    await worker.run()
  }

  /** Ready once the process has joined the consumer group, whatever happens later. */
  async function startup(): Promise<string | null> {
    const membership = consumer()?.membership
    if (membership === undefined) return (await database.fault()) ?? 'the service is starting'
    return membership.hasJoined ? null : membership.waitsFor
  }

  /** A second call must wait for the first, which `disposeAsync` by itself does not. */
  async function stop(): Promise<void> {
    stopping.abort()
    await opened.disposeAsync()
  }

  return {
    start: async () => {
      const url = await listeners.listen()
      work().catch((error) => {
        // An unhandled rejection ends the process.
        if (!stopping.signal.aborted) throw error
      })
      return url
    },
    stop: () => (stopped ??= stop()),
  }
}

/** Constant labels and settings of the metrics. */
function describeMetrics({ broker, policyAdministration, retry }: Config, ruleFiles: RuleFiles) {
  return {
    version: packageJson.version,
    ruleTableRevision: ruleFiles.ruleTable.revision,
    envelopeMapRevision: ruleFiles.envelopeMapRevision.revision,
    groupId: broker.groupId,
    topics: broker.topics,
    rules: ruleFiles.ruleTable.rules,
    eventTypes: new Set(TEMPLATE_EVENT_TYPES),
    isInOtherCase: createCaseJudge(listAuthored(ruleFiles.ruleTable)),
    givesReason,
    addressPlaces: policyAdministration.addresses,
    attemptCountMax: retry.attemptCountMax,
  }
}

/** Loads the library only if tracing is on. */
async function openTracing({ tracing, batchMax }: Config, log: Logger): Promise<Tracing | null> {
  if (tracing === null) return null
  const { createTracing } = await import('../telemetry/tracing.ts')
  return createTracing({ ...tracing, batchMax, version: packageJson.version }, log)
}
