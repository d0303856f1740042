import type { Brokers } from '../consume/brokers.ts'
import { judgeBuilds, judgeDatabases, judgeGroups, judgeMembers } from '../consume/member-notices.ts'
import { findSurges } from '../store/read/find-surges.ts'
import { listReplicas } from '../store/read/list-replicas.ts'
import { readAheadMs } from '../store/read/read-clock.ts'
import { share } from '../time/share.ts'
import { judgeDatabaseClock } from './clock-difference.ts'
import { judgeSurges } from './judge-surges.ts'
import type { Judge } from './notices.ts'
import type { Database } from './pools.ts'

/** The judgements of a minute share one description of the group; a later scrape reads it again. */
const MEMBERS_SHARED = { validMs: 1_000, deadlineMs: 10_000 }

/** Judges of what is around this replica: the others of its group, other groups, clocks, and what is sent. */
export function createJudges(
  self: { readonly groupId: string; readonly topics: readonly string[] },
  brokers: Pick<Brokers, 'listMembers'>,
  database: Pick<Database, 'pool' | 'listPool'>,
  announce: () => Promise<void>,
) {
  const { groupId } = self
  const listMembers = share(
    () => brokers.listMembers(groupId),
    MEMBERS_SHARED,
    () => performance.now(),
  )
  let clockAheadMs = 0
  const judges: readonly Judge[] = [
    async () => judgeBuilds(await listMembers(), Date.now()),
    async () => judgeMembers(groupId, await listMembers()),
    async () => {
      await announce()
      return judgeGroups(self, await listReplicas(database.pool()))
    },
    async () =>
      // In this order: a replica announces itself before it joins.
      judgeDatabases(groupId, await listMembers(), await listReplicas(database.pool())),
    async () => {
      clockAheadMs = await readAheadMs(database.pool())
      return judgeDatabaseClock(clockAheadMs)
    },
    async () => judgeSurges(await findSurges(database.listPool())),
  ]
  return {
    judges,
    listMembers,
    /** How far the database's clock is ahead of this machine's, by the last judgement; 0 before. */
    clockAheadMs: () => clockAheadMs,
  }
}
