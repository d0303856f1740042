import type { ConsoleParts } from '../../service/app/listeners.ts'
import { listPartitions, partitionKey } from '../../service/decide/event/position.ts'
import type { Backlog } from '../../service/model/backlog.ts'
import { countHeld } from '../../service/model/request/hold.ts'
import { type ReplicaTroubles, type ServiceStatus, showBlocked } from '../../service/model/service-status.ts'
import { ALL_REJECTED, countRejectedMessages } from '../../service/store/read/list-rejected-messages.ts'
import { listReplicas } from '../../service/store/read/list-replicas.ts'
import { readHolds } from '../../service/store/read/read-holds.ts'
import { share } from '../../service/time/share.ts'
import { withTimeout } from '../../service/time/with-timeout.ts'

/** Longer than the page's pause, so that a slow read serves its next one. */
const BACKLOG_SHARED = { validMs: 6_000, deadlineMs: 10_000 }
const REJECTED_SHARED = { validMs: 15_000, deadlineMs: 15_000 }
/** Maximum time that the state of the service waits for a count. */
const COUNT_MS_MAX = 500
/** A replica in trouble reports four times as often, and counts as gone without a report. */
const TROUBLES_MS_MAX = 60_000

/** Reads the state of the service. A slow count appears at the next call. */
export function createStatusReader(parts: ConsoleParts): () => Promise<ServiceStatus> {
  const { config, parties, notices, database } = parts
  const monotonicMs = () => performance.now()
  /** Counted anew for each set of holds, since an earlier count does not include a hold's waiting events. */
  const readBacklog = share((_holdIds: string) => parts.backlog(), BACKLOG_SHARED, monotonicMs)
  const open = { ...ALL_REJECTED, open: true }
  const countRejected = share(
    async () => (await countRejectedMessages(database.listPool(), open)).count,
    REJECTED_SHARED,
    monotonicMs,
  )
  return async () => {
    const consumer = parts.consumer()
    const [fault, lookUps] = await Promise.all([database.fault(), parties.fault()])
    const failsSinceMs = parties.failsSinceMs()
    const holds = fault === null ? await readHolds(database.httpPool()).catch(() => null) : []
    const troubles = fault === null ? await readTroublesOfOthers(parts).catch(() => []) : []
    const down = troubles.find((replica) => replica.lookUps !== null)
    const blocked = listBlocked(consumer, troubles)
    const holdIds = (holds ?? []).map(({ id }) => id).join()
    const [backlog, rejected] = await Promise.all([soon(() => readBacklog(holdIds)), soon(countRejected)])
    const waitingByTopic = backlog?.brokerReachable ? backlog.waitingByTopic : null
    return {
      isStarting: consumer === null,
      consuming:
        consumer === null
          ? 'the service is starting'
          : (consumer.membership.waitsFor ?? consumer.foreign.reason),
      database: fault ?? (holds === null ? 'it does not answer' : null),
      lookUps: lookUps ?? (down ? `${down.lookUps} for another replica` : null),
      lookUpsFailSince: failsSinceMs === null ? (down?.lookUpsFailSince ?? null) : toIso(failsSinceMs),
      retryMaxAgeMs: config.retry.maxAgeMs,
      notices: notices(),
      totals: {
        waiting: waitingByTopic && sum([...waitingByTopic.values()]),
        waitingSince: backlog && findOldest(backlog),
        rejected,
        givenUp: backlog?.failedRows?.givenUp ?? null,
        retrying: backlog?.failedRows?.waiting ?? null,
      },
      partitionCount: backlog?.brokerReachable ? backlog.waitingByPartition.size : null,
      // The state of the database explains why they are unknown.
      holds: (holds ?? []).map((hold) => ({
        ...hold,
        waiting: backlog === null ? undefined : waitingByTopic && countHeld(hold, waitingByTopic),
      })),
      topics: config.broker.topics,
      blocked: blocked.map((partition) => ({
        ...partition,
        waiting: backlog?.waitingByPartition.get(partitionKey(partition)) ?? null,
      })),
    }
  }
}

async function readTroublesOfOthers({
  config,
  replicaId,
  database,
}: ConsoleParts): Promise<readonly ReplicaTroubles[]> {
  const replicas = await listReplicas(database.httpPool())
  return replicas.flatMap(({ id, groupId, seenMsAgo, troubles }) => {
    const isOther = id !== replicaId && groupId === config.broker.groupId
    const isRecent = seenMsAgo <= TROUBLES_MS_MAX
    return isOther && isRecent && troubles !== null ? [troubles] : []
  })
}

/** The count, or null if it fails or takes too long. */
function soon<Count>(read: () => Promise<Count>): Promise<Count | null> {
  return withTimeout(
    COUNT_MS_MAX,
    read().catch(() => null),
    () => null,
  )
}

/** Time since which the oldest message waits; null without one, or if another replica has some of them. */
function findOldest({ partitions, waitingByTopic }: Backlog): string | null {
  const lagging = partitions.filter(({ messageCount }) => messageCount > 0)
  const count = sum(lagging.map(({ messageCount }) => messageCount))
  if (lagging.length === 0 || count !== sum([...waitingByTopic.values()])) return null
  return toIso(Date.now() - 1_000 * Math.max(...lagging.map(({ oldestAgeS }) => oldestAgeS)))
}

/** Blocked partitions of all replicas, each once. Another replica may know an older state of this one's partitions. */
function listBlocked(
  consumer: ReturnType<ConsoleParts['consumer']>,
  troubles: readonly ReplicaTroubles[],
): ReplicaTroubles['blocked'] {
  const own = new Set(listPartitions(consumer?.membership.assignment ?? {}).map(partitionKey))
  const blocked = [
    ...showBlocked(consumer?.blocked ?? [], toIso),
    ...troubles.flatMap((replica) => replica.blocked).filter((other) => !own.has(partitionKey(other))),
  ]
  return [...new Map(blocked.map((partition) => [partitionKey(partition), partition])).values()]
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
const toIso = (ms: number) => new Date(ms).toISOString()
