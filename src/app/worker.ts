import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { createBatchLimit } from '../core/batch/batch-limit.ts'
import type { Delivery } from '../core/log/delivery.ts'
import { createConsumer } from '../kafka/consumer.ts'
import type { PartyClient } from '../party/client.ts'
import type { Assignment } from '../pipeline/backlog.ts'
import { type DispatchNeeds, dispatch } from '../pipeline/dispatch.ts'
import { createRetry, RETRY_MIN_PAUSE_MS } from '../pipeline/retry.ts'
import { isConflict } from '../postgres/connection/errors.ts'
import { observedPool } from '../postgres/connection/observed-pool.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { type DueCursor, listDueEntries } from '../postgres/read/list-due-entries.ts'
import { lookUp } from '../postgres/read/look-up-batch.ts'
import { loadCheckpoint, resetCheckpoint } from '../postgres/write/checkpoints.ts'
import { commitBatch } from '../postgres/write/commit-batch.ts'
import { commitRetries } from '../postgres/write/commit-retries.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Trace, Tracing } from '../telemetry/tracing.ts'
import { createDelivery, messageOfEntry, messageOfRetry, messagesOf } from './delivery.ts'
import { createDispatchSteps } from './dispatch-steps.ts'
import type { Policy } from './policy.ts'

export interface Worker {
  /** The partitions consumed here, by topic; null while this process is not in the consumer group. */
  assignment(): Assignment | null
  run(): Promise<void>
  stop(): Promise<void>
}

/** The consumer and the retry over a database that is ready. */
export function createWorker(
  config: Config,
  policy: Policy,
  parties: PartyClient,
  pool: DatabasePool,
  metrics: Metrics,
  tracing: Tracing | null,
  log: Logger,
): Worker {
  const { ruleTable } = policy
  const { broker } = config
  const deliver = metrics.timed('send', createDelivery(config, log))
  const batchLimit = createBatchLimit(config.batchMax, config.policyAdministration.deadlineMs)
  const contactsOf: PartyClient['lookUp'] = async (partyLocators, onAnswer) => {
    const startMs = performance.now()
    const contacts = await parties.lookUp(partyLocators, onAnswer)
    if (!parties.isDown()) batchLimit.note(contacts, performance.now() - startMs)
    metrics.resolved(contacts)
    return contacts
  }
  const steps = createDispatchSteps(policy, parties, pool)
  const needsOf = (database: DatabasePool, contactsOf: PartyClient['lookUp']): DispatchNeeds => ({
    ...steps,
    lookUp: metrics.timed('look_up', (eventIds, partyLocators) => lookUp(database, eventIds, partyLocators)),
    contactsOf: metrics.timed('contacts', contactsOf),
    commit: metrics.timed('commit', async (batch) => {
      const refused = new Set<string>()
      const result = await commitBatch(database, batch, (inserted) =>
        noting(refused, deliver(messagesOf(inserted, messageOfEntry))),
      )
      metrics.committed(result, refused)
      return result
    }),
    isConflict: (error) => {
      const conflict = isConflict(error)
      if (conflict) metrics.conflict()
      return conflict
    },
  })
  const needs = needsOf(pool, contactsOf)
  const needsWithin = (trace: Trace): DispatchNeeds =>
    needsOf(observedPool(pool, trace.statement), (partyLocators, onAnswer) =>
      trace.contacts(partyLocators.length, () => contactsOf(partyLocators, onAnswer)),
    )
  const consumer = createConsumer(
    {
      connection: broker.connection,
      groupId: broker.groupId,
      topics: broker.topics,
      sessionTimeoutMs: broker.sessionTimeoutMs,
      partitionCountMax: broker.partitionsAtOnce,
      batchCountMax: batchLimit.count,
    },
    {
      loadCheckpoint: (topic, partition) => loadCheckpoint(pool, topic, partition),
      resetCheckpoint: (topic, partition, held, offset) =>
        resetCheckpoint(pool, topic, partition, held, offset),
      dispatch: (batch, heartbeat) =>
        metrics.dispatched(batch, () =>
          tracing === null
            ? dispatch(needs, batch, heartbeat)
            : tracing.batch(batch, (trace) => dispatch(needsWithin(trace), batch, heartbeat)),
        ),
    },
    log,
  )
  const dueLimits = { ...config.retry, minPauseMs: RETRY_MIN_PAUSE_MS }
  const retry = createRetry<DueCursor>({
    listDueEntries: (after, countMax) => listDueEntries(pool, dueLimits, after, countMax),
    preferencesOf: async (partyLocators) => (await lookUp(pool, [], partyLocators)).preferences,
    contactsOf: (partyLocators) => contactsOf(partyLocators),
    isDown: parties.isDown,
    decide: ruleTable.decide,
    commit: async (retried) => {
      const refused = new Set<string>()
      const commitIn = (database: DatabasePool) =>
        commitRetries(
          database,
          ruleTable.revision,
          retried,
          (locked) => noting(refused, deliver(messagesOf(locked, messageOfRetry))),
          log,
        )
      const made =
        tracing === null
          ? await commitIn(pool)
          : await tracing.retry(retried.length, (trace) => commitIn(observedPool(pool, trace.statement)))
      metrics.retried(made, refused)
      return made
    },
    clock: {
      nowMs: () => performance.now(),
      sleep: (durationMs, signal) => sleep(durationMs, undefined, { signal }),
    },
    log,
  })
  return {
    assignment: consumer.assignment,
    run: async () => {
      retry.start()
      await consumer.run()
    },
    stop: async () => {
      await Promise.all([consumer.stop(), retry.stop()])
    },
  }
}

/** Keeps the locators of the rows whose sender failed, as of the last time that they were sent. */
async function noting(
  refused: Set<string>,
  sending: Promise<ReadonlyMap<string, Delivery>>,
): Promise<ReadonlyMap<string, Delivery>> {
  const deliveries = await sending
  deliveries.forEach(({ error }, locator) => {
    if (error === null) refused.delete(locator)
    else refused.add(locator)
  })
  return deliveries
}
