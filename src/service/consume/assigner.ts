import kafkajs, { type GroupMember } from 'kafkajs'
import type { Assignment, TopicPartition } from '../decide/event/position.ts'
import { type Build, encodeBuild } from './builds.ts'

const { MemberMetadata, MemberAssignment } = kafkajs.AssignerProtocol

export const ONE_GROUP_PER_LIST =
  'all members of a consumer group must have the same MQ_TOPICS: give each list its own MQ_GROUP_ID'

/** The name and version of kafkajs's own assigner: members of both kinds understand each other. */
export const PROTOCOL = { name: 'RoundRobinAssigner', version: 0 }
const NO_DATA = Buffer.alloc(0)

export interface Subscriber {
  readonly memberId: string
  readonly topics: readonly string[]
}

/** How a member joins the group: its topics and what it runs, in the form of the protocol. */
export function encodeSubscription(topics: readonly string[], build: Build) {
  const { name, version } = PROTOCOL
  return {
    name,
    metadata: MemberMetadata.encode({ version, topics: [...topics], userData: encodeBuild(build) }),
  }
}

export function decodeSubscription({ memberId, memberMetadata }: GroupMember): Subscriber {
  // An empty one cannot be decoded, and must not keep the others from their partitions.
  const topics = memberMetadata.length === 0 ? [] : (MemberMetadata.decode(memberMetadata)?.topics ?? [])
  return { memberId, topics }
}

/** Assigns partitions to the members, in the form of the protocol. */
export function encodeAssignments(partitions: readonly TopicPartition[], subscribers: readonly Subscriber[]) {
  const { version } = PROTOCOL
  return [...assign(partitions, subscribers)].map(([memberId, assignment]) => ({
    memberId,
    memberAssignment: MemberAssignment.encode({ version, assignment, userData: NO_DATA }),
  }))
}

export function decodeAssignment(encoded: Buffer): Assignment {
  return encoded.length === 0 ? {} : (MemberAssignment.decode(encoded)?.assignment ?? {})
}

/** @internal Gives each partition to the subscriber of its topic that has the fewest, by member id and topic. */
export function assign(
  partitions: readonly TopicPartition[],
  subscribers: readonly Subscriber[],
): ReadonlyMap<string, Record<string, number[]>> {
  const assigned = new Map<string, Record<string, number[]>>()
  const counts = new Map(subscribers.map(({ memberId }) => [memberId, 0]))
  const countPartitions = ({ memberId }: Subscriber) => counts.get(memberId) ?? 0
  const inOrder = subscribers.toSorted((one, other) => (one.memberId < other.memberId ? -1 : 1))
  for (const { topic, partition } of partitions) {
    const [first, ...rest] = inOrder.filter(({ topics }) => topics.includes(topic))
    if (first === undefined) continue
    const chosen = rest.reduce(
      (best, subscriber) => (countPartitions(subscriber) < countPartitions(best) ? subscriber : best),
      first,
    )
    counts.set(chosen.memberId, countPartitions(chosen) + 1)
    const ofMember = assigned.get(chosen.memberId) ?? {}
    assigned.set(chosen.memberId, { ...ofMember, [topic]: [...(ofMember[topic] ?? []), partition] })
  }
  return assigned
}
