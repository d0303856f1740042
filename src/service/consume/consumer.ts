import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { type Assignment, partitionKey } from '../decide/event/position.ts'
import type { Blocked } from '../model/block-reasons.ts'
import { UNREACHABLE_CODES } from '../text/error-codes.ts'
import { errorMessage } from '../text/faults.ts'
import { backOffMs } from '../time/back-off.ts'
import { withTimeout } from '../time/with-timeout.ts'
import { AssignedPartitions } from './assigned-partitions.ts'
import { readEnds } from './brokers.ts'
import type { Build } from './builds.ts'
import { Cluster } from './cluster.ts'
import {
  type CommittedOffset,
  describeForeign,
  FOREIGN_REMEDY,
  type ForeignDatabase,
  listForeign,
  readCommitted,
} from './committed-offsets.ts'
import { READ_COMMITTED } from './fetch.ts'
import { Fetcher } from './fetcher.ts'
import { Group, isOtherProtocol, isOutdated, isRebalance, lacksGroupRight, otherProgram } from './group.ts'
import { createBudget } from './inbox.ts'
import type { KafkaConnection } from './kafka-client.ts'
import { createOffsetCommits } from './offset-commits.ts'
import type { ConsumerNeeds, PartitionNeeds } from './partition.ts'

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
const HEARTBEATS_PER_SESSION = 10
/** Time without an answer after which the group's broker counts as silent: also while a rebalance waits for a slow member. */
const SILENCE_MS = 9_000
/** Maximum times that `stop` waits after the last batch: for a join, which the slowest member may hold up, and to leave the group. */
const JOIN_WAIT_MS = 2_000
const LEAVE_WAIT_MS = 1_000
const JOINING = 'joining the consumer group'

/** The topics that exist, with the numbers of their partitions, and those that are missing. */
interface Topics {
  readonly existing: readonly string[]
  readonly partitionCounts: string
  readonly missing: readonly Blocked[]
}

/**
 * Consumes the topics as a member of the group until stopped. Waits with backoff for a broker that is down, for missing topics
 * (the others continue) and after a lost connection. `stop` lets the running batches finish, however long they take, then leaves
 * the group, and waits for that 3 s at most.
 */
export function createConsumer(options: ConsumerOptions, needs: ConsumerNeeds, log: Logger) {
  const { connection, groupId, topics, sessionTimeoutMs, build } = options
  const cluster = new Cluster(connection, groupId, log)
  const { database } = needs
  const group = new Group({ cluster, groupId, database, build, sessionTimeoutMs, log })
  const stopping = new AbortController()
  const { signal } = stopping
  const commits = createOffsetCommits((offsets) =>
    group
      .commit(offsets)
      .catch((error) => log.debug({ err: error }, 'could not commit the offsets to Kafka')),
  )
  const fetcher = new Fetcher({ cluster, sleep: pause, ...CLOCKS, log })
  const partitions = new AssignedPartitions(
    createPartitionNeeds(options, needs, cluster, fetcher, log),
    commits.add,
  )
  const heartbeatMs = Math.floor(sessionTimeoutMs / HEARTBEATS_PER_SESSION)
  let found: Topics = { existing: [], partitionCounts: '', missing: [] }
  let assignment: Assignment | null = null
  let hasJoined = false
  let foreign: readonly ForeignDatabase[] = []
  let failureCount = 0
  let waitsFor = JOINING
  let ended: Promise<void> = Promise.resolve()

  /** Also called by a timer while a member stays: other counts of partitions make it join again. */
  async function findTopics(): Promise<void> {
    found = describeTopics(topics, await cluster.topics(topics), found.missing)
  }

  /** Joins the group, and stays until its members must join again, or this one has left or lost it. */
  async function joinAndStay(): Promise<void> {
    await findTopics()
    const { existing, partitionCounts } = found
    const missing = found.missing.map(({ topic }) => topic)
    if (missing.length > 0)
      log.warn(
        { missing },
        'waiting for topics that do not exist yet, or that this user may not see; consuming the others',
      )
    if (existing.length === 0) {
      endPartitions()
      waitsFor = `none of the topics exists: create ${missing.join(', ')}, or grant READ and DESCRIBE on them`
      await pause(TOPICS_POLL_MS, signal)
      return
    }
    // After a failure, its reason stays until the next join succeeds.
    if (failureCount === 0) waitsFor = JOINING
    log.debug({ groupId, topics: existing }, JOINING)
    const joined = await group.join(existing)
    if (signal.aborted) return
    failureCount = 0
    hasJoined = true
    assignment = joined
    // Other members may own the partitions of these commits now.
    commits.clear()
    partitions.assign(joined, await checkCommittedSoon(existing))
    if (signal.aborted) return endPartitions()
    fetcher.setPartitions(partitions.list())
    log.info({ groupId, assignment }, 'joined the consumer group')
    while (!signal.aborted && found.partitionCounts === partitionCounts) {
      await pause(heartbeatMs, signal)
      if (signal.aborted || !(await isMember())) return
    }
  }

  /** The offsets that the group has committed. Notes other databases, and logs each when it appears. */
  async function checkCommitted(existing: readonly string[]): Promise<readonly CommittedOffset[]> {
    const committed = await readCommitted(cluster, groupId, existing)
    const before = foreign
    foreign = listForeign(committed, database.id)
    for (const one of foreign)
      if (!before.some(({ id }) => id === one.id))
        log.error({ groupId, remedy: FOREIGN_REMEDY }, describeForeign(one, database, groupId))
    if (before.length > 0 && foreign.length === 0)
      log.info({ groupId }, 'no other database commits offsets of the consumer group any more')
    return committed
  }

  async function checkCommittedSoon(existing: readonly string[]): Promise<readonly CommittedOffset[]> {
    return withTimeout(COMMITTED_WAIT_MS, checkCommitted(existing), () => {
      throw new Error(`no response within ${COMMITTED_WAIT_MS / 1_000} s`)
    }).catch((error) => {
      log.warn(
        { groupId, reason: errorMessage(error) },
        "the group's offsets cannot be compared with the checkpoints",
      )
      return []
    })
  }

  /** Sends a heartbeat. False if the members must join again. Rejects once the group has not heard of this member for too long. */
  async function isMember(): Promise<boolean> {
    try {
      await group.heartbeat()
      return true
    } catch (error) {
      // Until all have joined again, each member goes on with what it owns.
      if (isRebalance(error)) {
        log.debug({ groupId }, 'the group rebalances: joining again')
        return false
      }
      if (isOutdated(error)) {
        endPartitions()
        return false
      }
      if (group.silentMs > sessionTimeoutMs) throw error
      log.debug({ err: error }, 'a heartbeat failed')
      return true
    }
  }

  /** Others may own the partitions by now. */
  function endPartitions(): void {
    assignment = null
    partitions.end()
    fetcher.setPartitions([])
  }

  async function run(): Promise<void> {
    void every(TOPICS_POLL_MS, signal, async () => {
      await cluster.refresh()
      await findTopics()
      fetcher.wake()
    })
    void every(CHECKPOINTS_POLL_MS, signal, () => partitions.rewindLost(topics))
    void every(CHECKPOINTS_POLL_MS, signal, async () => void (await checkCommitted(found.existing)))
    while (!signal.aborted) {
      try {
        await joinAndStay()
      } catch (error) {
        if (signal.aborted) return
        if (group.silentMs > sessionTimeoutMs) endPartitions()
        const retryInMs = backOffMs(failureCount++)
        report(error, retryInMs)
        await pause(retryInMs, signal)
      }
    }
  }

  function report(error: unknown, retryInMs: number): void {
    const remedy = describeRemedy(error, groupId, connection.brokers)
    const reason = `the broker refuses or does not respond (${errorMessage(error)})${remedy}`
    // A broker that is down says nothing new every few seconds.
    const level = reason === waitsFor ? 'debug' : 'warn'
    const fields = unreachableBroker(error) === null ? { err: error } : { reason: errorMessage(error) }
    log[level]({ ...fields, brokers: connection.brokers, retryInMs }, `waiting for the broker${remedy}`)
    waitsFor = reason
  }

  return {
    /** The partitions that this member owns; null while it is in no group. */
    assignment: () => assignment,
    /** True once this member has joined the group for the first time. */
    hasJoined: () => hasJoined,
    /** Null while this member is in the group and its broker answers; otherwise the reason for waiting. */
    waitsFor: () => {
      if (assignment === null) return waitsFor
      return group.silentMs > Math.max(SILENCE_MS, 3 * heartbeatMs)
        ? 'the broker accepts no request of this member'
        : null
    },
    /** Databases of other deployments that use this consumer group. */
    foreign: () => foreign,
    /** A sentence about each of them, with the remedy; null if there is none. */
    foreignReason: () =>
      foreign.length === 0
        ? null
        : [...foreign.map((one) => describeForeign(one, database, groupId)), FOREIGN_REMEDY].join('; '),
    blocked: (): readonly Blocked[] => [...found.missing, ...partitions.blocked()],
    /** Time of the oldest fetched and unprocessed message, in ms since 1970, or null. */
    oldestMs: (topic: string, partition: number) => partitions.oldestMs(topic, partition),
    run: () => (ended = run()),
    stop: async (): Promise<void> => {
      stopping.abort()
      assignment = null
      partitions.end()
      fetcher.stop()
      await partitions.finished()
      await settled(ended, JOIN_WAIT_MS)
      // The next member starts where our last batches end.
      await settled(
        commits.flush().then(() => group.leave()),
        LEAVE_WAIT_MS,
      )
      cluster.close()
      await ended
    },
  }
}

const CLOCKS = { wallMs: Date.now, monotonicMs: () => performance.now() }

function createPartitionNeeds(
  { batchCountMax }: ConsumerOptions,
  needs: ConsumerNeeds,
  cluster: Cluster,
  fetcher: Fetcher,
  log: Logger,
): PartitionNeeds {
  const onWanted = () => fetcher.wake()
  return {
    ...needs,
    readEnds: async (topicPartition) => {
      const ends = await readEnds(cluster, [topicPartition.topic], READ_COMMITTED)
      const found = ends.get(partitionKey(topicPartition))
      if (found === undefined) throw new Error(`no broker leads ${partitionKey(topicPartition)}`)
      return found
    },
    unservedReason: (partition) => cluster.unservedReason(partition) ?? fetcher.silence(partition),
    onWanted,
    budget: createBudget(INBOXES_BYTES_MAX, onWanted),
    batchCountMax,
    ...CLOCKS,
    sleep: pause,
    log,
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

function describeRemedy(error: unknown, groupId: string, known: readonly string[]): string {
  if (isOtherProtocol(error)) return `: ${otherProgram(groupId)}`
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

/** The address, `host:port`, of the broker to which no connection could be made; null for any other error. */
function unreachableBroker(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!(cause instanceof kafkajs.KafkaJSConnectionError)) continue
    const { code, broker } = cause as { readonly code?: string; readonly broker?: string }
    // kafkajs gives a timeout no code.
    if (broker !== undefined && (code === undefined || UNREACHABLE_CODES.includes(code))) return broker
  }
  return null
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
