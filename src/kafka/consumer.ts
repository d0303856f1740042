import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin, Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import type { Held } from '../core/batch/hold.ts'
import type { Ends } from '../core/batch/position.ts'
import { backOffMs } from '../core/time/back-off.ts'
import { createAssignedPartitions } from './assigned-partitions.ts'
import { createBudget } from './budget.ts'
import { createClient } from './client.ts'
import { createOffsetReports } from './commit-offsets.ts'
import { isPassing } from './errors.ts'
import type { FetchControls } from './inbox.ts'
import { unservedReason } from './mends/metadata-errors.ts'
import type { ConsumerNeeds, PartitionConsumer } from './partition.ts'
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

const TOPIC_POLL_MS = 5_000
/** Of one broker and one fetch, of partitions taken at random, so that each has its turn. */
const FETCH_BYTES = 4 * 1024 * 1024
/** Of one partition: about as many events as make a whole batch. */
const PARTITION_FETCH_BYTES = 512 * 1024
/** Of all partitions together; more than one fetch is never above it. */
const QUEUE_BYTES_MAX = 8 * 1024 * 1024
/** New partitions are found, and a new leader of one without, when kafkajs looks at the topics again. */
const METADATA_AGE_MAX_MS = 10_000
/** How long a quiet partition may not know that the database has lost its last commits. */
const CHECKPOINTS_POLL_MS = 10_000
/** How long a stop waits for a join under way, so that it can leave the group again. */
const JOIN_WAIT_MS = 2_000
/**
 * How long a stop waits in all, once the batches under way are done. kafkajs cannot be stopped out of a join, which the
 * broker answers when the slowest member has joined too, nor out of a request to a broker that does not answer.
 */
const LEAVE_WAIT_MS = 3_000
/** How long a membership that has ended waits for Kafka to keep its last offsets. */
const REPORT_WAIT_MS = 1_000
/** How long a membership that has ended may take to disconnect before the next one begins; the fence parts them. */
const DISCONNECT_WAIT_MS = 20_000

/** What one membership in the group owns. */
export interface Assignment {
  /** Partition numbers by topic. */
  readonly partitions: Readonly<Record<string, readonly number[]>>
  /** Whether it is this member that deals out the partitions. */
  readonly isLeader: boolean
}

/** Why a membership in the group ended. */
type Ending =
  | { readonly kind: 'stop' }
  | { readonly kind: 'topics' }
  | { readonly kind: 'crash'; error: Error; retriable: boolean }

/**
 * Consumes the topics as a member of the group until stopped. Whatever can pass by itself is waited for with backoff: a
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
  const pause = (durationMs: number) =>
    sleep(durationMs, undefined, { signal: stopping.signal }).catch(() => {})
  /** Of one membership after the other, too: what is left of the one before takes its slots until it is done. */
  const takeSlot = createSlots(options.partitionCountMax, (durationMs) =>
    sleep(durationMs, undefined, { ref: false }),
  )
  const budget = createBudget(QUEUE_BYTES_MAX)
  const latest = new Map<string, PartitionConsumer>()
  let missingSinceMs: ReadonlyMap<string, number> = new Map()
  let assignment: Assignment | null = null
  let partitions: ReturnType<typeof createAssignedPartitions> | null = null
  let failureCount = 0
  let ended: Promise<void> = Promise.resolve()

  const allFinished = () => Promise.all([...latest.values()].map(({ finished }) => finished))

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const ending = await withAdmin(kafka, stopping.signal, (admin) => consumeOnce(admin))
        if (ending.kind === 'crash') {
          if (!ending.retriable) throw new FatalError(ending.error)
          throw ending.error
        }
        failureCount = 0
      } catch (error) {
        if (error instanceof FatalError) throw error.cause
        if (stopping.signal.aborted) return
        const durationMs = backOffMs(failureCount++)
        log.warn(
          { err: error, brokers: options.connection.brokers, retryInMs: durationMs },
          'waiting for the broker',
        )
        await pause(durationMs)
      }
    }
  }

  /** One membership: joins with the topics that exist and stays until something ends it. */
  async function consumeOnce(admin: Admin): Promise<Ending> {
    const topics = await existing(admin)
    const missing = noteMissing(topics)
    if (missing.length > 0)
      log.warn({ missing }, 'waiting for topics that do not exist yet; consuming the others')
    if (topics.length === 0) {
      await pause(TOPIC_POLL_MS)
      return { kind: 'topics' }
    }
    const over = new AbortController()
    const { consumer, crashed } = createMember()
    const reports = createOffsetReports((offsets) => consumer.commitOffsets(offsets), log)
    const owned = createAssignedPartitions({
      ...needs,
      takeSlot,
      offsetsOf: (topic, partition) => offsetsOf(admin, topic, partition),
      controlsOf: (topic, partition) => controlsOf(consumer, topic, partition),
      unservedReason,
      reportToKafka: reports.report,
      budget,
      latest,
      batchCountMax: options.batchCountMax,
      nowMs: Date.now,
      sleep: (durationMs, signal) => sleep(durationMs, undefined, { signal }).catch(() => {}),
      log,
    })
    partitions = owned
    stopping.signal.addEventListener('abort', owned.end, { signal: over.signal })
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      if (over.signal.aborted || stopping.signal.aborted) return
      assignment = { partitions: payload.memberAssignment, isLeader: payload.isLeader }
      // Other members may own these partitions now.
      reports.clear()
      owned.onJoin(payload.memberAssignment)
      log.info(
        { groupId: options.groupId, assignment: payload.memberAssignment },
        'joined the consumer group',
      )
    })
    void watchCheckpoints(() => owned.compareCheckpoints(topics), over.signal)
    const joining = join(consumer, topics, async (payload) => {
      failureCount = 0
      await owned.eachBatch(payload)
    })
    try {
      // The join is waited for even when a stop comes in: kafkajs would go on with it behind our back.
      await Promise.race([joining, stopped.then(() => settled(joining, JOIN_WAIT_MS))])
      return await Promise.race([crashed, stopped, appeared(admin, missing, over.signal)])
    } finally {
      assignment = null
      over.abort()
      owned.end()
      // Others are to go on where our last batches end, not beside them.
      await settled(allFinished(), DISCONNECT_WAIT_MS)
      await settled(reports.flush(), REPORT_WAIT_MS)
      // kafkajs has logged what it could not do; how the membership ended must not be lost over it.
      await settled(consumer.disconnect(), DISCONNECT_WAIT_MS)
    }
  }

  /** The database may be away: batches and HTTP say so. */
  async function watchCheckpoints(compare: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(CHECKPOINTS_POLL_MS, undefined, { signal }).catch(() => {})
      if (!signal.aborted) await compare().catch(() => {})
    }
  }

  async function join(
    consumer: Consumer,
    topics: string[],
    eachBatch: (payload: EachBatchPayload) => Promise<void>,
  ): Promise<void> {
    await consumer.connect()
    // Without `fromBeginning`, an offset that is out of range would reset to the latest: silent loss.
    await consumer.subscribe({ topics, fromBeginning: true })
    await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch })
  }

  function createMember() {
    let retriable = false
    const consumer = kafka.consumer({
      groupId: options.groupId,
      sessionTimeout: options.sessionTimeoutMs,
      heartbeatInterval: Math.floor(options.sessionTimeoutMs / 10),
      rebalanceTimeout: 60_000,
      maxWaitTimeInMs: 500,
      maxBytes: FETCH_BYTES,
      maxBytesPerPartition: PARTITION_FETCH_BYTES,
      metadataMaxAge: METADATA_AGE_MAX_MS,
      allowAutoTopicCreation: false,
      readUncommitted: false,
      retry: {
        retries: 4,
        initialRetryTime: 200,
        maxRetryTime: 2_000,
        // kafkajs would restart by a timer of its own that a stop cannot reach: we start a new member instead.
        restartOnFailure: async () => {
          retriable = true
          return false
        },
      },
    })
    const crashed = new Promise<Ending>((resolve) => {
      consumer.on(consumer.events.CRASH, ({ payload }) =>
        resolve({ kind: 'crash', error: payload.error, retriable: retriable || isPassing(payload.error) }),
      )
    })
    return { consumer, crashed }
  }

  /** Since when topics are missing, for whoever asks what is held. Returns their names. */
  function noteMissing(existing: readonly string[]): string[] {
    const missing = options.topics.filter((topic) => !existing.includes(topic))
    const nowMs = Date.now()
    missingSinceMs = new Map(missing.map((topic) => [topic, missingSinceMs.get(topic) ?? nowMs]))
    return missing
  }

  async function existing(admin: Admin): Promise<string[]> {
    const known = new Set(await admin.listTopics())
    return options.topics.filter((topic) => known.has(topic))
  }

  /** Resolves when one of the missing topics exists; never where none is missing. */
  async function appeared(admin: Admin, missing: readonly string[], signal: AbortSignal): Promise<Ending> {
    while (missing.length > 0 && !signal.aborted) {
      await sleep(TOPIC_POLL_MS, undefined, { signal }).catch(() => {})
      if (signal.aborted) break
      const topics = await existing(admin).catch((): string[] => [])
      if (missing.some((topic) => topics.includes(topic))) return { kind: 'topics' }
    }
    return new Promise(() => {})
  }

  return {
    /** What the present membership in the group owns; null while there is none. */
    assignment: () => assignment,
    /** The partitions among them that do not go on, and of each missing topic one. */
    held: (): readonly Held[] => [...heldAsMissing(missingSinceMs), ...(partitions?.held() ?? [])],
    /** The oldest message of a partition that is fetched and not processed; null where none is. */
    headOf: (topic: string, partition: number) => partitions?.headOf(topic, partition) ?? null,
    run: () => {
      const running = run()
      ended = running.catch(() => {})
      return running
    },
    stop: async (): Promise<void> => {
      stopping.abort()
      await allFinished()
      await settled(ended, LEAVE_WAIT_MS)
    },
  }
}

function heldAsMissing(sinceMsByTopic: ReadonlyMap<string, number>): Held[] {
  const detail = 'the brokers list no such topic'
  return [...sinceMsByTopic].map(([topic, sinceMs]) => {
    return { topic, partition: 0, reason: 'missing', offset: null, sinceMs, detail }
  })
}

/** kafkajs throws while it is in no group: then what was wanted is done when it joins the next one. */
function controlsOf(consumer: Consumer, topic: string, partition: number): FetchControls {
  const quietly = (act: () => void) => () => {
    try {
      act()
    } catch {}
  }
  const partitions = [{ topic, partitions: [partition] }]
  return {
    seek: (offset) => quietly(() => consumer.seek({ topic, partition, offset: String(offset) }))(),
    pause: quietly(() => consumer.pause(partitions)),
    resume: quietly(() => consumer.resume(partitions)),
  }
}

class FatalError extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
  }
}

async function withAdmin<T>(
  kafka: Kafka,
  signal: AbortSignal,
  use: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = kafka.admin()
  try {
    await Promise.race([admin.connect(), aborted(signal)])
    return await use(admin)
  } finally {
    await settled(admin.disconnect(), JOIN_WAIT_MS)
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true })
  })
}

/** Waits until the promise is settled, but not longer than `timeoutMs`; never rejects. */
async function settled(promise: Promise<unknown>, timeoutMs: number): Promise<void> {
  await Promise.race([promise.catch(() => {}), sleep(timeoutMs, undefined, { ref: false })])
}

async function offsetsOf(admin: Admin, topic: string, partition: number): Promise<Ends> {
  const offsets = await admin.fetchTopicOffsets(topic)
  const found = offsets.find((candidate) => candidate.partition === partition)
  if (found === undefined) throw new Error(`the broker has no partition ${partition} of topic ${topic}`)
  return { earliest: BigInt(found.low), end: BigInt(found.high) }
}
