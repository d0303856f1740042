import type { Logger } from 'pino'
import type { Batch, CommitResult, Dispatch } from '../core/batch/batch.ts'
import { partitionKey } from '../core/event/position.ts'
import type { RejectedMessage } from '../core/event/rejected-message.ts'
import type { StartTimer } from '../core/time/timer.ts'
import type { MakeAttempts } from './attempt.ts'
import { commitBatch } from './commit-batch.ts'
import { type LookUpNeeds, lookUpBatch } from './look-up.ts'
import { createSharedCommits, isSmall, NotShared } from './shared-commits.ts'

export interface DispatchNeeds extends LookUpNeeds {
  readonly makeAttempts: MakeAttempts
  /** True if the batch starts again from its look-ups: another transaction won, or a plan was out of date. */
  readonly isWorthRestart: (error: unknown) => boolean
  readonly countRestart: () => void
  readonly startTimer: StartTimer
  readonly nowMs: () => number
  readonly log: Logger
}

const RESTART_COUNT_MAX = 5
/**
 * A partition whose transaction took longer has its own until one takes less: it must not hold up the others again and again. After
 * a slow shared transaction that is each of its partitions.
 */
const SLOW_MS = 500

/** At most one warning about conflicts in this time. */
const CONFLICT_WARNING_MS = 60_000

/**
 * Returns the function that takes a batch through the pipeline: parse, look up, then the transaction of `attempt.ts` under the
 * lock of the partition's checkpoint. Small batches of several partitions share a transaction, except those of a partition
 * whose last one failed or was slow. It rejects on infrastructure errors, never because of a message's content.
 */
export function createDispatch(needs: DispatchNeeds): Dispatch {
  const { makeAttempts, stage, isWorthRestart, countRestart, startTimer, nowMs, log } = needs
  const shared = createSharedCommits(makeAttempts, startTimer)
  /** Partitions whose last transaction failed or was slow: the next one is their own. */
  const notSharing = new Set<string>()
  const warnOfConflicts = createConflictWarning(nowMs, log)

  async function commit(batch: Batch, run: () => Promise<CommitResult>): Promise<CommitResult> {
    const startMs = nowMs()
    const result = await stage('commit', batch, run)
    if (result.kind === 'committed' && result.rejected.length > 0) warnOfConflicts(batch, result.rejected)
    const isSlow = nowMs() - startMs >= SLOW_MS
    if (isSlow) notSharing.add(partitionKey(batch))
    else notSharing.delete(partitionKey(batch))
    return result
  }

  async function dispatchOnce(batch: Batch, isAlone: boolean): Promise<CommitResult> {
    if (isAlone) {
      const lookedUp = await lookUpBatch(needs, batch)
      return commit(batch, () => commitBatch(makeAttempts, lookedUp))
    }
    const announced = shared.announce()
    const lookedUp = await lookUpBatch(needs, batch).catch((error) => {
      announced.withdraw()
      throw error
    })
    return commit(batch, () => announced.join(lookedUp))
  }

  return (batch) =>
    stage('batch', batch, async () => {
      const key = partitionKey(batch)
      let isAlone = notSharing.has(key) || !isSmall(batch)
      for (let restartCount = 0; ; ) {
        try {
          return await dispatchOnce(batch, isAlone)
        } catch (error) {
          notSharing.add(key)
          // Also the cause of a shared transaction's failure.
          if (isWorthRestart(error)) {
            countRestart()
            restartCount++
          }
          if (error instanceof NotShared) {
            isAlone = true
            log.debug({ err: error, topic: batch.topic, partition: batch.partition }, error.message)
          } else if (!isWorthRestart(error) || restartCount === RESTART_COUNT_MAX) throw error
        }
      }
    })
}

/** Warns of messages whose event id has the row of another one: of the first at once, of later ones once a minute. */
function createConflictWarning(nowMs: () => number, log: Logger) {
  let lastMs = Number.NEGATIVE_INFINITY
  let count = 0
  return ({ topic, partition }: Batch, rejected: readonly RejectedMessage[]): void => {
    const conflicts = rejected.filter(({ rejection }) => rejection.code === 'conflict')
    const [example] = conflicts
    count += conflicts.length
    if (example === undefined || nowMs() - lastMs < CONFLICT_WARNING_MS) return
    const { message, rejection } = example
    log.warn(
      { count, topic, partition, offset: String(message.offset), error: rejection.error },
      'messages have the event id of another one: their members are not told; see `rejected list --code conflict`',
    )
    lastMs = nowMs()
    count = 0
  }
}
