import type { Logger } from 'pino'
import type { Batch, BatchResult, CommitResult, Dispatch } from '../decide/attempt/batch.ts'
import { messageBytes } from '../decide/event/message.ts'
import type { RejectedMessage } from '../decide/event/rejected-message.ts'
import { findHold, Held } from '../model/request/hold.ts'
import type { Clock } from '../time/clock.ts'
import { commitBatch, commitBatches } from './commit-batch.ts'
import { beginLookUps, type LookedUpBatch, type LookUpNeeds, lookUpBatch } from './look-up.ts'
import type { AttemptMaker } from './transact.ts'

const RESTART_COUNT_MAX = 5
/** A partition whose transaction took longer has its own next: it must not hold up the others again and again. */
const SLOW_MS = 500
/** Maximum time that a batch waits for the look-ups of those that it shares a transaction with. */
const SHARE_WAIT_MS = 5
/** A batch below both limits shares a transaction with those of other partitions: it costs about as much as one event. */
const SMALL_COUNT_MAX = 100
const SMALL_BYTES_MAX = 64 * 1024

/** At most one warning about conflicts in this time. */
const CONFLICT_WARNING_MS = 60_000

/**
 * Returns the function that takes batches through the pipeline: parse, look up, then the transaction of `commit-batch.ts` under the lock
 * of the partition's checkpoint. Small ones share a look-up of rows and a transaction; each has its own where that fails. A result
 * rejects on infrastructure errors, never because of a message's content.
 */
export function createDispatch(
  maker: AttemptMaker,
  lookUps: LookUpNeeds,
  countRestart: () => void,
  log: Logger,
): Dispatch {
  const { store, stage, clock } = maker
  const warnOfConflicts = createConflictWarning(clock, log)

  /** Runs the transaction of a batch, or its part of a shared one; null if that one left the batch out. */
  async function commit(batch: Batch, run: () => Promise<CommitResult | null>): Promise<BatchResult | null> {
    const startMs = clock.monotonicMs()
    const result = await stage('commit', batch, run)
    if (result === null) return null
    if (result.kind === 'committed' && result.rejected.length > 0) warnOfConflicts(batch, result.rejected)
    return { ...result, wasSlow: clock.monotonicMs() - startMs >= SLOW_MS }
  }

  async function runAlone(batch: Batch): Promise<BatchResult> {
    for (let restartCount = 0; ; restartCount++) {
      try {
        const lookedUp = await lookUpBatch(lookUps, batch)
        const committed = await commit(batch, () => commitBatch(maker, lookedUp))
        if (committed !== null) return committed
      } catch (error) {
        if (!store.isWorthRestart(error)) throw error
        if (restartCount === RESTART_COUNT_MAX) throw error
        countRestart()
      }
    }
  }

  async function runShared(shared: SharedTransaction, batch: Batch): Promise<BatchResult> {
    try {
      const lookedUp = await shared.lookUp(batch)
      const committed = await commit(batch, () => shared.commit(lookedUp))
      if (committed !== null) return committed
    } catch (error) {
      if (error instanceof Held && findHold([error.hold], batch.topic) !== null) throw error
      if (store.isWorthRestart(error)) countRestart()
      const { topic, partition } = batch
      log.debug({ err: error, topic, partition }, 'the shared transaction failed')
    }
    return runAlone(batch)
  }

  return (group) => {
    const small = group.filter(({ batch, isAlone }) => !isAlone && isSmall(batch)).map(({ batch }) => batch)
    const shared = small.length > 1 ? createSharedTransaction(maker, lookUps, small) : null
    return group.map(({ batch }) =>
      stage('batch', batch, () =>
        shared !== null && small.includes(batch) ? runShared(shared, batch) : runAlone(batch),
      ),
    )
  }
}

type SharedTransaction = ReturnType<typeof createSharedTransaction>

/** Batches that share a look-up of rows and a transaction. Those whose contacts take long share another one, or have their own. */
function createSharedTransaction(maker: AttemptMaker, lookUps: LookUpNeeds, batches: readonly Batch[]) {
  let begun: ReturnType<typeof beginLookUps> | null = null
  let leftCount = batches.length
  let waiting: (PromiseWithResolvers<CommitResult | null> & { readonly lookedUp: LookedUpBatch })[] = []
  let stopTimer = () => {}

  async function commitWaiting(): Promise<void> {
    const together = waiting
    waiting = []
    stopTimer()
    try {
      const results = await commitBatches(
        maker,
        together.map(({ lookedUp }) => lookedUp),
      )
      for (const [i, { resolve }] of together.entries()) resolve(results[i] ?? null)
    } catch (error) {
      for (const { reject } of together) reject(error)
    }
  }

  return {
    /** Rejects without holding up the other batches. */
    lookUp: async (batch: Batch): Promise<LookedUpBatch> => {
      try {
        begun ??= beginLookUps(lookUps, batches)
        const complete = (await begun)[batches.indexOf(batch)]
        if (complete === undefined) throw new Error('the batch does not share this transaction')
        return await complete()
      } catch (error) {
        if (--leftCount === 0 && waiting.length > 0) void commitWaiting()
        throw error
      }
    },
    /** Commits with the others whose look-ups end at about the same time; null if another session locks the checkpoint. */
    commit: (lookedUp: LookedUpBatch): Promise<CommitResult | null> => {
      const entry = { ...Promise.withResolvers<CommitResult | null>(), lookedUp }
      if (waiting.push(entry) === 1) stopTimer = maker.clock.startTimer(SHARE_WAIT_MS, commitWaiting)
      if (--leftCount === 0) void commitWaiting()
      return entry.promise
    },
  }
}

/** Warns of messages whose event id has the row of another one: of the first at once, of later ones once a minute. */
function createConflictWarning({ monotonicMs }: Clock, log: Logger) {
  let lastMs = Number.NEGATIVE_INFINITY
  let count = 0
  return ({ topic, partition }: Batch, rejected: readonly RejectedMessage[]): void => {
    const conflicts = rejected.filter(({ rejection }) => rejection.code === 'conflict')
    const [example] = conflicts
    count += conflicts.length
    if (example === undefined || monotonicMs() - lastMs < CONFLICT_WARNING_MS) return
    const { message, rejection } = example
    log.warn(
      { count, topic, partition, offset: String(message.offset), error: rejection.error },
      'messages reuse an event id: their members are not notified; see `rejected list --code conflict`',
    )
    lastMs = monotonicMs()
    count = 0
  }
}

function isSmall({ messages }: Batch): boolean {
  if (messages.length > SMALL_COUNT_MAX) return false
  return messages.reduce((bytes, message) => bytes + messageBytes(message), 0) <= SMALL_BYTES_MAX
}
