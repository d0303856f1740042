import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { Assignment } from '../core/batch/assignment.ts'
import type { Dispatch } from '../core/batch/batch.ts'
import { createBatchLimit } from '../core/batch/batch-limit.ts'
import type { Held } from '../core/batch/hold.ts'
import { decideRetry, type PreparedRetries } from '../core/log/decide-retry.ts'
import type { Send } from '../core/log/delivery.ts'
import type { LookUpContacts } from '../core/party/contact.ts'
import { createConsumer } from '../kafka/consumer.ts'
import type { PartyClient } from '../party/client.ts'
import { type DispatchNeeds, dispatchBatch } from '../pipeline/dispatch.ts'
import { createContactLookUp } from '../pipeline/look-up-contacts.ts'
import { createRetry, RETRY_MIN_PAUSE_MS, type RetryNeeds } from '../pipeline/retry.ts'
import { isConflict, isLocked } from '../postgres/connection/errors.ts'
import { observedPool } from '../postgres/connection/observed-pool.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { findLogged } from '../postgres/read/find-logged.ts'
import { listCheckpoints } from '../postgres/read/list-checkpoints.ts'
import { type DueCursor, listDueEntries } from '../postgres/read/list-due-entries.ts'
import { loadCheckpoint, resetCheckpoint } from '../postgres/write/checkpoints.ts'
import { commitBatch } from '../postgres/write/commit-batch.ts'
import { commitRetries } from '../postgres/write/commit-retries.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import { createDispatchSteps } from './dispatch-steps.ts'
import type { RuleFiles } from './rule-files.ts'
import { createSenders } from './senders.ts'

export interface Worker {
  /** What is consumed here; null while this process is not in the consumer group. */
  assignment(): Assignment | null
  held(): readonly Held[]
  oldestMs(topic: string, partition: number): number | null
  run(): Promise<void>
  stop(): Promise<void>
}

export interface WorkerParts {
  readonly config: Config
  readonly ruleFiles: RuleFiles
  readonly parties: PartyClient
  readonly pool: DatabasePool
  readonly metrics: Metrics
  readonly tracing: Tracing | null
  readonly log: Logger
}

/** The consumer and the retry over a database that is ready. */
export function createWorker(parts: WorkerParts): Worker {
  const { config, parties, pool, metrics, log } = parts
  const send = metrics.timed('send', createSenders(config, log))
  const batchLimit = createBatchLimit(config.batchMax, config.policyAdministration.deadlineMs)
  const contactsOf = metrics.countContacts(createContactLookUp(parties, batchLimit, () => performance.now()))
  const { partitionsAtOnce: partitionCountMax, ...broker } = config.broker
  const consumer = createConsumer(
    { ...broker, partitionCountMax, batchCountMax: batchLimit.count },
    {
      loadCheckpoint: (topic, partition) => loadCheckpoint(pool, topic, partition),
      resetCheckpoint: (...reset) => resetCheckpoint(pool, ...reset),
      listCheckpoints: (topics) => listCheckpoints(pool, topics),
      dispatch: metrics.countBatches(createDispatch(parts, contactsOf, send)),
      reasonOf: (error) => (isLocked(error) ? 'locked' : 'not-committed'),
    },
    log,
  )
  const retry = createRetry<DueCursor>(retryNeeds(parts, send))
  return {
    assignment: consumer.assignment,
    held: consumer.held,
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

/** The pipeline of a batch: timed and counted stage by stage, and within a trace where tracing is on. */
function createDispatch(
  { ruleFiles, parties, pool, metrics, tracing }: WorkerParts,
  contactsOf: LookUpContacts,
  send: Send,
): Dispatch {
  const steps = createDispatchSteps(ruleFiles, parties, pool)
  const needsOf = (database: DatabasePool, contactsOf: LookUpContacts): DispatchNeeds => ({
    ...steps,
    findLogged: metrics.timed('look_up', (...wanted) => findLogged(database, ...wanted)),
    contactsOf: metrics.timed('contacts', (parties) => contactsOf(parties)),
    commit: metrics.timed(
      'commit',
      metrics.countCommits((batch) => commitBatch(database, batch, send)),
    ),
    isConflict: metrics.countConflicts(isConflict),
  })
  if (tracing === null) {
    const needs = needsOf(pool, contactsOf)
    return (batch) => dispatchBatch(needs, batch)
  }
  return (batch) =>
    tracing.batch(batch, (trace) =>
      dispatchBatch(needsOf(observedPool(pool, trace.statement), trace.contacts(contactsOf)), batch),
    )
}

function retryNeeds(
  { config, ruleFiles: { ruleTable }, parties, pool, metrics, tracing, log }: WorkerParts,
  send: Send,
): RetryNeeds<DueCursor> {
  const dueLimits = { ...config.retry, minPauseMs: RETRY_MIN_PAUSE_MS }
  return {
    listDueEntries: (after, countMax, upTo) => listDueEntries(pool, dueLimits, after, countMax, upTo),
    contactsOf: metrics.countContacts(parties.lookUpAgain),
    isDown: parties.isDown,
    commit: metrics.countRetries((asked) => {
      const decide: PreparedRetries['decide'] = (...known) => decideRetry(ruleTable.decide, ...known)
      const prepared = { ruleTableRevision: ruleTable.revision, asked, request: null, decide }
      const commitIn = (database: DatabasePool) => commitRetries(database, prepared, send, log)
      return tracing === null
        ? commitIn(pool)
        : tracing.retry(asked.length, (trace) => commitIn(observedPool(pool, trace.statement)))
    }),
    clock: {
      nowMs: () => performance.now(),
      sleep: (durationMs, signal) => sleep(durationMs, undefined, { signal }),
    },
    log,
  }
}
