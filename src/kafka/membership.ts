import { setTimeout as sleep } from 'node:timers/promises'
import type { Consumer, EachBatchPayload, Kafka, KafkaJSProtocolError, TopicPartitionOffset } from 'kafkajs'
import type { Assignment } from '../core/batch/assignment.ts'
import { ILLEGAL_SASL_STATE } from './bearer-log-in.ts'
import type { FetchControls } from './inbox.ts'
import { type Consumption, PartitionConsumer } from './partition.ts'
import { fetchedBytesOf } from './patches/fetch-response.ts'

/** The limit of one fetch from one broker. kafkajs shuffles the partitions, so that each has its turn. */
const FETCH_BYTES = 4 * 1024 * 1024
/** The limit of one partition in it: about as many events as make a whole batch. */
const PARTITION_FETCH_BYTES = 512 * 1024
/** New partitions and new leaders are found when kafkajs refreshes its metadata. */
const METADATA_AGE_MAX_MS = 10_000
/** How long a quiet partition may not know that the database has lost its last commits. */
const CHECKPOINTS_POLL_MS = 10_000
/** Each commit to Kafka costs the broker as much as a hundred events; tools that show the lag look less often. */
const COMMIT_INTERVAL_MS = 1_000
/** How long a stop waits for a join under way, so that it can leave the group again. */
const JOIN_WAIT_MS = 2_000
/** How long the end of a membership waits for its last commit to Kafka. */
const COMMIT_WAIT_MS = 1_000
/** How long a membership may take to disconnect before the next one begins; the fence parts them. */
const DISCONNECT_WAIT_MS = 20_000

/** kafkajs declares these final, although the broker only went away or did not answer in time. */
const PASSING_ERRORS = ['KafkaJSGroupCoordinatorNotFound', 'KafkaJSTimeout', 'KafkaJSLockTimeout']

/** Why a membership in the group ended. `retriable`: a new member may succeed. */
export type Ending =
  | { readonly kind: 'stop' }
  | { readonly kind: 'topics' }
  | { readonly kind: 'crash'; readonly error: unknown; readonly retriable: boolean }

export interface MembershipOptions {
  readonly groupId: string
  readonly sessionTimeoutMs: number
  /** All of them exist. */
  readonly topics: string[]
}

export interface MembershipEvents {
  readonly onBatch: () => void
  /** Resolves when a topic that was missing exists; stops asking once the signal aborts. */
  readonly appeared: (signal: AbortSignal) => Promise<Ending>
}

/**
 * One membership in the group. `run` joins it, and resolves when something has ended it and the group is left.
 *
 * @param stopping aborts when the consumer is to stop
 */
export function createMembership(
  kafka: Kafka,
  { topics, ...options }: MembershipOptions,
  stopping: AbortSignal,
  consumption: Consumption,
  { onBatch, appeared }: MembershipEvents,
) {
  const { log } = consumption
  const over = new AbortController()
  const { consumer, crashed } = createMember(kafka, options)
  const commits = createOffsetCommits((offsets) =>
    consumer
      .commitOffsets(offsets)
      .catch((error) => log.debug({ err: error, offsets }, 'could not commit the offsets to Kafka')),
  )
  const owned = new AssignedPartitions(
    consumption,
    (topic, partition) => controlsOf(consumer, topic, partition),
    commits.add,
  )
  let assignment: Assignment | null = null

  stopping.addEventListener('abort', () => owned.end(), { signal: over.signal })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload: { memberAssignment, isLeader } }) => {
    if (over.signal.aborted || stopping.aborted) return
    assignment = { partitions: memberAssignment, isLeader }
    // Other members may own the partitions of these commits now.
    commits.clear()
    owned.onJoin(memberAssignment)
    log.info({ groupId: options.groupId, assignment: memberAssignment }, 'joined the consumer group')
  })

  async function run(): Promise<Ending> {
    const stopped = aborted(stopping).then((): Ending => ({ kind: 'stop' }))
    void watchCheckpoints()
    const joining = join(consumer, topics, async (payload) => {
      onBatch()
      await owned.eachBatch(payload)
    })
    try {
      // The join is waited for even when a stop comes in: kafkajs would go on with it unnoticed.
      await Promise.race([joining, stopped.then(() => settled(joining, JOIN_WAIT_MS))])
      return await Promise.race([crashed, stopped, appeared(over.signal)])
    } finally {
      await leave()
    }
  }

  /** While the database is away, nothing is compared: batches and HTTP report that. */
  async function watchCheckpoints(): Promise<void> {
    while (!over.signal.aborted) {
      await consumption.sleep(CHECKPOINTS_POLL_MS, over.signal)
      if (!over.signal.aborted) await owned.compareCheckpoints(topics).catch(() => {})
    }
  }

  async function leave(): Promise<void> {
    assignment = null
    over.abort()
    owned.end()
    // The next member must go on where our last batches end, not beside them.
    const finished = [...consumption.latest.values()].map((partition) => partition.finished)
    await settled(Promise.all(finished), DISCONNECT_WAIT_MS)
    await settled(commits.flush(), COMMIT_WAIT_MS)
    // kafkajs has logged its failure; the ending of the membership must not be lost over it.
    await settled(consumer.disconnect(), DISCONNECT_WAIT_MS)
  }

  return {
    run,
    /** Null before it has joined, and once it is over. */
    assignment: () => assignment,
    oldestMs: (topic: string, partition: number) => owned.oldestMs(topic, partition),
  }
}

/** The partitions that one membership owns, each consumed by itself. */
export class AssignedPartitions {
  readonly #consumption: Consumption
  readonly #controlsOf: (topic: string, partition: number) => FetchControls
  readonly #commitToKafka: (offset: TopicPartitionOffset) => void
  #consumers = new Map<string, PartitionConsumer>()

  constructor(
    consumption: Consumption,
    controlsOf: (topic: string, partition: number) => FetchControls,
    commitToKafka: (offset: TopicPartitionOffset) => void,
  ) {
    this.#consumption = consumption
    this.#controlsOf = controlsOf
    this.#commitToKafka = commitToKafka
  }

  /** Gives up all of them. */
  end(): void {
    for (const consumer of this.#consumers.values()) consumer.end()
    this.#consumers = new Map()
  }

  /** The group was joined: other members may have moved the checkpoints meanwhile. */
  onJoin(partitions: Assignment['partitions']): void {
    this.end()
    for (const [topic, numbers] of Object.entries(partitions))
      for (const partition of numbers) this.#start(topic, partition)
  }

  /** A quiet partition would not notice that the database has lost its last commits: it has nothing to commit. */
  async compareCheckpoints(topics: readonly string[]): Promise<void> {
    // Read before the database is asked, so that a commit meanwhile does not count.
    const committed = new Map([...this.#consumers].map(([key, consumer]) => [key, consumer.committed]))
    const found = await this.#consumption.listCheckpoints(topics)
    const checkpoints = new Map(
      found.map(({ topic, partition, offset }) => [`${topic}/${partition}`, offset]),
    )
    for (const [key, consumer] of this.#consumers) {
      const checkpoint = checkpoints.get(key) ?? -1n
      if (checkpoint < (committed.get(key) ?? -1n) && checkpoint < consumer.committed)
        consumer.rewind(checkpoint)
    }
  }

  /** kafkajs's `eachBatch`: queues the fetch without waiting for its processing. Never rejects. */
  async eachBatch({ batch, resolveOffset }: EachBatchPayload): Promise<void> {
    const { topic, partition } = batch
    const fetched = fetchedBytesOf(batch)
    // kafkajs also delivers fetches that it requested before the group was joined again.
    const consumer = this.#consumers.get(`${topic}/${partition}`)
    if (fetched === null || consumer === undefined) return
    const { fetchedOffset } = batch as typeof batch & { fetchedOffset: string | { toString(): string } }
    const resolve = (offset: bigint) => resolveOffset(String(offset))
    try {
      consumer.offer({ ...fetched, from: BigInt(String(fetchedOffset)), resolve })
    } catch (error) {
      // During a join kafkajs may not know the partition any more; it begins anew after that.
      this.#consumption.log.warn({ err: error, topic, partition }, 'a fetch could not be queued')
    }
  }

  oldestMs(topic: string, partition: number): number | null {
    return this.#consumers.get(`${topic}/${partition}`)?.oldestMs() ?? null
  }

  #start(topic: string, partition: number): void {
    const { latest } = this.#consumption
    const controls = this.#controlsOf(topic, partition)
    // Paused until its checkpoint is known; kafkajs keeps partitions paused over a join, too.
    controls.pause()
    const key = `${topic}/${partition}`
    const consumer = new PartitionConsumer(
      { topic, partition },
      this.#consumption,
      controls,
      (next) => this.#commitToKafka({ topic, partition, offset: String(next) }),
      latest.get(key) ?? null,
    )
    this.#consumers.set(key, consumer)
    latest.set(key, consumer)
    void consumer.run()
  }
}

/**
 * Commits offsets to Kafka for tools that show the lag of the group: best effort, since the database decides. All
 * partitions that moved within a second share one request.
 */
export function createOffsetCommits(commit: (offsets: TopicPartitionOffset[]) => Promise<void>) {
  const waiting = new Map<string, TopicPartitionOffset>()
  let timer: NodeJS.Timeout | undefined
  let committed = Promise.resolve()

  /** Resolves once all added offsets are committed, or their commit has failed. */
  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const offsets = [...waiting.values()]
    waiting.clear()
    if (offsets.length > 0) committed = committed.then(() => commit(offsets))
    return committed
  }

  return {
    flush,
    /** Drops offsets that are not committed yet. */
    clear: () => waiting.clear(),
    /** @param offset at which the group goes on */
    add(offset: TopicPartitionOffset): void {
      waiting.set(`${offset.topic}/${offset.partition}`, offset)
      timer ??= setTimeout(flush, COMMIT_INTERVAL_MS).unref()
    },
  }
}

/** A consumer of kafkajs that has not joined yet; `crashed` resolves when it cannot go on by itself. */
function createMember(kafka: Kafka, { groupId, sessionTimeoutMs }: Omit<MembershipOptions, 'topics'>) {
  let retriable = false
  const consumer = kafka.consumer({
    groupId,
    sessionTimeout: sessionTimeoutMs,
    heartbeatInterval: Math.floor(sessionTimeoutMs / 10),
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
    consumer.on(consumer.events.CRASH, ({ payload: { error } }) =>
      resolve({ kind: 'crash', error, retriable: retriable || isPassing(error) }),
    )
  })
  return { consumer, crashed }
}

/** Whether an error or one of its causes passes by itself, although kafkajs declares it final. */
export function isPassing(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (PASSING_ERRORS.includes(cause.name) || (cause as KafkaJSProtocolError).type === ILLEGAL_SASL_STATE)
      return true
  return false
}

/** Resolves when the member consumes. */
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

/** kafkajs throws while it is in no group; the next join then sets the position again. */
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

/** Waits until the promise is settled, but not longer than `timeoutMs`; never rejects. */
export async function settled(promise: Promise<unknown>, timeoutMs: number): Promise<void> {
  await Promise.race([promise.catch(() => {}), sleep(timeoutMs, undefined, { ref: false })])
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
