import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { Assignment } from '../core/batch/assignment.ts'
import type { Dispatch } from '../core/batch/batch.ts'
import { createBatchLimit } from '../core/batch/batch-limit.ts'
import type { Blocked } from '../core/batch/blocked.ts'
import type { KafkaConnection } from '../kafka/client.ts'
import { type ConsumerOptions, createConsumer } from '../kafka/consumer.ts'
import type { Processing } from '../kafka/partition.ts'
import type { PartyClient } from '../party/client.ts'
import { type AttemptNeeds, createAttempt } from '../pipeline/attempt.ts'
import { type DispatchNeeds, dispatchBatch } from '../pipeline/dispatch.ts'
import { createContactLookUp } from '../pipeline/look-up-contacts.ts'
import { commitRetries, createRetry, RETRY_MIN_PAUSE_MS, type RetryNeeds } from '../pipeline/retry.ts'
import { isConflict, isLocked } from '../postgres/connection/errors.ts'
import { observedPool } from '../postgres/connection/observed-pool.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { listCheckpoints } from '../postgres/read/list-checkpoints.ts'
import { type DueCursor, listDueEntries } from '../postgres/read/list-due-entries.ts'
import { loadCheckpoint, resetCheckpoint } from '../postgres/write/checkpoints.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import { attemptNeeds, createLookUps } from './attempts.ts'
import type { RuleFiles } from './rule-files.ts'
import { createSenders } from './senders.ts'

export interface Worker {
  /** The partitions consumed here; null while this process is not in the consumer group. */
  assignment(): Assignment | null
  blocked(): readonly Blocked[]
  oldestMs(topic: string, partition: number): number | null
  run(): Promise<void>
  stop(): Promise<void>
}

export interface WorkerParts {
  readonly config: Config
  readonly connection: KafkaConnection
  readonly ruleFiles: RuleFiles
  readonly parties: PartyClient
  readonly pool: DatabasePool
  readonly metrics: Metrics
  readonly tracing: Tracing | null
  readonly log: Logger
}

/** The consumer and the retry over a database that is ready. */
export function createWorker(parts: WorkerParts): Worker {
  const { config, ruleFiles, metrics, tracing, log } = parts
  const pool = tracing === null ? parts.pool : observedPool(parts.pool, tracing.statement)
  const send = metrics.timed('send', createSenders(config, log))
  const attempts = attemptNeeds(ruleFiles, pool, send)
  const consumer = createConsumer(...consumerNeeds(parts, pool, attempts), log)
  const retry = createRetry<DueCursor>(retryNeeds(parts, pool, attempts))
  return {
    assignment: consumer.assignment,
    blocked: consumer.blocked,
    oldestMs: consumer.oldestMs,
    run: async () => {
      retry.start()
      await consumer.run()
    },
    stop: async () => {
      await Promise.all([consumer.stop(), retry.stop()])
    },
  }
}

function consumerNeeds(
  { config, connection, ruleFiles, parties, metrics, tracing }: WorkerParts,
  pool: DatabasePool,
  attempts: AttemptNeeds,
): [ConsumerOptions, Processing] {
  const batchLimit = createBatchLimit(config.batchMax, config.policyAdministration.deadlineMs)
  const lookUp = metrics.countContacts(createContactLookUp(parties, batchLimit, () => performance.now()))
  const contactsOf = metrics.timed('contacts', tracing?.contacts(lookUp) ?? lookUp)
  const lookUps = createLookUps(ruleFiles, parties, pool)
  const needs: DispatchNeeds = {
    ...lookUps,
    findLogged: metrics.timed('look_up', lookUps.findLogged),
    contactsOf,
    attempt: metrics.timed('commit', createAttempt(attempts)),
    isConflict: metrics.countConflicts(isConflict),
  }
  const dispatch: Dispatch = (batch) => dispatchBatch(needs, batch)
  const { partitionsAtOnce: partitionCountMax, ...broker } = config.broker
  return [
    { ...broker, connection, partitionCountMax, batchCountMax: batchLimit.count },
    {
      loadCheckpoint: (topic, partition) => loadCheckpoint(pool, topic, partition),
      resetCheckpoint: (...reset) => resetCheckpoint(pool, ...reset),
      listCheckpoints: (topics) => listCheckpoints(pool, topics),
      dispatch: metrics.countBatches(
        tracing === null ? dispatch : (batch) => tracing.batch(batch, () => dispatch(batch)),
      ),
      reasonOf: (error) => (isLocked(error) ? 'locked' : 'not-committed'),
    },
  ]
}

function retryNeeds(
  { config, parties, metrics, tracing, log }: WorkerParts,
  pool: DatabasePool,
  attempts: AttemptNeeds,
): RetryNeeds<DueCursor> {
  const attempt = createAttempt(attempts)
  const dueLimits = { ...config.retry, minPauseMs: RETRY_MIN_PAUSE_MS }
  const commit: RetryNeeds<DueCursor>['commit'] = async (asked) => {
    const { made, refused } = await commitRetries(attempt, asked, null)
    for (const [locator, error] of refused)
      log.error(
        { locator, error },
        'the database refused the retry of a row; the row stays unchanged, and the next pass retries it',
      )
    return made
  }
  return {
    listDueEntries: (after, countMax, upTo) => listDueEntries(pool, dueLimits, after, countMax, upTo),
    contactsOf: metrics.countContacts(parties.lookUpAgain),
    isDown: parties.isDown,
    commit: metrics.countRetries(
      tracing === null ? commit : (asked) => tracing.retry(asked.length, () => commit(asked)),
    ),
    clock: {
      nowMs: () => performance.now(),
      sleep: (durationMs, signal) => sleep(durationMs, undefined, { signal }),
    },
    log,
  }
}
