import { type Notice, REPLICA_GONE_MS } from '../model/service-status.ts'
import { counted } from '../text/count.ts'
import type { Build } from './builds.ts'
import type { GroupMember } from './describe-group.ts'

/** A process of the service, as the database knows it. */
export interface Replica {
  readonly id: string
  readonly groupId: string
  readonly topics: readonly string[]
  /** Time since it last said that it runs. */
  readonly seenMsAgo: number
}

/** A rollout is over by then. The alert NotificationsMixedReplicas waits as long. */
const ROLLOUT_MS_MAX = 15 * 60_000
const REVISION_LENGTH = 12
/** A member whose database did not answer for long is no member of another one. */
const UNKNOWN_MS = 15 * 60_000

/** Names what differs between the members, if it has for longer than a rollout takes; else null. */
export function judgeBuilds(members: readonly BuildOf[], wallMs: number): Notice | null {
  const mixed = findMixedBuilds(members)
  return mixed === null || wallMs - mixed.sinceMs < ROLLOUT_MS_MAX ? null : mixed.notice
}

type BuildOf = Pick<GroupMember, 'host' | 'topics' | 'build'>

/**
 * Names the versions, rule tables, envelope maps and topics of the members, if they differ now; else null. They have been mixed since the
 * first start of what came last.
 */
export function findMixedBuilds(
  members: readonly BuildOf[],
): { readonly notice: Notice; readonly sinceMs: number } | null {
  // During a rebalance members have no topics, and say nothing.
  const known = members.flatMap(({ host, topics, build }) =>
    topics.length === 0 || build === null ? [] : [{ host, build, topics: [...topics].sort().join(', ') }],
  )
  const haveOneList = known.every(({ topics }) => topics === known[0]?.topics)
  const groups = [
    ...Map.groupBy(known, ({ build, topics }) =>
      haveOneList ? describeBuild(build) : `${describeBuild(build)} and topics ${topics}`,
    ),
  ]
  if (groups.length < 2) return null
  const starts = groups.map(([, some]) => Math.min(...some.map(({ build }) => build.startedMs)))
  const sinceMs = Math.max(...starts)
  const words = groups.map(
    ([build, some]) =>
      `${build} on ${counted(some.length, 'replica')} (${[...new Set(some.map(({ host }) => host))].sort().join(', ')})`,
  )
  const notice = {
    subject: 'the replicas of the consumer group',
    text: `replicas have different versions, rule tables, envelope maps or topics since ${new Date(sinceMs).toISOString()}: ${words.sort().join('; ')}`,
    remedy:
      'finish the rollout or roll it back, so that all replicas run the same image with the same MQ_TOPICS; if some belong to another deployment, give it its own MQ_GROUP_ID',
  }
  return { notice, sinceMs }
}

function describeBuild({ version, ruleTableRevision, envelopeMapRevision }: Build): string {
  const map =
    envelopeMapRevision === null ? '' : ` and envelope map ${envelopeMapRevision.slice(0, REVISION_LENGTH)}`
  return `version ${version} with rule table ${ruleTableRevision.slice(0, REVISION_LENGTH)}${map}`
}

/** Names the programs that take partitions of the consumer group, and process no events of theirs. */
export function judgeMembers(groupId: string, members: readonly GroupMember[]): Notice | null {
  const strangers = members.filter((member) => member.isStranger)
  if (strangers.length === 0) return null
  const words = strangers.map(
    ({ client, host, owned }) =>
      `${client} on ${host}, which has ${owned.length === 0 ? 'no partitions yet' : [...owned].sort().join(', ')}`,
  )
  return {
    subject: 'other programs in the consumer group',
    shares: 'consumer_group',
    text: `another program is in the consumer group ${groupId}: ${words.sort().join('; ')}`,
    remedy:
      'stop that program or give it a group of its own: the service never reads the partitions that it has; a replica of a version before 1.1.0 looks the same: see src/service/consume/README.md',
  }
}

/** Names the members of the consumer group that work on another database, such as a copy of this one. */
export function judgeDatabases(
  groupId: string,
  members: readonly GroupMember[],
  replicas: readonly Replica[],
): Notice | null {
  const known = new Set(replicas.filter(({ seenMsAgo }) => seenMsAgo < UNKNOWN_MS).map(({ id }) => id))
  const unknown = members.filter(({ build }) => build?.replica != null && !known.has(build.replica))
  if (unknown.length === 0) return null
  const hosts = [...new Set(unknown.map(({ host }) => host))].sort().join(', ')
  return {
    subject: 'members of the consumer group on another database',
    shares: 'consumer_group',
    text: `members of the consumer group ${groupId} do not report to this database: ${counted(unknown.length, 'replica')} on ${hosts}. They work on another one, such as a copy of it, and take events from this one`,
    remedy:
      'give the deployment of each database an MQ_GROUP_ID of its own, then replace its replicas; `checkpoints` shows where each continues',
  }
}

/** Names the other consumer groups whose replicas read the same topics into this database. */
export function judgeGroups(
  { groupId, topics }: Pick<Replica, 'groupId' | 'topics'>,
  replicas: readonly Replica[],
): Notice | null {
  const foreign = replicas.filter(
    (replica) =>
      replica.seenMsAgo < REPLICA_GONE_MS &&
      replica.groupId !== groupId &&
      replica.topics.some((topic) => topics.includes(topic)),
  )
  if (foreign.length === 0) return null
  const words = [...Map.groupBy(foreign, (replica) => replica.groupId)].map(
    ([other, members]) => `${other} on ${counted(members.length, 'replica')}`,
  )
  return {
    subject: 'other consumer groups on this database',
    shares: 'database',
    text: `another consumer group works on this database: ${words.sort().join('; ')}, beside ${groupId}. Members are told once, but all events are read and looked up by each group, and the groups hold each other up`,
    remedy:
      'stop the deployment that does not belong here, or give it a database of its own or other MQ_TOPICS; if MQ_GROUP_ID has changed, this ends a few minutes after the last replica of the old group',
  }
}
