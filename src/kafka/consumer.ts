import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin } from 'kafkajs'
import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import type { Held } from '../core/batch/hold.ts'
import { backOffMs } from '../core/time/back-off.ts'
import { offsetsOf, withAdmin } from './admin.ts'
import { allFinished } from './assigned-partitions.ts'
import { createBudget } from './budget.ts'
import { createClient } from './client.ts'
import { createMembership, type Ending } from './membership.ts'
import { unservedReason } from './mends/metadata-errors.ts'
import { createMissingTopics, TOPIC_POLL_MS } from './missing-topics.ts'
import type { ConsumerNeeds, PartitionConsumer } from './partition.ts'
import { settled } from './settled.ts'
import { createSlots } from './slots.ts'

export interface ConsumerOptions {
  readonly connection: BrokerConnection
  readonly groupId: string
  readonly topics: readonly string[]
  readonly sessionTimeoutMs: number
  /** Partitions whose batches are worked on at the same time. */
  readonly partitionCountMax: number
  /** Messages that the next batch may have. */
  readonly batchCountMax: () => number
}

/** Of all partitions together; more than one fetch is never above it. */
const QUEUE_BYTES_MAX = 8 * 1024 * 1024
/**
 * How long a stop waits in all, once the batches under way are done. kafkajs cannot be stopped out of a join, which the
 * broker answers when the slowest member has joined too, nor out of a request to a broker that does not answer.
 */
const LEAVE_WAIT_MS = 3_000

/**
 * Consumes the topics as a member of the group until stopped. Whatever can pass by itself is waited for with back-off: a
 * broker that is down, topics that do not exist yet (the others go on meanwhile), a lost connection.
 *
 * `run` resolves after `stop`, and rejects with an error that kafkajs cannot get over: then the process is to end.
 * `stop` lets the batches under way finish, however long they take, and then leaves the group if that can be done soon.
 */
export function createConsumer(options: ConsumerOptions, needs: ConsumerNeeds, log: Logger) {
  const kafka = createClient(options.connection, options.groupId, log)
  const stopping = new AbortController()
  const stopped = new Promise<Ending>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve({ kind: 'stop' }), { once: true })
  })
  const backOff = createBackOff(options.connection.brokers, stopping.signal, log)
  const missingTopics = createMissingTopics(options.topics, Date.now)
  const shared = sharedNeeds(options, needs, log)
  let membership: ReturnType<typeof createMembership> | null = null
  let ended: Promise<void> = Promise.resolve()

  /** One membership: joins with the topics that exist and stays until something ends it. */
  async function consumeOnce(admin: Admin): Promise<Ending> {
    const { existing, missing } = await missingTopics.look(admin)
    if (missing.length > 0)
      log.warn({ missing }, 'waiting for topics that do not exist yet; consuming the others')
    if (existing.length === 0) {
      await pause(TOPIC_POLL_MS, stopping.signal)
      return { kind: 'topics' }
    }
    const { groupId, sessionTimeoutMs } = options
    membership = createMembership(kafka, { groupId, sessionTimeoutMs, topics: existing }, stopping.signal, {
      ...shared,
      offsetsOf: (topic, partition) => offsetsOf(admin, topic, partition),
      onBatch: backOff.reset,
      stopped,
      appeared: (signal) => missingTopics.appeared(admin, missing, signal),
    })
    return membership.run()
  }

  /** One membership after the other, until stopped. */
  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const ending = await withAdmin(kafka, stopping.signal, consumeOnce).catch(asCrash)
      if (ending.kind !== 'crash') backOff.reset()
      else if (!ending.retriable) throw ending.error
      else if (!stopping.signal.aborted) await backOff.wait(ending.error)
    }
  }

  return {
    /** What the present membership in the group owns; null while there is none. */
    assignment: () => membership?.assignment() ?? null,
    /** The partitions among them that do not go on, and of each missing topic one. */
    held: (): readonly Held[] => [...missingTopics.held(), ...(membership?.held() ?? [])],
    /** The oldest message of a partition that is fetched and not processed; null where none is. */
    headOf: (topic: string, partition: number) => membership?.headOf(topic, partition) ?? null,
    run: () => {
      const running = run()
      ended = running.catch(() => {})
      return running
    },
    stop: async (): Promise<void> => {
      stopping.abort()
      await allFinished(shared.latest)
      await settled(ended, LEAVE_WAIT_MS)
    },
  }
}

/** What all memberships share: what is left of one takes its slots and bytes until it is done, also in the next one. */
function sharedNeeds(options: ConsumerOptions, needs: ConsumerNeeds, log: Logger) {
  return {
    ...needs,
    takeSlot: createSlots(options.partitionCountMax, (durationMs) =>
      sleep(durationMs, undefined, { ref: false }),
    ),
    budget: createBudget(QUEUE_BYTES_MAX),
    latest: new Map<string, PartitionConsumer>(),
    batchCountMax: options.batchCountMax,
    unservedReason,
    nowMs: Date.now,
    sleep: pause,
    log,
  }
}

/** Waits longer after each failure in a row. */
function createBackOff(brokers: readonly string[], stopping: AbortSignal, log: Logger) {
  let failureCount = 0
  return {
    reset: (): void => {
      failureCount = 0
    },
    wait: async (error: unknown): Promise<void> => {
      const durationMs = backOffMs(failureCount++)
      log.warn({ err: error, brokers, retryInMs: durationMs }, 'waiting for the broker')
      await pause(durationMs, stopping)
    },
  }
}

/** What fails before kafkajs consumes can pass by itself. */
function asCrash(error: unknown): Ending {
  return { kind: 'crash', error, retriable: true }
}

/** Ends early when the signal aborts; never rejects. */
function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return sleep(durationMs, undefined, { signal }).catch(() => {})
}
