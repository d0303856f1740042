import type { Logger } from 'pino'
import packageJson from '../../../package.json' with { type: 'json' }
import type { Config } from '../config/config.ts'
import { createBrokers } from '../consume/brokers.ts'
import type { DatabaseName } from '../consume/group-offsets.ts'
import { findUnusedMaps } from '../decide/event/envelope-map.ts'
import type { Senders } from '../send/send.ts'
import type { DatabasePool } from '../store/connection/pool.ts'
import { readDatabaseName } from '../store/read/read-database-name.ts'
import { judgeRole, ROLE_REMEDY } from '../store/schema/judge-role.ts'
import { archiveEnvelopeMap, archiveRevisions } from '../store/write/archive-revisions.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import { createActivation, type DescribeChange } from './activation.ts'
import { brokerConnection, createParties, createSenders } from './clients.ts'
import { createListeners, type OpenConsole } from './listeners.ts'
import { createMonitor } from './monitor.ts'
import { createDatabase } from './pools.ts'
import type { RuleFiles } from './rule-files.ts'
import { createWorker, type Worker } from './worker.ts'

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

  const monitor = createMonitor(config, ruleFiles, brokers, database, parties, consumer, log)
  opened.defer(monitor.close)
  const { replicaId, announcer, notices, backlog, metrics } = monitor
  const listeners = createListeners({
    config,
    ruleFiles,
    database,
    consumer,
    parties,
    replicaId,
    backlog,
    openConsole: wings.openConsole,
    metrics,
    readiness: async () => (stopping.signal.aborted ? 'the service is stopping' : database.fault()),
    notices: () => [...notices.list(), ...metrics.dataFaults()],
    log,
  })
  opened.defer(listeners.close)

  /** Waits for the database and its schema, then consumes and retries until stopped. */
  async function work(): Promise<void> {
    const { pool, prepared: databaseName } = await database.reach(stopping.signal, (reached) =>
      prepareDatabase(reached, config, ruleFiles, announcer.announce, log),
    )
    if (stopping.signal.aborted) return
    void notices.update()
    void announcer.watch(stopping.signal)
    const activation = createActivation(pool, ruleFiles, config, wings.describeChange, log, () =>
      performance.now(),
    )
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
      replicaId,
      metrics,
      tracing,
      onCommit: activation.begin,
      log,
    })
    opened.defer(worker.stop)
    await worker.run()
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
    stop: () => {
      stopping.abort()
      // A second call must wait for the first, which `disposeAsync` by itself does not.
      stopped ??= opened.disposeAsync()
      return stopped
    },
  }
}

/** Records what decisions refer to, and this replica. Returns the database's name. */
async function prepareDatabase(
  pool: DatabasePool,
  config: Config,
  ruleFiles: RuleFiles,
  announce: () => Promise<void>,
  log: Logger,
): Promise<DatabaseName> {
  await archiveRevisions(pool, ruleFiles.ruleTable, [...ruleFiles.templates.values()])
  await archiveEnvelopeMap(pool, ruleFiles.envelopeMapRevision)
  // Before it joins the group, whose other members look for it in the database. Tried again each minute.
  await announce().catch((error) => log.warn({ err: error }, 'could not record that this replica runs'))
  const roleFault = await judgeRole(pool)
  if (roleFault !== null) log.warn({ remedy: ROLE_REMEDY }, roleFault)
  return readDatabaseName(pool, config.database.url)
}

/** Loads the library only if tracing is on. */
async function openTracing({ tracing, batchMax }: Config, log: Logger): Promise<Tracing | null> {
  if (tracing === null) return null
  const { createTracing } = await import('../telemetry/tracing.ts')
  return createTracing({ ...tracing, batchMax, version: packageJson.version }, log)
}
