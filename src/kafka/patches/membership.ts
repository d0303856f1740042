import type { KafkaJSError } from 'kafkajs'
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'

/** The member id of a consumer, which outlives each single membership; null before the first join and after leaving the group. */
export interface Member {
  id: string | null
}

/** Errors that tell a member about its group, and not about the coordinator. */
const OF_GROUP = ['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID']
const members = new WeakMap<ConsumerGroup['cluster'], Member>()
/** Heartbeats under way. */
const beats = new WeakMap<ConsumerGroup, Promise<void>>()
/** Errors of heartbeats, to be thrown by the next one. */
const failures = new WeakMap<ConsumerGroup, unknown>()
const { heartbeat, joinAndSync, leave } = ConsumerGroup.prototype

/** The consumer with this cluster takes part in its group as `member`. */
export function joinAs(cluster: ConsumerGroup['cluster'], member: Member): void {
  members.set(cluster, member)
}

/**
 * Patches kafkajs 2.2.4 for a coordinator that is lost: heartbeats find the new one, and the membership goes on. Unpatched,
 * they go to the dead coordinator until kafkajs gives up the consumer, and the next one, a stranger to the group, joins only
 * once the session of the old member has ended. Heartbeats are not awaited, since fetches from other brokers would wait for a
 * frozen coordinator: the call after it throws their error.
 */
export function patchMembership(): void {
  ConsumerGroup.prototype.heartbeat = async function beatAlone(options) {
    if (failures.has(this)) {
      const failure = failures.get(this)
      failures.delete(this)
      throw failure
    }
    if (beats.has(this)) return
    const { generationId } = this
    const beat = beatOrSeek(this, options)
      // After a join it is of no interest to the new generation.
      .catch((error) => void (this.generationId === generationId && failures.set(this, error)))
      .finally(() => beats.delete(this))
    beats.set(this, beat)
  }

  ConsumerGroup.prototype.joinAndSync = async function joinAsMember() {
    const member = members.get(this.cluster)
    // Later kafkajs knows better: it forgets an id that the coordinator does not know.
    if (this.generationId === null) this.memberId = member?.id ?? null
    try {
      await joinAndSync.call(this)
    } finally {
      failures.delete(this)
      if (member !== undefined) member.id = this.memberId
    }
  }

  ConsumerGroup.prototype.leave = async function leaveAsMember() {
    await leave.call(this)
    const member = members.get(this.cluster)
    if (member !== undefined) member.id = null
  }
}

/** Without an answer the group regards the member as gone after its session timeout, and so does this. */
async function beatOrSeek(group: ConsumerGroup, options: { interval: number }): Promise<void> {
  try {
    await heartbeat.call(group, options)
  } catch (error) {
    const { retriable, type } = error as KafkaJSError & { readonly type?: string }
    const isLost = Date.now() - group.lastRequest > group.sessionTimeout
    if (!retriable || isLost || OF_GROUP.includes(type ?? '')) throw error
    const { groupId } = group
    const coordinator = await group.cluster.findGroupCoordinator({ groupId }).catch(() => group.coordinator)
    group.coordinator = coordinator
    // It commits the offsets.
    if (group.offsetManager !== null) group.offsetManager.coordinator = coordinator
  }
}
