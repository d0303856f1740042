import kafkajs, { type GroupMember, type PartitionAssigner } from 'kafkajs'
import type { Logger } from 'pino'
import type { TopicPartition } from '../core/event/position.ts'
import { joinAs, type Member } from './patches/membership.ts'

const { MemberMetadata, MemberAssignment } = kafkajs.AssignerProtocol

export const ONE_GROUP_PER_LIST =
  'all members of a consumer group must have the same MQ_TOPICS: give each list its own MQ_GROUP_ID'

/**
 * Assigns each partition to a member that subscribed to its topic. kafkajs's own assigner gives it to any member, and drops topics
 * that the leader of the group does not consume. It has the same name, so that members of both kinds understand each other.
 *
 * @param member the member whose consumer uses this assigner
 */
export function createAssigner(member: Member, log: Logger): PartitionAssigner {
  return (config) => {
    const { cluster } = config
    joinAs(cluster, member)
    const roundRobin = kafkajs.PartitionAssigners.roundRobin(config)

    function listPartitions(topic: string): TopicPartition[] {
      return cluster
        .findTopicPartitionMetadata(topic)
        .map(({ partitionId }) => ({ topic, partition: partitionId }))
    }

    /** Partitions of topics that only other members consume. kafkajs knows those of its own topics. */
    async function ofOthers(topics: readonly string[]): Promise<TopicPartition[]> {
      if (topics.length === 0) return []
      const metadata = await cluster.metadata().catch(() => null)
      const found = (metadata?.topicMetadata ?? []).filter(({ topic }) => topics.includes(topic))
      const unseen = topics.filter((topic) => !found.some((one) => one.topic === topic))
      if (unseen.length > 0)
        log.warn(
          { topics: unseen },
          `no member of the consumer group reads topics of other members, which this one does not see: ${ONE_GROUP_PER_LIST}`,
        )
      return found.flatMap(({ topic, partitionMetadata }) =>
        partitionMetadata.map(({ partitionId }) => ({ topic, partition: partitionId })),
      )
    }

    return {
      ...roundRobin,
      assign: async ({ members, topics }) => {
        const subscribers = members.map(subscriberIn)
        const others = subscribers.flatMap((one) => one.topics).filter((topic) => !topics.includes(topic))
        const partitions = [
          ...topics.flatMap(listPartitions),
          ...(await ofOthers([...new Set(others)].sort())),
        ]
        return [...assign(partitions, subscribers)].map(([memberId, assignment]) => ({
          memberId,
          memberAssignment: MemberAssignment.encode({
            version: roundRobin.version,
            assignment,
            userData: Buffer.alloc(0),
          }),
        }))
      },
    }
  }
}

interface Subscriber {
  readonly memberId: string
  readonly topics: readonly string[]
}

/** Gives each partition to the subscriber of its topic that has the fewest, by member id and topic. */
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
      (best, one) => (countPartitions(one) < countPartitions(best) ? one : best),
      first,
    )
    counts.set(chosen.memberId, countPartitions(chosen) + 1)
    const ofMember = assigned.get(chosen.memberId) ?? {}
    assigned.set(chosen.memberId, { ...ofMember, [topic]: [...(ofMember[topic] ?? []), partition] })
  }
  return assigned
}

function subscriberIn({ memberId, memberMetadata }: GroupMember): Subscriber {
  return { memberId, topics: MemberMetadata.decode(memberMetadata)?.topics ?? [] }
}
