import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, {
  type Consumer,
  type EachBatchPayload,
  type Kafka,
  type KafkaJSProtocolError,
  type TopicPartitionOffset,
} from 'kafkajs'
import { type Assignment, partitionKey } from '../core/event/position.ts'
import { UNREACHABLE_CODES } from '../core/text/error-codes.ts'
import { createAssigner, ONE_GROUP_PER_LIST } from './assigner.ts'
import type { FetchControls } from './inbox.ts'
import { PartitionConsumer, type PartitionNeeds } from './partition.ts'
import { readFetchedBytes } from './patches/fetch-response.ts'
import type { Member } from './patches/membership.ts'

/** Limits one fetch from one broker. kafkajs shuffles the partitions, so that each has its turn. */
const FETCH_BYTES = 4 * 1024 * 1024
/** Limits one partition in a fetch: about the size of a full batch of events. */
const PARTITION_FETCH_BYTES = 512 * 1024
/** kafkajs finds new partitions and new leaders when it refreshes its metadata. */
const METADATA_AGE_MAX_MS = 10_000
/** Maximum time until a quiet partition notices that the database has lost its last commits. */
const CHECKPOINTS_POLL_MS = 10_000
/** Each commit to Kafka costs the broker as much as a hundred events; tools that show the lag poll less often. */
const COMMIT_INTERVAL_MS = 1_000
/** Maximum time that a stop waits for a running join, so that it can leave the group again. */
const JOIN_WAIT_MS = 2_000
const COMMIT_WAIT_MS = 1_000
/** Maximum time for a membership to disconnect before the next one begins; the checkpoint's lock keeps them apart. */
const DISCONNECT_WAIT_MS = 20_000

/** Time without an answered heartbeat after which the group's broker counts as silent. A rebalance may take as long. */
const SILENCE_MS = 9_000

const GROUP_AUTHORIZATION_FAILED = 'GROUP_AUTHORIZATION_FAILED'

interface MembershipOptions {
  readonly kafka: Kafka
  readonly groupId: string
  readonly sessionTimeoutMs: number
  /** All must exist. */
  readonly topics: string[]
  /** The same for all memberships of a consumer. */
  readonly member: Member
  /** Aborts when the consumer must stop. */
  readonly stopping: AbortSignal
  readonly partitionNeeds: PartitionNeeds
  readonly onJoin: () => void
  /** Called for each fetch. */
  readonly onBatch: () => void
  /** Resolves when a missing topic exists; stops asking once the signal aborts. */
  readonly appeared: (signal: AbortSignal) => Promise<void>
}

/**
 * One membership in the group. `run` joins it, and resolves when the membership has ended in order and the group is left. It
 * rejects with an error of kafkajs; a new membership follows.
 */
export function createMembership(options: MembershipOptions) {
  const { topics, stopping, partitionNeeds, appeared } = options
  const { log } = partitionNeeds
  const over = new AbortController()
  const { consumer, crashed } = createMember(options)
  const commits = createOffsetCommits((offsets) =>
    consumer
      .commitOffsets(offsets)
      .catch((error) => log.debug({ err: error, offsets }, 'could not commit the offsets to Kafka')),
  )
  const owned = assignedPartitions(
    partitionNeeds,
    (topic, partition) => createControls(consumer, topic, partition),
    commits.add,
  )
  let assignment: Assignment | null = null
  let answeredMs = Date.now()

  stopping.addEventListener('abort', owned.end, { signal: over.signal })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload: { memberAssignment } }) => {
    if (over.signal.aborted || stopping.aborted) return
    assignment = memberAssignment
    answeredMs = Date.now()
    options.onJoin()
    // Other members may own the partitions of these commits now.
    commits.clear()
    owned.onJoin(memberAssignment)
    log.info({ groupId: options.groupId, assignment: memberAssignment }, 'joined the consumer group')
  })

  consumer.on(consumer.events.RECEIVED_UNSUBSCRIBED_TOPICS, ({ payload: { topicsNotSubscribed } }) => {
    log.warn(
      { topics: topicsNotSubscribed },
      `the leader of the consumer group gave this member partitions of topics that it does not read: ${ONE_GROUP_PER_LIST}`,
    )
  })

  consumer.on(consumer.events.HEARTBEAT, () => {
    answeredMs = Date.now()
  })

  async function run(): Promise<void> {
    const stopped = onceAborted(stopping, over.signal)
    void watchCheckpoints(over.signal, partitionNeeds.sleep, () => owned.compareCheckpoints(topics))
    const joining = join(consumer, topics, async (payload) => {
      options.onBatch()
      await owned.eachBatch(payload)
    })
    try {
      // A stop waits for the join: kafkajs would continue it unnoticed.
      await Promise.race([joining, stopped.then(() => settled(joining, JOIN_WAIT_MS))])
      await Promise.race([crashed, stopped, appeared(over.signal)])
    } finally {
      await leave()
    }
  }

  async function leave(): Promise<void> {
    assignment = null
    over.abort()
    owned.end()
    // The next member starts where our last batches end.
    const finished = [...partitionNeeds.latest.values()].map((partition) => partition.finished)
    await settled(Promise.all(finished), DISCONNECT_WAIT_MS)
    await settled(commits.flush(), COMMIT_WAIT_MS)
    // kafkajs logs its own failure, which must not replace the ending of the membership.
    await settled(consumer.disconnect(), DISCONNECT_WAIT_MS)
  }

  return {
    run,
    /** Null before the member has joined, and after the membership has ended. */
    assignment: () => assignment,
    /** True if the group's broker recently answered no heartbeat. kafkajs waits for it as long as for any request. */
    isSilent: () =>
      Date.now() - answeredMs > Math.max(SILENCE_MS, 3 * heartbeatInterval(options.sessionTimeoutMs)),
    oldestMs: owned.oldestMs,
  }
}

/** Does nothing while the database is down, which batches and HTTP report. */
async function watchCheckpoints(
  signal: AbortSignal,
  pause: PartitionNeeds['sleep'],
  compare: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await pause(CHECKPOINTS_POLL_MS, signal)
    if (!signal.aborted) await compare().catch(() => {})
  }
}

export function assignedPartitions(
  partitionNeeds: PartitionNeeds,
  controlsFor: (topic: string, partition: number) => FetchControls,
  commitToKafka: (offset: TopicPartitionOffset) => void,
) {
  const consumers = new Map<string, PartitionConsumer>()

  function start(topic: string, partition: number): void {
    const controls = controlsFor(topic, partition)
    // Paused until its checkpoint is known. kafkajs keeps partitions paused over a join, too.
    controls.pause()
    const key = partitionKey({ topic, partition })
    const consumer = new PartitionConsumer(
      { topic, partition },
      partitionNeeds,
      controls,
      (next) => commitToKafka({ topic, partition, offset: String(next) }),
      partitionNeeds.latest.get(key) ?? null,
    )
    consumers.set(key, consumer)
    partitionNeeds.latest.set(key, consumer)
    void consumer.run()
  }

  function end(): void {
    for (const consumer of consumers.values()) consumer.end()
    consumers.clear()
  }

  /** Restarts all partitions, because other members may have moved their checkpoints. */
  function onJoin(partitions: Assignment): void {
    end()
    for (const [topic, numbers] of Object.entries(partitions))
      for (const partition of numbers) start(topic, partition)
  }

  /** The `eachBatch` of kafkajs: queues the fetch without waiting for its processing. Never rejects. */
  async function eachBatch({ batch, resolveOffset }: EachBatchPayload): Promise<void> {
    const fetched = readFetchedBytes(batch)
    // kafkajs also delivers fetches that it requested before it joined again.
    const consumer = consumers.get(partitionKey(batch))
    if (fetched === null || consumer === undefined) return
    const { fetchedOffset } = batch as typeof batch & { fetchedOffset: string | { toString(): string } }
    const from = BigInt(String(fetchedOffset))
    try {
      consumer.offer(fetched, from, (offset) => resolveOffset(String(offset)))
    } catch (error) {
      // During a join kafkajs may not know the partition, which restarts afterwards.
      const { topic, partition } = batch
      partitionNeeds.log.warn({ err: error, topic, partition }, 'a fetch could not be queued')
    }
  }

  function oldestMs(topic: string, partition: number): number | null {
    return consumers.get(partitionKey({ topic, partition }))?.oldestMs() ?? null
  }

  return {
    end,
    onJoin,
    compareCheckpoints: (topics: readonly string[]) => compareCheckpoints(consumers, partitionNeeds, topics),
    eachBatch,
    oldestMs,
  }
}

/** Rewinds partitions whose last commits the database has lost. A quiet one would not notice: it commits nothing. */
async function compareCheckpoints(
  consumers: ReadonlyMap<string, PartitionConsumer>,
  { listCheckpoints }: PartitionNeeds,
  topics: readonly string[],
): Promise<void> {
  // Read before the database is queried, so that a concurrent commit does not count.
  const committed = new Map([...consumers].map(([key, consumer]) => [key, consumer.committed]))
  const checkpoints = new Map(
    (await listCheckpoints(topics)).map((found) => [partitionKey(found), found.offset]),
  )
  for (const [key, consumer] of consumers) {
    const checkpoint = checkpoints.get(key) ?? -1n
    if (checkpoint < (committed.get(key) ?? -1n) && checkpoint < consumer.committed)
      consumer.rewind(checkpoint)
  }
}

/**
 * Commits offsets to Kafka for tools that show the group's lag. A failure does no harm, since the database decides. All
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
    clear: () => waiting.clear(),
    /** @param offset the group's next offset */
    add(offset: TopicPartitionOffset): void {
      waiting.set(partitionKey(offset), offset)
      timer ??= setTimeout(flush, COMMIT_INTERVAL_MS).unref()
    },
  }
}

function heartbeatInterval(sessionTimeoutMs: number): number {
  return Math.floor(sessionTimeoutMs / 10)
}

/** A kafkajs consumer that has not joined yet. `crashed` rejects when kafkajs gives it up, and never resolves. */
function createMember({ kafka, groupId, sessionTimeoutMs, member, partitionNeeds }: MembershipOptions) {
  const consumer = kafka.consumer({
    groupId,
    partitionAssigners: [createAssigner(member, partitionNeeds.log)],
    sessionTimeout: sessionTimeoutMs,
    heartbeatInterval: heartbeatInterval(sessionTimeoutMs),
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
      // kafkajs would restart from its own timer, which a stop cannot cancel: we start a new member instead.
      restartOnFailure: async () => false,
    },
  })
  const crashed = new Promise<never>((_, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload: { error } }) => reject(error))
  })
  // A crash during the join is thrown once the join is over.
  crashed.catch(() => {})
  return { consumer, crashed }
}

export function isWithoutCoordinator(error: unknown): boolean {
  return hasCause(error, ({ name }) => name === 'KafkaJSGroupCoordinatorNotFound')
}

export function lacksGroupRight(error: unknown): boolean {
  return hasCause(error, ({ type }) => type === GROUP_AUTHORIZATION_FAILED)
}

/** The address, `host:port`, of the broker to which no connection could be made; null for any other error. */
export function unreachableBroker(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!(cause instanceof kafkajs.KafkaJSConnectionError)) continue
    const { code, broker } = cause as { readonly code?: string; readonly broker?: string }
    // kafkajs gives a timeout no code.
    if (broker !== undefined && (code === undefined || UNREACHABLE_CODES.includes(code))) return broker
  }
  return null
}

function hasCause(error: unknown, isWanted: (cause: KafkaJSProtocolError) => boolean): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (isWanted(cause as KafkaJSProtocolError)) return true
  return false
}

async function join(
  consumer: Consumer,
  topics: string[],
  eachBatch: (payload: EachBatchPayload) => Promise<void>,
): Promise<void> {
  await consumer.connect()
  // Without `fromBeginning`, an offset out of range would reset to the latest: silent loss.
  await consumer.subscribe({ topics, fromBeginning: true })
  await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch })
}

/** kafkajs throws while it is in no group; the next join then sets the position again. */
function createControls(consumer: Consumer, topic: string, partition: number): FetchControls {
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

/** Waits until the promise is settled, but at most `timeoutMs`; never rejects. */
export async function settled(promise: Promise<unknown>, timeoutMs: number): Promise<void> {
  await Promise.race([promise.catch(() => {}), sleep(timeoutMs, undefined, { ref: false })])
}

/** Resolves when `signal` aborts. Stops listening when `over` does: `signal` lives longer, and would keep its listeners alive. */
export function onceAborted(signal: AbortSignal, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true, signal: over })
  })
}
