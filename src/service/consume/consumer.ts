import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { Blocked } from '../model/block-reasons.ts'
import { withTimeout } from '../time/with-timeout.ts'
import { AssignedPartitions } from './assigned-partitions.ts'
import { readPartitionEnds } from './brokers.ts'
import type { Build } from './builds.ts'
import { Cluster } from './cluster.ts'
import { Coordinator } from './coordinator.ts'
import { Fetcher } from './fetcher.ts'
import { type CommittedOffset, createOffsetCommits, readCommitted } from './group-offsets.ts'
import { createBudget } from './inbox.ts'
import type { KafkaConnection } from './kafka-client.ts'
import { Membership } from './membership.ts'
import { ForeignDatabases } from './offset-faults.ts'
import type { ConsumerNeeds } from './partition.ts'
import { SubscribedTopics, TOPICS_POLL_MS } from './subscribed-topics.ts'

export interface ConsumerOptions extends Omit<Config['broker'], 'connection' | 'partitionsAtOnce'> {
  readonly connection: KafkaConnection
  readonly batchCountMax: number
  readonly build: Build
}

/** Queued bytes of all partitions at which only those with an empty inbox are fetched, see `createBudget`. */
const INBOXES_BYTES_MAX = 8 * 1024 * 1024
/** Maximum time until a quiet partition notices that the database has lost its last commits, or a replica that another database uses its consumer group. */
const CHECKPOINTS_POLL_MS = 10_000
/** Maximum times that `stop` waits after the last batch: for a join, which the slowest member may hold up, and to leave the group. */
const JOIN_WAIT_MS = 2_000
const LEAVE_WAIT_MS = 1_000
const CLOCKS = { wallMs: Date.now, monotonicMs: () => performance.now() }

/** Consumes the topics as a member of the group until stopped. Wires the parts of this folder together. */
export class Consumer {
  readonly #groupId: string
  readonly #cluster: Cluster
  readonly #topics: SubscribedTopics
  readonly #coordinator: Coordinator
  readonly membership: Membership
  readonly #commits: ReturnType<typeof createOffsetCommits>
  readonly #fetcher: Fetcher
  readonly partitions: AssignedPartitions
  /** Databases of other deployments that use this consumer group. */
  readonly foreign: ForeignDatabases
  readonly #stopping = new AbortController()
  #ended: Promise<void> = Promise.resolve()

  constructor(options: ConsumerOptions, needs: ConsumerNeeds, log: Logger) {
    const { connection, groupId, sessionTimeoutMs, build, batchCountMax } = options
    const { database } = needs
    const cluster = new Cluster(connection, groupId, log)
    const topics = new SubscribedTopics(options.topics, cluster)
    const coordinator = new Coordinator({ cluster, groupId, database, build, sessionTimeoutMs, log })
    const commits = createOffsetCommits((offsets) =>
      coordinator
        .commit(offsets)
        .catch((error) => log.debug({ err: error }, 'could not commit the offsets to Kafka')),
    )
    const fetcher = new Fetcher({ cluster, sleep: pause, ...CLOCKS, log })
    const { fetchable } = fetcher
    const partitions = new AssignedPartitions(
      {
        ...needs,
        readEnds: (partition) => readPartitionEnds(cluster, partition),
        unservedReason: (partition) => cluster.unservedReason(partition) ?? fetcher.silence(partition),
        fetchable,
        budget: createBudget(INBOXES_BYTES_MAX, fetchable),
        commitToKafka: commits.add,
        batchCountMax,
        ...CLOCKS,
        sleep: pause,
        log,
      },
      fetcher,
    )
    this.foreign = new ForeignDatabases(database, groupId, log)
    this.membership = new Membership(
      {
        groupId,
        brokers: connection.brokers,
        coordinator,
        topics,
        partitions,
        readCommitted: () => this.#readCommitted(),
        sleep: pause,
        log,
      },
      this.#stopping.signal,
    )
    this.#groupId = groupId
    this.#cluster = cluster
    this.#topics = topics
    this.#coordinator = coordinator
    this.#commits = commits
    this.#fetcher = fetcher
    this.partitions = partitions
  }

  run(): Promise<void> {
    const { signal } = this.#stopping
    void this.#fetcher.run()
    void every(TOPICS_POLL_MS, signal, async () => {
      await this.#cluster.refresh()
      await this.#topics.find()
      this.#fetcher.fetchable.notify()
    })
    void every(CHECKPOINTS_POLL_MS, signal, () => this.partitions.rewindLost(this.#topics.names))
    void every(CHECKPOINTS_POLL_MS, signal, async () => {
      await this.#readCommitted()
    })
    this.#ended = this.membership.run()
    return this.#ended
  }

  /** Reads the group's committed offsets, which also name other databases. */
  async #readCommitted(): Promise<readonly CommittedOffset[]> {
    const committed = await readCommitted(this.#cluster, this.#groupId, this.#topics.existing)
    this.foreign.note(committed)
    return committed
  }

  /** Lets the running batches finish, however long they take, then leaves the group, and waits for that 4 s at most. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.partitions.end()
    this.#fetcher.stop()
    await this.partitions.finished()
    await settled(this.#ended, JOIN_WAIT_MS)
    // The next member starts where our last batches end.
    await settled(
      this.#commits.flush().then(() => this.#coordinator.leave()),
      LEAVE_WAIT_MS,
    )
    this.#cluster.close()
    await settled(this.#ended, LEAVE_WAIT_MS)
  }

  get blocked(): readonly Blocked[] {
    return [...this.#topics.missing, ...this.partitions.blocked()]
  }
}

/** Repeats `act` until aborted. Ignores failures: whatever needs its result meets them. */
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
