import { setTimeout as sleep } from 'node:timers/promises'
import type Broker from 'kafkajs/src/broker/index.js'
import apiKeys from 'kafkajs/src/protocol/requests/apiKeys.js'
import requests, { type JoinedGroup } from 'kafkajs/src/protocol/requests/index.js'
import type { Logger } from 'pino'
import { type Assignment, listPartitions, partitionKey } from '../decide/event/position.ts'
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignments,
  encodeSubscription,
  ONE_GROUP_PER_LIST,
  type Subscriber,
} from './assigner.ts'
import type { Build } from './builds.ts'
import type { Cluster } from './cluster.ts'
import { type DatabaseName, encodeOffsets, type NextOffset } from './group-offsets.ts'
import { errorType } from './kafka-client.ts'

/** Maximum time that the group waits for the slowest member to join. */
const REBALANCE_TIMEOUT_MS = 60_000
/** The coordinator answers a join once the slowest member has joined. */
const JOIN_MAX_MS = REBALANCE_TIMEOUT_MS + 5_000
/** It answers a sync once the leader, which may first have to find a broker that answers, has assigned the partitions. */
const SYNC_MAX_MS = 20_000
const JOIN_COUNT_MAX = 5
/** After this time without an answer, another broker may coordinate the group. */
const LATE_COORDINATOR_MS = 2_000

/** Heartbeats in a session timeout. */
const HEARTBEAT_COUNT = 10
/** Time without an answer after which the coordinator counts as silent: also while a rebalance waits for a slow member. */
const COORDINATOR_SILENT_MS = 9_000
const SILENT_HEARTBEAT_COUNT = 3

const REBALANCE = 'REBALANCE_IN_PROGRESS'
const UNKNOWN_MEMBER = 'UNKNOWN_MEMBER_ID'
/** Errors that tell a member about its group, and not about the coordinator. */
const GROUP_ERRORS = [REBALANCE, UNKNOWN_MEMBER, 'ILLEGAL_GENERATION']

/**
 * A member goes on. While the group rebalances, it keeps what it owns until all have joined again. Once it is unknown, or of an
 * earlier generation, others may own its partitions.
 */
export type Standing = 'member' | 'rebalancing' | 'unknown'

interface CoordinatorOptions {
  readonly cluster: Pick<Cluster, 'ask' | 'askApart' | 'findCoordinator' | 'topics' | 'refresh'>
  readonly groupId: string
  /** The database that has the checkpoints. */
  readonly database: DatabaseName
  readonly build: Build
  readonly sessionTimeoutMs: number
  readonly log: Logger
}

/**
 * What a member of the consumer group asks of its coordinator. A lost coordinator does not end the membership: the next request goes
 * to the one that follows, as the same member. Rejects with kafkajs's error, or ETIMEDOUT.
 */
export class Coordinator {
  readonly #options: CoordinatorOptions
  /** Empty before the coordinator gives one, after leaving, and once the coordinator does not know it any more. */
  #memberId = ''
  #generationId = -1
  /** The partitions of this generation, by `topic/partition`; none until they are known. */
  #owned: ReadonlySet<string> = new Set()
  /** The broker that coordinates the group; null while it is to be looked up. */
  #nodeId: number | null = null
  #answeredMs = performance.now()

  constructor(options: CoordinatorOptions) {
    this.#options = options
  }

  /** Time between two heartbeats. */
  get heartbeatMs(): number {
    return Math.floor(this.#options.sessionTimeoutMs / HEARTBEAT_COUNT)
  }

  /** True if the coordinator has not answered for several heartbeats. */
  get isSilent(): boolean {
    return this.#silentMs > Math.max(COORDINATOR_SILENT_MS, SILENT_HEARTBEAT_COUNT * this.heartbeatMs)
  }

  /** True if the coordinator has not answered for the session timeout, so that the group no longer keeps this member. */
  get isExpired(): boolean {
    return this.#silentMs > this.#options.sessionTimeoutMs
  }

  get #silentMs(): number {
    return performance.now() - this.#answeredMs
  }

  /** Joins, and returns the partitions that this member owns now. Waits for the slowest member, 60 s at most. */
  async join(topics: readonly string[]): Promise<Assignment> {
    for (let joinCount = 1; ; joinCount++) {
      try {
        const assignment = this.#keepSubscribed(await this.#joinOnce(topics), topics)
        this.#owned = new Set(listPartitions(assignment).map(partitionKey))
        return assignment
      } catch (error) {
        if (errorType(error) === UNKNOWN_MEMBER) this.#memberId = ''
        if (!isGroupError(error) || joinCount === JOIN_COUNT_MAX) throw error
      }
    }
  }

  /** Sends a heartbeat. A failure rejects only once the membership has expired. */
  async heartbeat(): Promise<Standing> {
    const request = this.#identity
    try {
      await this.#ask((broker) => broker.heartbeat(request))
    } catch (error) {
      if (errorType(error) === REBALANCE) return 'rebalancing'
      if (isGroupError(error)) return 'unknown'
      if (this.isExpired) throw error
      this.#options.log.debug({ err: error }, 'a heartbeat failed')
    }
    return 'member'
  }

  /**
   * Tells Kafka what is processed, and in which database: for tools that show the lag, and for other deployments. Leaves out
   * partitions that another member owns by now, which has committed later offsets.
   */
  async commit(offsets: readonly NextOffset[]): Promise<void> {
    const own = offsets.filter((partition) => this.#owned.has(partitionKey(partition)))
    if (own.length === 0) return
    const request = { ...this.#identity, topics: encodeOffsets(own, this.#options.database) }
    await this.#ask((broker) => broker.offsetCommit(request))
  }

  /** Leaves, so that the others need not wait for the end of the session. */
  async leave(): Promise<void> {
    const [groupId, memberId] = [this.#options.groupId, this.#memberId]
    if (memberId === '') return
    await this.#ask((broker) => broker.leaveGroup({ groupId, memberId }))
    this.#memberId = ''
  }

  /** To be taken before the coordinator is looked up: offsets of one generation must not be committed by the next. */
  get #identity() {
    return {
      groupId: this.#options.groupId,
      memberId: this.#memberId,
      groupGenerationId: this.#generationId,
    }
  }

  async #joinOnce(topics: readonly string[]): Promise<Assignment> {
    const { groupId, build, sessionTimeoutMs: sessionTimeout } = this.#options
    const joining = {
      groupId,
      sessionTimeout,
      rebalanceTimeout: REBALANCE_TIMEOUT_MS,
      protocolType: 'consumer',
      groupProtocols: [encodeSubscription(topics, build)],
    }
    const joined = await this.#askApart((broker) => this.#joinGroup(broker, joining), JOIN_MAX_MS)
    const { generationId, memberId, leaderId, members } = joined
    this.#memberId = memberId
    this.#generationId = generationId
    this.#owned = new Set()
    const groupAssignment =
      leaderId === memberId ? await this.#assignAll(members.map(decodeSubscription)) : []
    const request = { groupId, generationId, memberId, groupAssignment }
    const { memberAssignment } = await this.#askApart((broker) => broker.syncGroup(request), SYNC_MAX_MS)
    return decodeAssignment(memberAssignment)
  }

  /**
   * A new member keeps the id that the coordinator gives it, even if this join is given up: `#unlessMoved` may do so before the
   * answer comes. Otherwise the group would keep a second member with partitions that nobody reads.
   */
  async #joinGroup(broker: Broker, request: object): Promise<JoinedGroup> {
    const memberId = this.#memberId
    try {
      return await sendJoinGroup(broker, { ...request, memberId })
    } catch (error) {
      // After a join that was given up, a later one may have another id by now.
      if (!isIdRequired(error) || this.#memberId !== memberId) throw error
      this.#memberId = error.memberId
      return sendJoinGroup(broker, { ...request, memberId: error.memberId })
    }
  }

  /** As the leader of the group, assigns all partitions of all members' topics. */
  async #assignAll(subscribers: readonly Subscriber[]) {
    const { cluster, log } = this.#options
    const topics = [...new Set(subscribers.flatMap((subscriber) => subscriber.topics))].sort()
    await cluster.topics(topics)
    await cluster.refresh()
    const found = await cluster.topics(topics)
    const unseen = topics.filter((topic) => found.get(topic)?.error !== null)
    if (unseen.length > 0)
      log.warn(
        { topics: unseen },
        `no member of the consumer group reads topics of other members, which this one does not see: ${ONE_GROUP_PER_LIST}`,
      )
    const partitions = topics.flatMap((topic) =>
      [...(found.get(topic)?.leaders.keys() ?? [])].map((partition) => ({ topic, partition })),
    )
    return encodeAssignments(partitions, subscribers)
  }

  #keepSubscribed(assignment: Assignment, topics: readonly string[]): Assignment {
    const unread = Object.keys(assignment).filter((topic) => !topics.includes(topic))
    if (unread.length === 0) return assignment
    this.#options.log.warn(
      { topics: unread },
      `the leader of the consumer group gave this member partitions of topics that it does not read: ${ONE_GROUP_PER_LIST}`,
    )
    return Object.fromEntries(Object.entries(assignment).filter(([topic]) => topics.includes(topic)))
  }

  /** A broker answers nothing else on the connection of a join or sync until the other members have done their part. */
  async #askApart<T>(request: (broker: Broker) => Promise<T>, maxMs: number): Promise<T> {
    const { cluster, groupId } = this.#options
    const nodeId = await cluster.findCoordinator(groupId)
    this.#nodeId = nodeId
    return this.#noteAnswer(nodeId, cluster.askApart(nodeId, request, maxMs))
  }

  async #ask<T>(request: (broker: Broker) => Promise<T>): Promise<T> {
    const { cluster, groupId } = this.#options
    const nodeId = this.#nodeId ?? (await cluster.findCoordinator(groupId))
    this.#nodeId = nodeId
    return this.#noteAnswer(nodeId, cluster.ask(nodeId, request))
  }

  async #noteAnswer<T>(nodeId: number, asked: Promise<T>): Promise<T> {
    try {
      const answer = await this.#unlessMoved(nodeId, asked)
      this.#answeredMs = performance.now()
      return answer
    } catch (error) {
      if (isGroupError(error)) this.#answeredMs = performance.now()
      else this.#nodeId = null
      throw error
    }
  }

  /**
   * Rejects once two brokers in a row name another coordinator: else one that hangs would be waited for until the timeout. One that is
   * cut off from the others still names itself.
   */
  async #unlessMoved<T>(nodeId: number, answer: Promise<T>): Promise<T> {
    const { cluster, groupId } = this.#options
    const answered = new AbortController()
    const { signal } = answered
    const moved = async (): Promise<never> => {
      for (;;) {
        await sleep(LATE_COORDINATOR_MS, undefined, { signal })
        const find = () => cluster.findCoordinator(groupId).catch(() => nodeId)
        const found = await find()
        if (found !== nodeId && (await find()) === found)
          throw new Error(`broker ${found} coordinates the group now`)
      }
    }
    try {
      return await Promise.race([answer, moved()])
    } finally {
      answered.abort()
    }
  }
}

/** kafkajs's own `joinGroup` tells a new member its id only once the group has formed. */
function sendJoinGroup(broker: Broker, request: object): Promise<JoinedGroup> {
  const protocol = broker.lookupRequest(apiKeys.JoinGroup, requests.requests.JoinGroup)
  return broker.connectionPool.send(protocol(request))
}

function isIdRequired(error: unknown): error is Error & { readonly memberId: string } {
  return error instanceof Error && errorType(error) === 'MEMBER_ID_REQUIRED' && 'memberId' in error
}

function isGroupError(error: unknown): boolean {
  return GROUP_ERRORS.includes(errorType(error) ?? '')
}
