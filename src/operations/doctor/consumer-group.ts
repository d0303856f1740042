import { withBrokers } from '../../service/app/clients.ts'
import type { Config } from '../../service/config/config.ts'
import { ONE_GROUP_PER_LIST } from '../../service/consume/assigner.ts'
import type { Brokers } from '../../service/consume/brokers.ts'
import { describeOtherProgram } from '../../service/consume/describe-outage.ts'
import { READ_UNCOMMITTED } from '../../service/consume/fetch-request.ts'
import { findMixedBuilds, judgeMembers } from '../../service/consume/member-notices.ts'
import { lasting } from './blocked-partitions.ts'
import { type Check, Problem, type Warning } from './remedies.ts'

const CLIENT_ID = 'notifications-doctor'

export const consumerGroupCheck: Check = {
  name: 'consumer group',
  prefix: 'MQ_',
  after: ['broker'],
  run: checkConsumerGroup,
  remedies: {
    GROUP_AUTHORIZATION_FAILED:
      'grant this user READ and DESCRIBE on the group, or correct MQ_GROUP_ID: see src/service/consume/README.md',
    other:
      'run the command again if the cluster is new: it may still be creating the topic of group offsets; else read the log of the brokers',
  },
}

/** Rejects without the right to join, with members of another program, or with partitions that no member reads. Warns of members that differ. */
function checkConsumerGroup({ broker }: Config): Promise<string | Warning> {
  const { groupId, topics } = broker
  return withBrokers(broker, CLIENT_ID, async (brokers) => {
    await brokers.requireGroupRight(groupId)
    const members = await brokers.listMembers(groupId)
    const foreign = members.filter(({ otherProtocol }) => otherProtocol !== null)
    if (foreign.length > 0)
      throw new Problem(
        `members of ${groupId} speak another protocol: ${foreign.map(({ host, otherProtocol }) => `${host} (${otherProtocol})`).join(', ')}`,
        describeOtherProgram(groupId),
      )
    const strangers = judgeMembers(groupId, members)
    if (strangers !== null) throw new Problem(strangers.text, strangers.remedy)
    const unread = await lasting(() => listUnread(brokers, groupId, topics))
    if (unread.length > 0)
      throw new Problem(
        `unread: no member of ${groupId} reads ${unread.join(', ')}`,
        `${ONE_GROUP_PER_LIST}: see src/service/consume/README.md`,
      )
    // Also during a rollout: whoever runs doctor wants to know at once.
    const mixed = findMixedBuilds(members)
    if (mixed === null) return groupId
    return { warning: `in ${groupId}, ${mixed.notice.text}`, remedy: mixed.notice.remedy }
  })
}

/** Empty while the group has no members, or during a rebalance. */
async function listUnread(brokers: Brokers, groupId: string, topics: readonly string[]): Promise<string[]> {
  const ends = await brokers.readEnds(topics, READ_UNCOMMITTED)
  const members = await brokers.listMembers(groupId)
  if (!members.some((member) => member.topics.length > 0)) return []
  const owned = new Set(members.flatMap((member) => member.owned))
  return [...ends.keys()].filter((key) => !owned.has(key)).sort()
}
