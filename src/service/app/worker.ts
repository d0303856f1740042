import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { createRequests, type RequestNeeds } from '../attempt/carry-out.ts'
import { createDispatch, type DispatchNeeds } from '../attempt/dispatch.ts'
import { createLanes } from '../attempt/lanes.ts'
import { createLocators } from '../attempt/locators.ts'
import type { LookUpNeeds } from '../attempt/look-up.ts'
import { createRetry, type RetryNeeds } from '../attempt/retry.ts'
import type { AttemptMaker } from '../attempt/transact.ts'
import type { Config } from '../config/config.ts'
import type { Brokers } from '../consume/brokers.ts'
import type { KafkaConnection } from '../consume/client.ts'
import { createConsumer } from '../consume/consumer.ts'
import type { ConsumerNeeds } from '../consume/partition.ts'
import { readMessages } from '../consume/read-messages.ts'
import { takeFingerprint } from '../consume/records/record.ts'
import type { PartyClient } from '../contacts/client.ts'
import { RETRY_MIN_PAUSE_MS } from '../decide/attempt/retry-entry.ts'
import { type RunStage, unobserved } from '../decide/attempt/stage.ts'
import { mapOf } from '../decide/event/envelope-map.ts'
import { parseEvent } from '../decide/event/parse-event.ts'
import { type Assignment, listPartitions } from '../decide/event/position.ts'
import type { LogPosition } from '../model/log/log-page.ts'
import { type Senders, sendByChannel } from '../send/send.ts'
import { isLocked, isWorthRestart } from '../store/connection/errors.ts'
import { observedPool } from '../store/connection/observed-pool.ts'
import type { DatabasePool } from '../store/connection/pool.ts'
import { findLogged } from '../store/read/find-logged.ts'
import { listCheckpoints } from '../store/read/list-checkpoints.ts'
import { listDueEntries } from '../store/read/list-due-entries.ts'
import { readRejectedPage, toRejectedFilter } from '../store/read/list-rejected-messages.ts'
import { readArchived } from '../store/read/read-archive.ts'
import { listRetryCandidates } from '../store/read/read-retry-candidates.ts'
import { ensureCheckpoint, resetCheckpoint } from '../store/write/checkpoints.ts'
import { dismissPage } from '../store/write/dismiss-page.ts'
import { createStore } from '../store/write/postgres-store.ts'
import {
  lockRequest,
  notePaused,
  postponeRequest,
  recordProgress,
  releaseRequest,
  takeRequest,
} from '../store/write/request-row.ts'
import type { Metrics } from '../telemetry/registry.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import type { StartTimer } from '../time/timer.ts'
import { createActivation, type DescribeChange } from './in-force.ts'
import { createParseBy, type RuleFiles } from './rule-files.ts'
import { skipBatch } from './skip-batch.ts'

export type Worker = ReturnType<typeof createWorker>

/** A page of a redrive: each message has its own transaction. */
const REDRIVEN_COUNT_MAX = 50

interface WorkerNeeds {
  readonly config: Config
  readonly connection: KafkaConnection
  readonly ruleFiles: RuleFiles
  readonly senders: Senders
  readonly parties: PartyClient
  readonly pool: DatabasePool
  readonly brokers: Brokers
  readonly metrics: Pick<Metrics, 'stage' | 'countRestart' | 'countLost'>
  readonly tracing: Tracing | null
  readonly describeChange: DescribeChange
  readonly log: Logger
}

/** The consumer and the retry, for a database that is ready. */
export function createWorker(needs: WorkerNeeds) {
  const { config, connection, ruleFiles, metrics, tracing, log } = needs
  const pool = tracing === null ? needs.pool : observedPool(needs.pool, tracing.statement)
  const stage: RunStage =
    tracing === null
      ? metrics.stage
      : (name, input, run) => metrics.stage(name, input, () => tracing.stage(name, input, run))
  const activation = createActivation(needs.pool, ruleFiles, config.gitCommit, needs.describeChange, log)
  const createMaker = (): AttemptMaker => ({
    ruleTable: ruleFiles.ruleTable,
    templates: ruleFiles.templates,
    store: createStore(pool),
    send: sendByChannel(needs.senders),
    stage,
    nowMs: () => performance.now(),
    onCommit: activation.begin,
    mustProbe: false,
  })
  const options = { ...config.broker, connection, batchCountMax: config.batchMax }
  const consumer = createConsumer(options, consumerNeeds(needs, pool, createMaker(), stage), log)
  const retry = createRetry<LogPosition>(retryNeeds(needs, pool, createMaker(), stage))
  const requests = createRequests(requestNeeds(needs, pool, createMaker(), stage, consumer.assignment))
  return {
    ...consumer,
    run: () => {
      retry.start()
      requests.start()
      return consumer.run()
    },
    stop: async () => {
      await Promise.all([consumer.stop(), retry.stop(), requests.stop()])
      await activation.settled()
    },
  }
}

function consumerNeeds(
  { config, ruleFiles, parties, metrics, log }: WorkerNeeds,
  pool: DatabasePool,
  maker: AttemptMaker,
  stage: RunStage,
): ConsumerNeeds {
  const needs: DispatchNeeds = {
    ...createLookUps(ruleFiles, parties.lookUp, pool, stage),
    maker,
    isWorthRestart,
    countRestart: metrics.countRestart,
    startTimer,
    nowMs: () => performance.now(),
    log,
  }
  return {
    ensureCheckpoint: (topic, partition) => ensureCheckpoint(pool, topic, partition),
    resetCheckpoint: (...reset) => resetCheckpoint(pool, ...reset),
    listCheckpoints: (topics) => listCheckpoints(pool, topics),
    processNext: createLanes(config.broker.partitionsAtOnce, startTimer, createDispatch(needs)),
    findReason: (error) => (isLocked(error) ? 'locked' : 'not-committed'),
    countLost: metrics.countLost,
  }
}

function retryNeeds(
  { config, parties, log }: WorkerNeeds,
  pool: DatabasePool,
  maker: AttemptMaker,
  stage: RunStage,
): RetryNeeds<LogPosition> {
  const dueLimits = { ...config.retry, minPauseMs: RETRY_MIN_PAUSE_MS }
  return {
    listDueEntries: (after, countMax, upTo) => listDueEntries(pool, dueLimits, after, countMax, upTo),
    lookUpContactsAgain: (asked) => stage('retry_contacts', asked, () => parties.lookUpAgain(asked)),
    isDown: parties.isDown,
    maker,
    stage,
    clock: {
      nowMs: () => performance.now(),
      sleep: (durationMs, signal) => sleep(durationMs, undefined, { signal }),
    },
    log,
  }
}

function requestNeeds(
  { config, brokers, ruleFiles, parties, log }: WorkerNeeds,
  pool: DatabasePool,
  maker: AttemptMaker,
  stage: RunStage,
  assignment: () => Assignment | null,
): RequestNeeds {
  const record: RequestNeeds['record'] = (request, progress, end) =>
    pool.transaction(async (tx) => {
      if (await lockRequest(tx, request)) await recordProgress(tx, request.id, progress, end)
    })
  return {
    take: () => takeRequest(pool, listPartitions(assignment() ?? {}), parties.isDown()),
    listCandidates: (target, after) => listRetryCandidates(pool, config.retry, target, after),
    readMessages: (places) => readMessages(brokers, places),
    listRejected: (target, after) =>
      readRejectedPage(pool, toRejectedFilter(target), BigInt(after ?? 0), REDRIVEN_COUNT_MAX),
    lookUpContactsAgain: (asked) => stage('retry_contacts', asked, () => parties.lookUpAgain(asked)),
    isDown: parties.isDown,
    lookUps: createLookUps(ruleFiles, parties.lookUpAgain, pool, unobserved),
    maker,
    record,
    dismissPage: (request) => dismissPage(pool, request),
    skip: async (request, target) => {
      const refusal = await skipBatch(pool, brokers, request, target)
      if (refusal !== null) await record(request, request.progress, { state: 'stopped', note: refusal })
    },
    release: (id) => releaseRequest(pool, id),
    postpone: (id, note) => postponeRequest(pool, id, note),
    notePaused: () => notePaused(pool),
    sleep: (durationMs, signal) => sleep(durationMs, undefined, { signal }),
    log,
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

const startTimer: StartTimer = (durationMs, run) => {
  const timer = setTimeout(run, durationMs)
  return () => clearTimeout(timer)
}
