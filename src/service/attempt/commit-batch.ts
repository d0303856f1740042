import { distinctParties, toLoggedRow } from '../decide/attempt/attempt.ts'
import type { CommitResult } from '../decide/attempt/batch.ts'
import type { Move } from '../decide/attempt/store.ts'
import { describeConflict, findDifferences } from '../decide/event/conflict.ts'
import { partitionKey } from '../decide/event/position.ts'
import type { RejectedMessage } from '../decide/event/rejected-message.ts'
import { REJECTIONS } from '../decide/event/rejection.ts'
import type { MakeAttempts, Unwritten } from './attempt-events.ts'
import type { LookedUpBatch } from './look-up.ts'

/** Makes the attempts of a batch and moves its checkpoint, under the checkpoint's lock. */
export async function commitBatch(
  makeAttempts: MakeAttempts,
  lookedUp: LookedUpBatch,
): Promise<CommitResult> {
  const [result] = await commitBatches(makeAttempts, [lookedUp])
  if (result == null) throw new Error('a checkpoint that was waited for is not locked')
  return result
}

/**
 * Makes the attempts of batches of different partitions in one transaction. Returns the result of each; null for one of several
 * whose checkpoint another session locks. A batch whose checkpoint was moved does not hold up the others.
 */
export async function commitBatches(
  makeAttempts: MakeAttempts,
  batches: readonly LookedUpBatch[],
): Promise<readonly (CommitResult | null)[]> {
  let offsets: ReadonlyMap<string, bigint> = new Map()
  let owned: readonly LookedUpBatch[] = []
  let rejected: ReadonlyMap<LookedUpBatch, readonly RejectedMessage[]> = new Map()
  const made = await makeAttempts({
    lock: async (tx) => {
      const parties = distinctParties(batches.flatMap(({ open }) => open))
      const locked = await tx.lockCheckpoints(
        batches.map(({ batch }) => batch),
        parties,
      )
      offsets = locked.offsets
      owned = batches.filter(({ batch }) => offsets.get(partitionKey(batch)) === batch.expectedCheckpoint)
      if (owned.length === 0) return null
      const open = owned.flatMap((one) => one.open)
      return { open, moves: owned.map(toMove), preferences: locked.preferences }
    },
    reject: async (tx, unwritten) => {
      rejected = new Map(owned.map((lookedUp) => [lookedUp, collectRejected(lookedUp, unwritten)]))
      for (const [{ batch }, some] of rejected) await tx.insertRejected(batch, some)
    },
  })
  const inserted = Map.groupBy(made?.attempts ?? [], ({ origin }) => partitionKey(origin))
  return batches.map((lookedUp) => {
    const { batch, tombstoneCount } = lookedUp
    const key = partitionKey(batch)
    const checkpoint = offsets.get(key)
    if (checkpoint === undefined) return null
    if (made === null || !owned.includes(lookedUp)) return { kind: 'moved', checkpoint }
    return {
      kind: 'committed',
      lastOffset: batch.lastOffset,
      inserted: inserted.get(key) ?? [],
      rejected: rejected.get(lookedUp) ?? [],
      tombstoneCount,
    }
  })
}

function toMove({ batch: { topic, partition, lastOffset: offset, lastMessage } }: LookedUpBatch): Move {
  return { topic, partition, offset, lastMessage }
}

/**
 * The rejected messages of a batch, with all messages of the events that the database refuses, and those that differ from the row
 * of their id: another message of the batch, or of another partition meanwhile, has it.
 */
export function collectRejected(lookedUp: LookedUpBatch, { refused, taken }: Unwritten): RejectedMessage[] {
  const { batch, open, rejected, repeated, readings } = lookedUp
  const byDatabase = [...refused].flatMap(([{ eventId, origin }, { message: words }]) => {
    // Another partition of the shared transaction may have an event with the same id.
    if (partitionKey(origin) !== partitionKey(batch)) return []
    const error = `${REJECTIONS['refused-by-database']}: ${words}`
    const rejection = { code: 'refused-by-database' as const, error }
    return readings(eventId).map(({ message }) => ({ message, rejection }))
  })
  const all = [...rejected, ...byDatabase]
  if (repeated.size === 0 && taken.size === 0) return all
  const refusedOnes = new Set([...refused.keys()].map(({ locator }) => locator))
  for (const attempt of open) {
    if (refusedOnes.has(attempt.locator)) continue
    const row = taken.get(attempt.locator) ?? (repeated.has(attempt.eventId) ? toLoggedRow(attempt) : null)
    if (row === null) continue
    for (const { message, event } of readings(attempt.eventId)) {
      const differences = findDifferences(row, { ...batch, offset: message.offset }, event)
      if (differences.length > 0) all.push({ message, rejection: describeConflict(row, differences) })
    }
  }
  return all
}
