import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { Blocked } from '../core/batch/block-reasons.ts'
import { partitionKey } from '../core/event/position.ts'
import { errorMessage } from '../core/text/faults.ts'
import { backOffMs } from '../core/time/back-off.ts'
import { type Brokers, createBrokers, READ_COMMITTED } from './brokers.ts'
import { createClient, type KafkaConnection } from './client.ts'
import { createBudget } from './inbox.ts'
import {
  createMembership,
  isWithoutCoordinator,
  lacksGroupRight,
  onceAborted,
  settled,
  unreachableBroker,
} from './membership.ts'
import type { ConsumerNeeds, PartitionNeeds } from './partition.ts'
import type { Member } from './patches/membership.ts'
import { unservedReason } from './patches/metadata-errors.ts'

export interface ConsumerOptions extends Omit<Config['broker'], 'connection' | 'partitionsAtOnce'> {
  readonly connection: KafkaConnection
  readonly batchCountMax: number
}

/** Queued bytes of all partitions at which only those with an empty inbox are fetched, see `createBudget`. */
const INBOXES_BYTES_MAX = 8 * 1024 * 1024
const TOPIC_POLL_MS = 5_000
/**
 * Maximum time that `stop` waits to leave the group after the last batch. kafkajs cannot stop during a join, which the broker
 * answers when the slowest member has joined, nor during an unanswered request.
 */
const LEAVE_WAIT_MS = 3_000
const JOINING = 'joining the consumer group'

/**
 * Consumes the topics as a member of the group until stopped. Waits with backoff for a broker that is down, for missing topics
 * (the others continue) and after a lost connection. `stop` lets the running batches finish, however long they take, then leaves
 * the group, and waits for that 3 s at most.
 */
export function createConsumer(options: ConsumerOptions, needs: ConsumerNeeds, log: Logger) {
  const { connection, groupId, topics } = options
  const kafka = createClient(connection, groupId, log)
  const brokers = createBrokers(connection, groupId, log)
  const stopping = new AbortController()
  const partitionNeeds = createPartitionNeeds(options, needs, brokers, log)
  const missing = missingTopics(brokers, topics)
  const member: Member = { id: null }
  let membership: ReturnType<typeof createMembership> | null = null
  let failureCount = 0
  let waitsFor = JOINING
  let hasJoined = false
  let ended: Promise<void> = Promise.resolve()

  /** Joins the group with the existing topics. Resolves when the membership has ended in order. */
  async function consumeOnce(): Promise<void> {
    const { signal } = stopping
    const refreshed = new AbortController()
    const stopped = onceAborted(signal, refreshed.signal)
    await Promise.race([missing.refresh(), stopped]).finally(() => refreshed.abort())
    if (signal.aborted) return
    const names = missing.list().map(({ topic }) => topic)
    const existing = topics.filter((topic) => !names.includes(topic))
    if (names.length > 0)
      log.warn(
        { missing: names },
        'waiting for topics that do not exist yet, or that this user may not see; consuming the others',
      )
    if (existing.length === 0) {
      waitsFor = `none of the topics exists: create ${names.join(', ')}, or grant READ and DESCRIBE on them`
      await pause(TOPIC_POLL_MS, signal)
      return
    }
    // After a failure, its reason stays until the next join succeeds.
    if (failureCount === 0) waitsFor = JOINING
    membership = createMembership({
      kafka,
      ...options,
      topics: existing,
      member,
      stopping: signal,
      partitionNeeds,
      onJoin: () => {
        hasJoined = true
      },
      onBatch: () => {
        failureCount = 0
      },
      appeared: missing.appeared,
    })
    await membership.run()
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await consumeOnce()
        failureCount = 0
      } catch (cause) {
        if (stopping.signal.aborted) return
        const retryInMs = backOffMs(failureCount++)
        const error = await explain(cause, brokers, groupId)
        const remedy = describeRemedy(error, groupId, connection.brokers)
        const reason = `the broker refuses or does not respond (${errorMessage(error)})${remedy}`
        // A broker that is down says nothing new every few seconds.
        const level = reason === waitsFor ? 'debug' : 'warn'
        const fields = unreachableBroker(error) === null ? { err: error } : { reason: errorMessage(error) }
        log[level]({ ...fields, brokers: connection.brokers, retryInMs }, `waiting for the broker${remedy}`)
        waitsFor = reason
        await pause(retryInMs, stopping.signal)
      }
    }
  }

  return {
    /** The partitions that this member owns; null while it is in no group. */
    assignment: () => membership?.assignment() ?? null,
    /** True once this member has joined the group for the first time. */
    hasJoined: () => hasJoined,
    /** Null while this member is in the group and its broker answers; otherwise the reason for waiting. */
    waitsFor: () => {
      if (!membership?.assignment()) return waitsFor
      return membership.isSilent() ? 'the broker does not respond' : null
    },
    blocked: (): readonly Blocked[] => [
      ...missing.list(),
      ...[...partitionNeeds.latest.values()].flatMap((consumer) => consumer.blocked() ?? []),
    ],
    /** Time of the oldest fetched and unprocessed message, in ms since 1970, or null. */
    oldestMs: (topic: string, partition: number) => membership?.oldestMs(topic, partition) ?? null,
    run: () => (ended = run()),
    stop: async (): Promise<void> => {
      stopping.abort()
      await Promise.all([...partitionNeeds.latest.values()].map(({ finished }) => finished))
      await settled(ended, LEAVE_WAIT_MS)
      await settled(brokers.close(), LEAVE_WAIT_MS)
    },
  }
}

function createPartitionNeeds(
  { batchCountMax }: ConsumerOptions,
  needs: ConsumerNeeds,
  brokers: Brokers,
  log: Logger,
): PartitionNeeds {
  return {
    ...needs,
    readEnds: async (topicPartition) => {
      const ends = await brokers.readEnds([topicPartition.topic], READ_COMMITTED)
      const found = ends.get(partitionKey(topicPartition))
      if (found === undefined) throw new Error(`no broker leads ${partitionKey(topicPartition)}`)
      return found
    },
    unservedReason,
    budget: createBudget(INBOXES_BYTES_MAX),
    latest: new Map(),
    batchCountMax,
    nowMs: Date.now,
    sleep: pause,
    log,
  }
}

/** If this user may not see the group, kafkajs reports only a missing coordinator. */
async function explain(error: unknown, brokers: Brokers, groupId: string): Promise<unknown> {
  if (!isWithoutCoordinator(error)) return error
  return brokers.requireGroupRight(groupId).then(
    () => error,
    (cause) => (lacksGroupRight(cause) ? cause : error),
  )
}

function describeRemedy(error: unknown, groupId: string, known: readonly string[]): string {
  if (lacksGroupRight(error)) return `: grant this user READ and DESCRIBE on the consumer group ${groupId}`
  const advertised = findAdvertisedFault(error, known)
  if (advertised !== null) return `: ${advertised}`
  const address = unreachableBroker(error)
  return address === null ? '' : `: ${address} cannot be reached: start it, or correct MQ_BROKERS`
}

/** Null unless a broker can be reached, and sends its clients to an address that cannot. */
export function findAdvertisedFault(error: unknown, known: readonly string[]): string | null {
  const address = unreachableBroker(error)
  if (address === null || known.includes(address)) return null
  return `the broker at ${known.join(' or ')} advertises ${address}, which cannot be reached from here: advertised.listeners`
}

function missingTopics(brokers: Brokers, topics: readonly string[]) {
  let missing: readonly Blocked[] = []

  async function find(): Promise<readonly Blocked[]> {
    const { topics: existing } = await brokers.describe()
    return topics
      .filter((topic) => !existing.includes(topic))
      .map((topic) => {
        const sinceMs = missing.find((before) => before.topic === topic)?.sinceMs ?? Date.now()
        const detail = 'the brokers list no such topic'
        return { topic, partition: 0, reason: 'missing', offset: null, sinceMs, detail }
      })
  }

  return {
    list: () => missing,
    refresh: async (): Promise<void> => {
      missing = await find()
    },
    /** Resolves when a missing topic exists. Never resolves if none is missing. */
    appeared: async (signal: AbortSignal): Promise<void> => {
      const missingCount = missing.length
      while (missingCount > 0 && !signal.aborted) {
        await pause(TOPIC_POLL_MS, signal)
        const found = signal.aborted ? missing : await find().catch(() => missing)
        if (found.length < missingCount) return
      }
      return new Promise(() => {})
    },
  }
}

function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return sleep(durationMs, undefined, { signal }).catch(() => {})
}
