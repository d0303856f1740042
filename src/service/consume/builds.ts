import type { Notice } from '../model/service-status.ts'
import { counted } from '../text/count.ts'

/** Version and rule table of a member of the consumer group, which tells the others when it joins. */
export interface Build {
  readonly version: string
  readonly ruleTableRevision: string
  readonly startedMs: number
  /** Its id in the database; null for version 1.1.0, which has none. */
  readonly replica: string | null
}

interface Member {
  readonly host: string
  readonly topics: readonly string[]
  /** Null for other programs. */
  readonly build: Build | null
}

/** A rollout is over by then. The alert NotificationsMixedReplicas waits as long. */
const ROLLOUT_MS_MAX = 15 * 60_000
const REVISION_LENGTH = 12

export function encodeBuild({ version, ruleTableRevision, startedMs, replica }: Build): Buffer {
  const id = replica === null ? '' : ` replica=${replica}`
  return Buffer.from(`version=${version} rules=${ruleTableRevision} started=${startedMs}${id}`)
}

/** Null for other programs, and for versions before 1.1.0. */
export function decodeBuild(userData: Buffer | undefined): Build | null {
  const found = /^version=(\S+) rules=(\S+) started=(\d+)(?: replica=(\S+))?/.exec(String(userData ?? ''))
  if (found === null) return null
  const [, version = '', ruleTableRevision = '', startedMs, replica = null] = found
  return { version, ruleTableRevision, startedMs: Number(startedMs), replica }
}

/**
 * Names the versions and rule tables of the members, if there has been more than one for longer than a rollout takes; else null.
 * They have been mixed since the first start of the build that came last.
 */
export function judgeBuilds(members: readonly Member[], wallMs: number): Notice | null {
  // During a rebalance members have no topics, and say nothing.
  const known = members.flatMap(({ host, topics, build }) =>
    topics.length === 0 || build === null ? [] : [{ host, build }],
  )
  const groups = [...Map.groupBy(known, ({ build }) => describeBuild(build))]
  if (groups.length < 2) return null
  const starts = groups.map(([, some]) => Math.min(...some.map(({ build }) => build.startedMs)))
  const sinceMs = Math.max(...starts)
  if (wallMs - sinceMs < ROLLOUT_MS_MAX) return null
  const words = groups.map(
    ([build, some]) =>
      `${build} on ${counted(some.length, 'replica')} (${[...new Set(some.map(({ host }) => host))].sort().join(', ')})`,
  )
  return {
    subject: 'the replicas of the consumer group',
    text: `replicas decide by different versions or rule tables since ${new Date(sinceMs).toISOString()}: ${words.sort().join('; ')}`,
    remedy:
      'finish the rollout or roll it back, so that all replicas run the same image; if some belong to another deployment, give it its own MQ_GROUP_ID',
  }
}

function describeBuild({ version, ruleTableRevision }: Build): string {
  return `version ${version} with rule table ${ruleTableRevision.slice(0, REVISION_LENGTH)}`
}
