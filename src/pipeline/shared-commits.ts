import type { Batch, CommitResult } from '../core/batch/batch.ts'
import { messageBytes } from '../core/event/message.ts'
import type { StartTimer } from '../core/time/timer.ts'
import type { MakeAttempts } from './attempt.ts'
import { commitBatches } from './commit-batch.ts'
import type { LookedUpBatch } from './look-up.ts'

/** A batch below both limits may share a transaction with those of other partitions: it costs about as much as one event. */
const SMALL_COUNT_MAX = 100
const SMALL_BYTES_MAX = 64 * 1024
/** Maximum time that a small batch waits for the look-ups of other partitions. */
const SHARE_WAIT_MS = 5

/** The shared transaction did not commit this batch: it needs its own. */
export class NotShared extends Error {}

export function isSmall({ messages }: Batch): boolean {
  if (messages.length > SMALL_COUNT_MAX) return false
  return messages.reduce((bytes, message) => bytes + messageBytes(message), 0) <= SMALL_BYTES_MAX
}

interface Member {
  readonly lookedUp: LookedUpBatch
  readonly resolve: (result: CommitResult) => void
  readonly reject: (error: unknown) => void
}

/** Commits batches together whose look-ups end at about the same time. */
export function createSharedCommits(makeAttempts: MakeAttempts, startTimer: StartTimer) {
  let expectedCount = 0
  let members: Member[] = []
  let stopTimer = () => {}

  async function commit(): Promise<void> {
    const together = members
    members = []
    stopTimer()
    try {
      const results = await commitBatches(
        makeAttempts,
        together.map(({ lookedUp }) => lookedUp),
      )
      for (const [i, { resolve, reject }] of together.entries()) {
        const result = results[i]
        if (result != null) resolve(result)
        else reject(new NotShared('another session locks the checkpoint'))
      }
    } catch (cause) {
      const error = together.length === 1 ? cause : new NotShared('the shared transaction failed', { cause })
      for (const { reject } of together) reject(error)
    }
  }

  function arrived(): void {
    expectedCount--
    if (members.length > 0 && expectedCount === 0) void commit()
  }

  return {
    /** Announces a batch whose look-ups begin: the others wait for it until it calls `join`, or `withdraw` if they failed. */
    announce: () => {
      expectedCount++
      return {
        withdraw: arrived,
        join: (lookedUp: LookedUpBatch): Promise<CommitResult> => {
          const { promise, resolve, reject } = Promise.withResolvers<CommitResult>()
          if (members.push({ lookedUp, resolve, reject }) === 1) stopTimer = startTimer(SHARE_WAIT_MS, commit)
          arrived()
          return promise
        },
      }
    },
  }
}
