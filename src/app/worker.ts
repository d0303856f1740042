import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { RunStage } from '../core/attempt/stage.ts'
import type { LogPosition } from '../core/log/log-page.ts'
import type { KafkaConnection } from '../kafka/client.ts'
import { type ConsumerOptions, createConsumer } from '../kafka/consumer.ts'
import type { Processing } from '../kafka/partition.ts'
import type { PartyClient } from '../party/client.ts'
import { type AttemptNeeds, createAttempt } from '../pipeline/attempt.ts'
import { type DispatchNeeds, dispatchBatch } from '../pipeline/dispatch.ts'
import { commitRetries, createRetry, RETRY_MIN_PAUSE_MS, type RetryNeeds } from '../pipeline/retry.ts'
import { isConflict, isLocked } from '../postgres/connection/errors.ts'
import { observedPool } from '../postgres/connection/observed-pool.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { listCheckpoints } from '../postgres/read/list-checkpoints.ts'
import { listDueEntries } from '../postgres/read/list-due-entries.ts'
import { loadCheckpoint, resetCheckpoint } from '../postgres/write/checkpoints.ts'
import type { Senders } from '../senders/send.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import { attemptNeeds, createLookUps } from './pipeline.ts'
import type { RuleFiles } from './rule-files.ts'

export type Worker = ReturnType<typeof createWorker>

interface WorkerParts {
  readonly config: Config
  readonly connection: KafkaConnection
  readonly ruleFiles: RuleFiles
  readonly senders: Senders
  readonly parties: PartyClient
  readonly pool: DatabasePool
  readonly metrics: Pick<Metrics, 'stage' | 'countConflict'>
  readonly tracing: Tracing | null
  readonly log: Logger
}

/** The consumer and the retry, for a database that is ready. */
export function createWorker(parts: WorkerParts) {
  const { ruleFiles, metrics, tracing, log } = parts
  const pool = tracing === null ? parts.pool : observedPool(parts.pool, tracing.statement)
  const stage: RunStage =
    tracing === null
      ? metrics.stage
      : (name, input, run) => metrics.stage(name, input, () => tracing.stage(name, input, run))
  const attempts = attemptNeeds(parts.config, log, ruleFiles, pool, stage, parts.senders)
  const consumer = createConsumer(...consumerNeeds(parts, pool, attempts), log)
  const retry = createRetry<LogPosition>(retryNeeds(parts, pool, attempts))
  return {
    ...consumer,
    run: () => {
      retry.start()
      return consumer.run()
    },
    stop: async () => {
      await Promise.all([consumer.stop(), retry.stop()])
    },
  }
}

function consumerNeeds(
  { config, connection, ruleFiles, parties, metrics }: WorkerParts,
  pool: DatabasePool,
  attempts: AttemptNeeds,
): [ConsumerOptions, Processing] {
  const needs: DispatchNeeds = {
    ...createLookUps(ruleFiles, parties.lookUp, pool, attempts.stage),
    attempt: createAttempt(attempts),
    isConflict,
    countConflict: metrics.countConflict,
  }
  const { partitionsAtOnce: partitionCountMax, ...broker } = config.broker
  return [
    { ...broker, connection, partitionCountMax, batchCountMax: config.batchMax },
    {
      loadCheckpoint: (topic, partition) => loadCheckpoint(pool, topic, partition),
      resetCheckpoint: (...reset) => resetCheckpoint(pool, ...reset),
      listCheckpoints: (topics) => listCheckpoints(pool, topics),
      dispatch: (batch) => dispatchBatch(needs, batch),
      reasonOf: (error) => (isLocked(error) ? 'locked' : 'not-committed'),
    },
  ]
}

function retryNeeds(
  { config, parties, log }: WorkerParts,
  pool: DatabasePool,
  attempts: AttemptNeeds,
): RetryNeeds<LogPosition> {
  const { stage } = attempts
  const attempt = createAttempt(attempts)
  const dueLimits = { ...config.retry, minPauseMs: RETRY_MIN_PAUSE_MS }
  return {
    listDueEntries: (after, countMax, upTo) => listDueEntries(pool, dueLimits, after, countMax, upTo),
    contactsOf: (asked) => stage('retry_contacts', asked, () => parties.lookUpAgain(asked)),
    isDown: parties.isDown,
    commit: (asked) => stage('retry', asked, () => commitRetries(attempt, asked, null)),
    clock: {
      nowMs: () => performance.now(),
      sleep: (durationMs, signal) => sleep(durationMs, undefined, { signal }),
    },
    log,
  }
}
