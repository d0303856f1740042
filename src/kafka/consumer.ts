import { setTimeout as sleep } from 'node:timers/promises'
import { bulkhead } from 'cockatiel'
import type { Admin, Consumer, Kafka } from 'kafkajs'
import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import { backOffMs } from '../core/time/back-off.ts'
import { createClient } from './client.ts'
import { createOffsetReports } from './commit-offsets.ts'
import { isPassing, isUnreadable } from './errors.ts'
import { createPartitionConsumer, type PartitionNeeds } from './partition.ts'
import { type UndecodableBatch, undecodableIn } from './undecodable.ts'

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

export type ConsumerNeeds = Pick<PartitionNeeds, 'loadCheckpoint' | 'resetCheckpoint' | 'dispatch'>

const OFFSET_MAX = 2n ** 63n - 1n
const TOPIC_POLL_MS = 5_000
/**
 * Of one broker: kafkajs unpacks all of a fetch at once, while the one before is worked on. Of partitions taken at random,
 * so that each has its turn. A third of it is a tenth slower: too few batches are under way at a time.
 */
const FETCH_BYTES = 6 * 1024 * 1024
/** Of one partition: about as many events as make a whole batch. */
const PARTITION_FETCH_BYTES = 512 * 1024
/** kafkajs workers mostly wait for the previous batch of their partition: more than anyone has partitions here. */
const WORKER_COUNT = 100
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
  const slots = bulkhead(options.partitionCountMax, Number.POSITIVE_INFINITY)
  const underWay = new Set<Promise<void>>()
  let assignment: Readonly<Record<string, readonly number[]>> | null = null
  /** Of the last membership. */
  let behind: ReturnType<typeof createPartitionConsumer>['behind'] = () => ({})
  let failureCount = 0
  let finished: Promise<void> = Promise.resolve()

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const ending = await withAdmin(kafka, stopping.signal, (admin) => consumeOnce(admin))
        if (ending.kind === 'crash') {
          if (isUnreadable(ending.error)) throw new UnreadableError(ending.error)
          if (!ending.retriable) throw new FatalError(ending.error)
          throw ending.error
        }
        failureCount = 0
      } catch (error) {
        if (error instanceof FatalError) throw error.cause
        if (stopping.signal.aborted) return
        const durationMs = backOffMs(failureCount++)
        const undecodable = undecodableIn(error)
        if (undecodable !== null) sayUndecodable(undecodable, durationMs)
        else if (error instanceof UnreadableError) sayUnreadable(error.cause, durationMs)
        else
          log.warn(
            { err: error, brokers: options.connection.brokers, retryInMs: durationMs },
            'waiting for the broker',
          )
        await pause(durationMs)
      }
    }
  }

  /** A stop waits for it. */
  async function track(work: Promise<void>): Promise<void> {
    underWay.add(work)
    await work.finally(() => underWay.delete(work))
  }

  /** kafkajs does not say which partition it fetched: the log lists those it may belong to. */
  function sayUndecodable(batch: UndecodableBatch, retryInMs: number): void {
    const { codec, offsets } = batch
    log.error(
      {
        err: batch,
        codec,
        firstOffset: offsets && String(offsets.first),
        lastOffset: offsets && String(offsets.last),
        checkpoints: offsets && behind(offsets.last),
        retryInMs,
      },
      'a record batch cannot be decompressed: consumption from its broker waits until it can be, or is deleted. ' +
        'Find its partition among those in "checkpoints" by reading firstOffset with another client; save what ' +
        'lies between the checkpoint and it; then delete the records of that partition up to lastOffset ' +
        '(kafka-delete-records) and have its events published again',
    )
  }

  /** kafkajs says neither which partition it fetched nor where it stopped: all are named. */
  function sayUnreadable(err: unknown, retryInMs: number): void {
    log.error(
      { err, checkpoints: behind(OFFSET_MAX), retryInMs },
      'the response of a broker cannot be read, probably because of a damaged record batch: until that is gone, nothing is ' +
        'consumed from that broker. Find the batch by reading each partition in "checkpoints" from there with another ' +
        'client; save what lies before it; then delete the records of that partition up to its end ' +
        '(kafka-delete-records) and have its events published again',
    )
  }

  /** One membership: joins with the topics that exist and stays until something ends it. */
  async function consumeOnce(admin: Admin): Promise<Ending> {
    const topics = await existing(admin)
    const missing = options.topics.filter((topic) => !topics.includes(topic))
    if (missing.length > 0)
      log.warn({ missing }, 'waiting for topics that do not exist yet; consuming the others')
    if (topics.length === 0) {
      await pause(TOPIC_POLL_MS)
      return { kind: 'topics' }
    }
    const over = new AbortController()
    const { consumer, crashed } = createMember()
    const reports = createOffsetReports((offsets) => consumer.commitOffsets(offsets), log)
    const partitions = createPartitionConsumer({
      ...needs,
      inTurn: (work) => slots.execute(work),
      offsetsOf: (topic, partition) => offsetsOf(admin, topic, partition),
      seek: (topic, partition, offset) => consumer.seek({ topic, partition, offset: String(offset) }),
      reportToKafka: reports.report,
      sleep: pause,
      track: (work) => void track(work),
      stopping: AbortSignal.any([stopping.signal, over.signal]),
      batchCountMax: options.batchCountMax,
      log,
    })
    behind = partitions.behind
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      assignment = payload.memberAssignment
      // Other members may own these partitions now.
      reports.clear()
      void partitions.onJoin(payload.memberAssignment)
      log.info(
        { groupId: options.groupId, assignment: payload.memberAssignment },
        'joined the consumer group',
      )
    })
    // Of a fetch without messages kafkajs says only this, and goes on.
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      if (payload.batchSize === 0) void track(partitions.onFiltered(payload))
    })
    const joining = join(consumer, topics, async (payload) => {
      await track(partitions.eachBatch(payload))
      failureCount = 0
    })
    try {
      // The join is waited for even when a stop comes in: kafkajs would go on with it behind our back.
      await Promise.race([joining, stopped.then(() => settled(joining, JOIN_WAIT_MS))])
      return await Promise.race([crashed, stopped, appeared(admin, missing, over.signal)])
    } finally {
      assignment = null
      over.abort()
      // Others are to go on where our last batches end, not beside them.
      await settled(Promise.allSettled(underWay), DISCONNECT_WAIT_MS)
      await settled(reports.flush(), REPORT_WAIT_MS)
      // kafkajs has logged what it could not do; how the membership ended must not be lost over it.
      await settled(consumer.disconnect(), DISCONNECT_WAIT_MS)
    }
  }

  async function join(
    consumer: Consumer,
    topics: string[],
    eachBatch: ReturnType<typeof createPartitionConsumer>['eachBatch'],
  ): Promise<void> {
    await consumer.connect()
    // Without `fromBeginning`, an offset that is out of range would reset to the latest: silent loss.
    await consumer.subscribe({ topics, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: WORKER_COUNT,
      eachBatch,
    })
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
    /** The partitions of the present membership in the group, by topic; null while there is none. */
    assignment: () => assignment,
    run: () => {
      const running = run()
      finished = running.catch(() => {})
      return running
    },
    stop: async (): Promise<void> => {
      stopping.abort()
      await Promise.allSettled(underWay)
      await settled(finished, LEAVE_WAIT_MS)
    },
  }
}

/** A new member starts from scratch, as a new process would, and the rest of this one goes on. */
class UnreadableError extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
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

async function offsetsOf(
  admin: Admin,
  topic: string,
  partition: number,
): Promise<{ earliest: bigint; end: bigint }> {
  const offsets = await admin.fetchTopicOffsets(topic)
  const found = offsets.find((candidate) => candidate.partition === partition)
  if (found === undefined) throw new Error(`the broker has no partition ${partition} of topic ${topic}`)
  return { earliest: BigInt(found.low), end: BigInt(found.high) }
}
