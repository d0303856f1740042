import { distinctParties, toLoggedRow } from '../decide/attempt/attempt.ts'
import type { CommitResult } from '../decide/attempt/batch.ts'
import type { Move } from '../decide/attempt/store.ts'
import { describeConflict, findDifferences, type TakenIds } from '../decide/event/conflict.ts'
import { partitionKey } from '../decide/event/position.ts'
import type { RejectedMessage } from '../decide/event/rejected-message.ts'
import { REJECTIONS } from '../decide/event/rejection.ts'
import { requireNoHold } from '../model/request/hold.ts'
import type { LookedUpBatch } from './look-up.ts'
import {
  type AttemptMaker,
  decideAccepted,
  NO_ATTEMPTS,
  type Refusals,
  sendAndRecord,
  transact,
} from './transact.ts'

/** Makes the attempts of a batch and moves its checkpoint, under the checkpoint's lock. */
export async function commitBatch(maker: AttemptMaker, lookedUp: LookedUpBatch): Promise<CommitResult> {
  const [result] = await commitBatches(maker, [lookedUp])
  if (result == null) throw new Error('a checkpoint that was waited for is not locked')
  return result
}

/**
 * Makes the attempts of batches of different partitions in one transaction. Returns the result of each; null for one of several
 * whose checkpoint another session locks. A batch whose checkpoint was moved does not hold up the others.
 */
export async function commitBatches(
  maker: AttemptMaker,
  batches: readonly LookedUpBatch[],
): Promise<readonly (CommitResult | null)[]> {
  const { offsets, attempts, rejected } = await transact(maker, async (run) => {
    const { tx } = run
    const { offsets, preferences } = await tx.lockCheckpoints(
      batches.map(({ batch }) => batch),
      distinctParties(batches.flatMap(({ open }) => open)),
    )
    const owned = batches.filter(({ batch }) => offsets.get(partitionKey(batch)) === batch.expectedCheckpoint)
    const rejected = new Map<LookedUpBatch, readonly RejectedMessage[]>()
    if (owned.length === 0) return { ...NO_ATTEMPTS, offsets, rejected }
    const open = owned.flatMap((lookedUp) => lookedUp.open)
    const moves = owned.map(toMove)
    const { accepted, refused } = await decideAccepted(run, open, preferences, moves)
    // Events that got a row in the meantime are left out.
    const { inserted, taken, holds } = await tx.insertEntries(accepted)
    requireNoHold(
      holds,
      inserted.values().map(({ origin }) => origin.topic),
    )
    for (const lookedUp of owned) {
      const ofBatch = collectRejected(lookedUp, refused, taken)
      rejected.set(lookedUp, ofBatch)
      await tx.insertRejected(lookedUp.batch, ofBatch)
    }
    const stored = await sendAndRecord(run, inserted, preferences, moves)
    return { ...stored, refused, offsets, rejected }
  })
  return batches.map((lookedUp) => {
    const { batch, tombstoneCount } = lookedUp
    const checkpoint = offsets.get(partitionKey(batch))
    if (checkpoint === undefined) return null
    const ofBatch = rejected.get(lookedUp)
    if (ofBatch === undefined) return { kind: 'moved', checkpoint }
    const { topic, partition, lastOffset } = batch
    return {
      kind: 'committed',
      lastOffset,
      inserted: attempts.filter(({ origin }) => origin.topic === topic && origin.partition === partition),
      rejected: ofBatch,
      tombstoneCount,
    }
  })
}

function toMove({ batch: { topic, partition, lastOffset: offset, lastMessage } }: LookedUpBatch): Move {
  return { topic, partition, offset, lastMessage }
}

/**
 * The rejected messages of a batch: those that are no events, all messages of the events that the database refuses, and conflicts,
 * whose event id has the row of another message, from this batch or from another partition.
 */
export function collectRejected(
  lookedUp: LookedUpBatch,
  refused: Refusals,
  taken: TakenIds,
): RejectedMessage[] {
  const { batch, open, rejected, repeated, readings } = lookedUp
  const byDatabase = [...refused].flatMap(([{ eventId, origin }, { message: words }]) => {
    // Another partition of the shared transaction may have an event with the same id.
    if (partitionKey(origin) !== partitionKey(batch)) return []
    const error = `${REJECTIONS['refused-by-database']}: ${words}`
    const rejection = { code: 'refused-by-database' as const, error }
    return readings(eventId).map(({ message }) => ({ message, rejection }))
  })
  const messages = [...rejected, ...byDatabase]
  if (repeated.size === 0 && taken.size === 0) return messages
  const refusedOnes = new Set([...refused.keys()].map(({ locator }) => locator))
  for (const attempt of open) {
    if (refusedOnes.has(attempt.locator)) continue
    const row = taken.get(attempt.locator) ?? (repeated.has(attempt.eventId) ? toLoggedRow(attempt) : null)
    if (row === null) continue
    for (const { message, event } of readings(attempt.eventId)) {
      const differences = findDifferences(row, { ...batch, offset: message.offset }, event)
      if (differences.length > 0) messages.push({ message, rejection: describeConflict(row, differences) })
    }
  }
  return messages
}
