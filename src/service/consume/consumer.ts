import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { Assignment } from '../decide/event/position.ts'
import type { Blocked } from '../model/block-reasons.ts'
import { errorMessage } from '../text/faults.ts'
import { backOffMs } from '../time/back-off.ts'
import { withTimeout } from '../time/with-timeout.ts'
import { AssignedPartitions } from './assigned-partitions.ts'
import { readPartitionEnds } from './brokers.ts'
import type { Build } from './builds.ts'
import { Cluster } from './cluster.ts'
import { describeRemedy, unreachableBroker } from './describe-outage.ts'
import { Fetcher } from './fetcher.ts'
import { type CommittedOffset, createOffsetCommits, readCommitted } from './group-offsets.ts'
import { createBudget } from './inbox.ts'
import type { KafkaConnection } from './kafka-client.ts'
import { Membership } from './membership.ts'
import { ForeignDatabases } from './offset-faults.ts'
import type { ConsumerNeeds } from './partition.ts'

export interface ConsumerOptions extends Omit<Config['broker'], 'connection' | 'partitionsAtOnce'> {
  readonly connection: KafkaConnection
  readonly batchCountMax: number
  readonly build: Build
}

/** Queued bytes of all partitions at which only those with an empty inbox are fetched, see `createBudget`. */
const INBOXES_BYTES_MAX = 8 * 1024 * 1024
/** Maximum time until a new topic or partition, or a new leader of a quiet partition, is noticed. */
const TOPICS_POLL_MS = 5_000
/** Maximum time until a quiet partition notices that the database has lost its last commits, or a replica that another database uses its consumer group. */
const CHECKPOINTS_POLL_MS = 10_000
/** Maximum time that an assignment waits for the group's offsets. The coordinator has just answered. */
const COMMITTED_WAIT_MS = 2_000
/** Maximum times that `stop` waits after the last batch: for a join, which the slowest member may hold up, and to leave the group. */
const JOIN_WAIT_MS = 2_000
const LEAVE_WAIT_MS = 1_000
const JOINING = 'joining the consumer group'
const CLOCKS = { wallMs: Date.now, monotonicMs: () => performance.now() }

/** The topics that exist, with the numbers of their partitions, and those that are missing. */
interface Topics {
  readonly existing: readonly string[]
  readonly partitionCounts: string
  readonly missing: readonly Blocked[]
}

/**
 * Consumes the topics as a member of the group until stopped. Waits with backoff for a broker that is down, for missing topics
 * (the others continue) and after a lost connection.
 */
export class Consumer {
  readonly #options: ConsumerOptions
  readonly #log: Logger
  readonly #cluster: Cluster
  readonly #joins: Cluster
  readonly #membership: Membership
  readonly #commits: ReturnType<typeof createOffsetCommits>
  readonly #fetcher: Fetcher
  readonly #partitions: AssignedPartitions
  /** Databases of other deployments that use this consumer group. */
  readonly foreign: ForeignDatabases
  readonly #stopping = new AbortController()
  #topics: Topics = { existing: [], partitionCounts: '', missing: [] }
  #assignment: Assignment | null = null
  #hasJoined = false
  /** Failures since the last join. */
  #failureCount = 0
  #waitsFor = JOINING
  #ended: Promise<void> = Promise.resolve()

  constructor(options: ConsumerOptions, needs: ConsumerNeeds, log: Logger) {
    const { connection, groupId, sessionTimeoutMs, build, batchCountMax } = options
    const { database } = needs
    const cluster = new Cluster(connection, groupId, log)
    const joins = new Cluster(connection, groupId, log)
    const membership = new Membership({ cluster, joins, groupId, database, build, sessionTimeoutMs, log })
    const fetcher = new Fetcher({ cluster, sleep: pause, ...CLOCKS, log })
    const { fetchable } = fetcher
    this.#options = options
    this.#log = log
    this.#cluster = cluster
    this.#joins = joins
    this.#membership = membership
    this.#fetcher = fetcher
    this.foreign = new ForeignDatabases(database, groupId, log)
    this.#commits = createOffsetCommits((offsets) =>
      membership
        .commit(offsets)
        .catch((error) => log.debug({ err: error }, 'could not commit the offsets to Kafka')),
    )
    this.#partitions = new AssignedPartitions({
      ...needs,
      readEnds: (partition) => readPartitionEnds(cluster, partition),
      unservedReason: (partition) => cluster.unservedReason(partition) ?? fetcher.silence(partition),
      fetchable,
      budget: createBudget(INBOXES_BYTES_MAX, fetchable),
      commitToKafka: this.#commits.add,
      batchCountMax,
      ...CLOCKS,
      sleep: pause,
      log,
    })
  }

  run(): Promise<void> {
    this.#ended = this.#run()
    return this.#ended
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    void this.#fetcher.run()
    void every(TOPICS_POLL_MS, signal, async () => {
      await this.#cluster.refresh()
      await this.#findTopics()
      this.#fetcher.fetchable.notify()
    })
    void every(CHECKPOINTS_POLL_MS, signal, () => this.#partitions.rewindLost(this.#options.topics))
    void every(CHECKPOINTS_POLL_MS, signal, async () => {
      await this.#readCommitted(this.#topics.existing)
    })
    while (!signal.aborted) {
      try {
        await this.#joinAndStay()
      } catch (error) {
        if (signal.aborted) return
        if (this.#membership.isExpired) this.#endPartitions()
        const retryInMs = backOffMs(this.#failureCount++)
        this.#report(error, retryInMs)
        await pause(retryInMs, signal)
      }
    }
  }

  /** Joins the group, and stays until its members must join again, or this one has left or lost it. */
  async #joinAndStay(): Promise<void> {
    const { signal } = this.#stopping
    const { groupId } = this.#options
    await this.#findTopics()
    const { existing, partitionCounts, missing } = this.#topics
    const missingNames = missing.map(({ topic }) => topic)
    if (missing.length > 0)
      this.#log.warn(
        { missing: missingNames },
        'waiting for topics that do not exist yet, or that this user may not see; consuming the others',
      )
    if (existing.length === 0) {
      this.#endPartitions()
      this.#waitsFor = `none of the topics exists: create ${missingNames.join(', ')}, or grant READ and DESCRIBE on them`
      await pause(TOPICS_POLL_MS, signal)
      return
    }
    await this.#join(existing)
    while (!signal.aborted && this.#topics.partitionCounts === partitionCounts) {
      await pause(this.#membership.heartbeatMs, signal)
      if (signal.aborted) return
      const standing = await this.#membership.heartbeat()
      if (standing === 'rebalancing') this.#log.debug({ groupId }, 'the group rebalances: joining again')
      if (standing === 'unknown') this.#endPartitions()
      if (standing !== 'member') return
    }
  }

  async #join(topics: readonly string[]): Promise<void> {
    const { groupId } = this.#options
    // After a failure, its reason stays until the next join succeeds.
    if (this.#failureCount === 0) this.#waitsFor = JOINING
    this.#log.debug({ groupId, topics }, JOINING)
    const assignment = await this.#membership.join(topics)
    if (this.#stopping.signal.aborted) return
    this.#failureCount = 0
    this.#waitsFor = JOINING
    this.#hasJoined = true
    this.#assignment = assignment
    // Other members may own the partitions of these commits now.
    this.#commits.clear()
    this.#partitions.assign(assignment, await this.#readCommittedSoon(topics))
    if (this.#stopping.signal.aborted) return this.#endPartitions()
    this.#fetcher.setPartitions(this.#partitions.list())
    this.#log.info({ groupId, assignment }, 'joined the consumer group')
  }

  /** Others may own the partitions by now. */
  #endPartitions(): void {
    this.#assignment = null
    this.#partitions.end()
    this.#fetcher.setPartitions([])
  }

  /** While a member stays, other counts of partitions make it join again. */
  async #findTopics(): Promise<void> {
    const { topics } = this.#options
    this.#topics = describeTopics(topics, await this.#cluster.topics(topics), this.#topics.missing)
  }

  /** The offsets that the group has committed, which also name other databases. */
  async #readCommitted(topics: readonly string[]): Promise<readonly CommittedOffset[]> {
    const committed = await readCommitted(this.#cluster, this.#options.groupId, topics)
    this.foreign.note(committed)
    return committed
  }

  async #readCommittedSoon(topics: readonly string[]): Promise<readonly CommittedOffset[]> {
    return withTimeout(COMMITTED_WAIT_MS, this.#readCommitted(topics), () => {
      throw new Error(`no response within ${COMMITTED_WAIT_MS / 1_000} s`)
    }).catch((error) => {
      this.#log.warn(
        { groupId: this.#options.groupId, reason: errorMessage(error) },
        "the group's offsets cannot be compared with the checkpoints",
      )
      return []
    })
  }

  #report(error: unknown, retryInMs: number): void {
    const { groupId, connection } = this.#options
    const { brokers } = connection
    const remedy = describeRemedy(error, groupId, brokers)
    const reason = `the broker refuses or does not respond (${errorMessage(error)})${remedy}`
    // A broker that is down says nothing new every few seconds.
    const level = reason === this.#waitsFor ? 'debug' : 'warn'
    const fields = unreachableBroker(error) === null ? { err: error } : { reason: errorMessage(error) }
    this.#log[level]({ ...fields, brokers, retryInMs }, `waiting for the broker${remedy}`)
    this.#waitsFor = reason
  }

  /** Lets the running batches finish, however long they take, then leaves the group, and waits for that 3 s at most. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#assignment = null
    this.#partitions.end()
    this.#fetcher.stop()
    await this.#partitions.finished()
    await settled(this.#ended, JOIN_WAIT_MS)
    // The next member starts where our last batches end.
    await settled(
      this.#commits.flush().then(() => this.#membership.leave()),
      LEAVE_WAIT_MS,
    )
    this.#cluster.close()
    this.#joins.close()
    await this.#ended
  }

  /** The partitions that this member owns; null while it is in no group. */
  get assignment(): Assignment | null {
    return this.#assignment
  }

  /** True once this member has joined the group for the first time. */
  get hasJoined(): boolean {
    return this.#hasJoined
  }

  /** Null while this member is in the group and its broker answers; otherwise the reason for waiting. */
  get waitsFor(): string | null {
    if (this.#assignment === null) return this.#waitsFor
    return this.#membership.isSilent ? 'the broker accepts no request of this member' : null
  }

  get blocked(): readonly Blocked[] {
    return [...this.#topics.missing, ...this.#partitions.blocked()]
  }

  /** Time of the oldest fetched and unprocessed message, in ms since 1970, or null. */
  oldestMs(topic: string, partition: number): number | null {
    return this.#partitions.oldestMs(topic, partition)
  }
}

function describeTopics(
  topics: readonly string[],
  found: Awaited<ReturnType<Cluster['topics']>>,
  missingBefore: readonly Blocked[],
): Topics {
  const exists = (topic: string) => found.get(topic)?.error === null
  const existing = topics.filter(exists)
  return {
    existing,
    partitionCounts: existing.map((topic) => `${topic}/${found.get(topic)?.leaders.size}`).join(),
    missing: topics
      .filter((topic) => !exists(topic))
      .map((topic) => {
        const detail = found.get(topic)?.error ?? 'the brokers do not answer for it'
        const reason = detail === 'TOPIC_AUTHORIZATION_FAILED' ? 'no-rights' : 'missing'
        const sinceMs = missingBefore.find((before) => before.topic === topic)?.sinceMs ?? Date.now()
        return { topic, partition: 0, reason, offset: null, sinceMs, detail }
      }),
  }
}

/** Does `act` again and again until aborted. A failure is met again by whoever needs what it does. */
async function every(pauseMs: number, signal: AbortSignal, act: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await pause(pauseMs, signal)
    if (!signal.aborted) await act().catch(() => {})
  }
}

function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return sleep(durationMs, undefined, { signal }).catch(() => {})
}

/** Waits until the promise is settled, but at most `timeoutMs`; never rejects. */
async function settled(promise: Promise<unknown>, timeoutMs: number): Promise<void> {
  await withTimeout(
    timeoutMs,
    promise.catch(() => {}),
    () => {},
  )
}
