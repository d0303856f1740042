import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import packageJson from '../../../package.json' with { type: 'json' }
import { createDispatch } from '../attempt/dispatch.ts'
import { createGroups } from '../attempt/groups.ts'
import type { LookUpNeeds } from '../attempt/look-up.ts'
import { createLocators } from '../attempt/new-locator.ts'
import { createRequestLoops } from '../attempt/request-loops.ts'
import { createRetry } from '../attempt/retry.ts'
import type { AttemptMaker } from '../attempt/transact.ts'
import type { Config } from '../config/config.ts'
import type { Brokers } from '../consume/brokers.ts'
import { Consumer } from '../consume/consumer.ts'
import type { DatabaseName } from '../consume/group-offsets.ts'
import type { KafkaConnection } from '../consume/kafka-client.ts'
import type { ConsumerNeeds } from '../consume/partition.ts'
import { readMessages } from '../consume/read-messages.ts'
import { takeFingerprint } from '../consume/records/record.ts'
import { createWarnOfHistory } from '../consume/warn-of-history.ts'
import type { PartyClient } from '../contacts/client.ts'
import { RETRY_MIN_PAUSE_MS } from '../decide/attempt/retry-pause.ts'
import { type RunStage, unobserved } from '../decide/attempt/stage.ts'
import { mapOf } from '../decide/event/envelope-map.ts'
import { parseEvent } from '../decide/event/parse-event.ts'
import { listPartitions } from '../decide/event/position.ts'
import type { LogPosition } from '../model/log/log-page.ts'
import { findHold } from '../model/request/hold.ts'
import { type Senders, sendByChannel } from '../send/send.ts'
import { isLocked } from '../store/connection/errors.ts'
import type { DatabasePool } from '../store/connection/pool.ts'
import { findLogged } from '../store/read/find-logged.ts'
import { listCheckpoints } from '../store/read/list-checkpoints.ts'
import { listDueEntries } from '../store/read/list-due-entries.ts'
import { readRejectedPage, toRejectedFilter } from '../store/read/list-rejected-messages.ts'
import { readArchived } from '../store/read/read-archive.ts'
import { readHolds } from '../store/read/read-holds.ts'
import { listRetryCandidates } from '../store/read/read-retry-candidates.ts'
import { ensureCheckpoint, resetCheckpoint } from '../store/write/checkpoints.ts'
import { dismissPage } from '../store/write/dismiss-page.ts'
import { createStore } from '../store/write/postgres-store.ts'
import { notePaused, postponeRequest, releaseRequest, takeRequest } from '../store/write/request-row.ts'
import type { Metrics } from '../telemetry/registry.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import type { Clock } from '../time/clock.ts'
import { share } from '../time/share.ts'
import { createParseBy } from './parse-by-revision.ts'
import type { RuleFiles } from './rule-files.ts'
import { skipBatch } from './skip-batch.ts'

export type Worker = ReturnType<typeof createWorker>

/** A page of a redrive: each message has its own transaction. */
const REDRIVEN_COUNT_MAX = 50

/** One held partition a second asks whether the hold is still in force. */
const HOLDS_SHARED = { validMs: 1_000, deadlineMs: 5_000 }

interface WorkerParts {
  readonly config: Config
  readonly connection: KafkaConnection
  readonly ruleFiles: RuleFiles
  readonly senders: Senders
  readonly parties: PartyClient
  readonly pool: DatabasePool
  readonly databaseName: DatabaseName
  readonly replicaId: string
  readonly brokers: Brokers
  readonly metrics: Pick<Metrics, 'stage' | 'countRestart' | 'countLost' | 'countRowsLost'>
  readonly tracing: Tracing | null
  /** Called after each commit of attempts. Waits for nothing. */
  readonly onCommit: () => void
  readonly log: Logger
}

/** The consumer, the retry and requests, for a database that is ready. */
export function createWorker(parts: WorkerParts) {
  const { config, connection, brokers, ruleFiles, parties, pool, metrics, tracing, log } = parts
  const stage: RunStage =
    tracing === null
      ? metrics.stage
      : (name, input, run) => metrics.stage(name, input, () => tracing.stage(name, input, run))
  // Dispatch, retry and requests each find refused rows for themselves: a bad row of one must not slow the others.
  const createMaker = (): AttemptMaker => ({
    ruleTable: ruleFiles.ruleTable,
    templates: ruleFiles.templates,
    store: createStore(pool),
    send: sendByChannel(parts.senders),
    stage,
    clock: CLOCK,
    onCommit: parts.onCommit,
    mustProbe: false,
  })
  const lookUps = createLookUps(ruleFiles, parties.lookUp, pool, stage)
  const dispatch = createDispatch(createMaker(), lookUps, metrics.countRestart, log)
  const holds = share(() => readHolds(pool), HOLDS_SHARED, CLOCK.monotonicMs)
  const build = {
    version: packageJson.version,
    ruleTableRevision: ruleFiles.ruleTable.revision,
    envelopeMapRevision: ruleFiles.envelopeMapRevision.revision,
    startedMs: Date.now(),
    replica: parts.replicaId,
  }
  const options = { ...config.broker, connection, batchCountMax: config.batchMax, build }
  const warnOfHistory = createWarnOfHistory(brokers, config.broker.topics, build.startedMs, log)
  const consumerNeeds: ConsumerNeeds = {
    ensureCheckpoint: async (topic, partition) => {
      const { isNew, ...checkpoint } = await ensureCheckpoint(pool, topic, partition)
      if (isNew) warnOfHistory({ topic, partition })
      return checkpoint
    },
    resetCheckpoint: (...reset) => resetCheckpoint(pool, ...reset),
    listCheckpoints: (topics) => listCheckpoints(pool, topics),
    processNext: createGroups(config.broker.partitionsAtOnce, CLOCK.startTimer, dispatch),
    findHold: async (topic) => findHold(await holds(), topic),
    findReason: (error) => (isLocked(error) ? 'locked' : 'not-committed'),
    countLost: metrics.countLost,
    countRowsLost: metrics.countRowsLost,
    database: parts.databaseName,
  }
  const consumer = new Consumer(options, consumerNeeds, log)
  const retryLimits = { ...config.retry, minPauseMs: RETRY_MIN_PAUSE_MS }
  const retry = createRetry<LogPosition>(
    createMaker(),
    parties,
    (...page) => listDueEntries(pool, retryLimits, ...page),
    log,
  )
  const requests = createRequestLoops({
    maker: createMaker(),
    parties,
    lookUps: createLookUps(ruleFiles, parties.lookUpAgain, pool, unobserved),
    takeRequest: () =>
      takeRequest(pool, listPartitions(consumer.membership.assignment ?? {}), parties.isDown()),
    listRetryCandidates: (...page) => listRetryCandidates(pool, config.retry, ...page),
    readMessages: (places) => readMessages(brokers, places),
    listRejected: (target, after) =>
      readRejectedPage(pool, toRejectedFilter(target), BigInt(after ?? 0), REDRIVEN_COUNT_MAX),
    dismissPage: (request) => dismissPage(pool, request),
    skipBatch: (...skip) => skipBatch(pool, brokers, ...skip),
    releaseRequest: (id) => releaseRequest(pool, id),
    postponeRequest: (...why) => postponeRequest(pool, ...why),
    notePaused: () => notePaused(pool),
    log,
  })
  return {
    consumer,
    run: () => {
      retry.start()
      requests.start()
      return consumer.run()
    },
    stop: async () => {
      await Promise.all([consumer.stop(), retry.stop(), requests.stop()])
    },
  }
}

function createLookUps(
  { envelopeMaps, envelopeMapRevision }: RuleFiles,
  lookUpContacts: LookUpNeeds['lookUpContacts'],
  pool: DatabasePool,
  stage: RunStage,
): LookUpNeeds {
  return {
    parserFor: (topic) => {
      const map = mapOf(envelopeMaps, topic)
      return (message) => parseEvent(message, map)
    },
    envelopeMapRevision: envelopeMapRevision.revision,
    parseBy: createParseBy(envelopeMaps, envelopeMapRevision.revision, (revision) =>
      readArchived(pool, 'envelope_map', revision),
    ),
    findLogged: (events) => findLogged(pool, events),
    lookUpContacts,
    newLocator: createLocators(),
    takeFingerprint,
    stage,
  }
}

const CLOCK: Clock = {
  monotonicMs: () => performance.now(),
  startTimer: (durationMs, run) => {
    const timer = setTimeout(run, durationMs)
    return () => clearTimeout(timer)
  },
  sleep: (durationMs, signal) => sleep(durationMs, undefined, { signal }),
}
