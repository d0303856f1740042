import type { Logger } from 'pino'
import type { Assignment } from '../decide/event/position.ts'
import { errorMessage } from '../text/faults.ts'
import { backOffMs } from '../time/back-off.ts'
import { withTimeout } from '../time/with-timeout.ts'
import type { AssignedPartitions } from './assigned-partitions.ts'
import type { Coordinator } from './coordinator.ts'
import { describeRemedy, unreachableBroker } from './describe-outage.ts'
import type { CommittedOffset } from './group-offsets.ts'
import { type SubscribedTopics, TOPICS_POLL_MS } from './subscribed-topics.ts'

interface MembershipOptions {
  readonly groupId: string
  /** The addresses of MQ_BROKERS. */
  readonly brokers: readonly string[]
  readonly coordinator: Coordinator
  readonly topics: SubscribedTopics
  readonly partitions: AssignedPartitions
  readonly readCommitted: () => Promise<readonly CommittedOffset[]>
  /** Ends early when the signal aborts; never rejects. */
  readonly sleep: (durationMs: number, signal: AbortSignal) => Promise<void>
  readonly log: Logger
}

/** Maximum time that an assignment waits for the group's offsets. The coordinator has just answered. */
const COMMITTED_WAIT_MS = 2_000
const JOINING = 'joining the consumer group'

/**
 * Keeps this process a member of the consumer group until stopped. See the table of states in the README; the stop is the consumer's.
 * Waits with backoff for a broker that is down, for missing topics (the others continue) and after a lost connection.
 */
export class Membership {
  readonly #options: MembershipOptions
  readonly #stopping: AbortSignal
  #assignment: Assignment | null = null
  #hasJoined = false
  /** Failures since the last join. */
  #failureCount = 0
  #waitsFor = JOINING

  constructor(options: MembershipOptions, stopping: AbortSignal) {
    this.#options = options
    this.#stopping = stopping
  }

  /** Each step is a state of the README's table. */
  async run(): Promise<void> {
    while (!this.#stopping.aborted) {
      try {
        await this.#lookForTopics()
        const { existing, partitionCounts } = this.#options.topics
        if (existing.length === 0) {
          await this.#waitForTopics()
          continue
        }
        await this.#join(existing)
        await this.#stayMember(partitionCounts)
      } catch (error) {
        await this.#waitAfterFailure(error)
      }
    }
  }

  async #lookForTopics(): Promise<void> {
    const { topics, log } = this.#options
    await topics.find()
    if (topics.missing.length > 0)
      log.warn(
        { missing: listMissing(topics) },
        'waiting for topics that do not exist yet, or that this user may not see; consuming the others',
      )
  }

  async #waitForTopics(): Promise<void> {
    const { topics, sleep } = this.#options
    this.#release()
    this.#failureCount = 0
    this.#waitsFor = `none of the topics exists: create ${listMissing(topics).join(', ')}, or grant READ and DESCRIBE on them`
    await sleep(TOPICS_POLL_MS, this.#stopping)
  }

  async #join(topics: readonly string[]): Promise<void> {
    const { groupId, coordinator, partitions, log } = this.#options
    // After a failure, its reason stays until the next join succeeds.
    if (this.#failureCount === 0) this.#waitsFor = JOINING
    log.debug({ groupId, topics }, JOINING)
    const assignment = await coordinator.join(topics)
    if (this.#stopping.aborted) return
    this.#failureCount = 0
    this.#waitsFor = JOINING
    this.#hasJoined = true
    this.#assignment = assignment
    const committed = await this.#readCommitted()
    if (this.#stopping.aborted) return
    partitions.assign(assignment, committed)
    log.info({ groupId, assignment }, 'joined the consumer group')
  }

  /** The group's committed offsets, or an empty list after a timeout. */
  async #readCommitted(): Promise<readonly CommittedOffset[]> {
    const { groupId, readCommitted, log } = this.#options
    return withTimeout(COMMITTED_WAIT_MS, readCommitted(), () => {
      throw new Error(`no response within ${COMMITTED_WAIT_MS / 1_000} s`)
    }).catch((error) => {
      log.warn(
        { groupId, reason: errorMessage(error) },
        "the group's offsets cannot be compared with the checkpoints",
      )
      return []
    })
  }

  /** Stays a member until its topics have other partitions, or the coordinator wants it to join again. */
  async #stayMember(partitionCounts: string): Promise<void> {
    const { groupId, coordinator, topics, sleep, log } = this.#options
    while (topics.partitionCounts === partitionCounts) {
      await sleep(coordinator.heartbeatMs, this.#stopping)
      if (this.#stopping.aborted) return
      const standing = await coordinator.heartbeat()
      if (standing === 'rebalancing') log.debug({ groupId }, 'the group rebalances: joining again')
      if (standing === 'unknown') this.#release()
      if (standing !== 'member') return
    }
  }

  async #waitAfterFailure(error: unknown): Promise<void> {
    if (this.#stopping.aborted) return
    if (this.#options.coordinator.isExpired) this.#release()
    const retryInMs = backOffMs(this.#failureCount++)
    this.#report(error, retryInMs)
    await this.#options.sleep(retryInMs, this.#stopping)
  }

  #report(error: unknown, retryInMs: number): void {
    const { groupId, brokers, log } = this.#options
    const remedy = describeRemedy(error, groupId, brokers)
    const reason = `the broker refuses or does not respond (${errorMessage(error)})${remedy}`
    // A broker that is down says nothing new every few seconds.
    const level = reason === this.#waitsFor ? 'debug' : 'warn'
    const fields = unreachableBroker(error) === null ? { err: error } : { reason: errorMessage(error) }
    log[level]({ ...fields, brokers, retryInMs }, `waiting for the broker${remedy}`)
    this.#waitsFor = reason
  }

  /** Others may own the partitions by now. */
  #release(): void {
    this.#assignment = null
    this.#options.partitions.end()
  }

  /** The partitions that this member owns; null while it is in no group. */
  get assignment(): Assignment | null {
    return this.#stopping.aborted ? null : this.#assignment
  }

  /** True once this member has joined the group for the first time. */
  get hasJoined(): boolean {
    return this.#hasJoined
  }

  /** Null while this member is in the group and its broker answers; otherwise the reason for waiting. */
  get waitsFor(): string | null {
    if (this.assignment === null) return this.#waitsFor
    return this.#options.coordinator.isSilent ? 'the broker accepts no request of this member' : null
  }
}

function listMissing({ missing }: SubscribedTopics): string[] {
  return missing.map(({ topic }) => topic)
}
