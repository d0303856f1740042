import type { Batch } from '../core/batch/batch.ts'
import type { RedriveResult, Rejected } from '../core/event/rejected-message.ts'
import type { Made } from './attempt.ts'
import {
  collectRejected,
  type DispatchNeeds,
  type LookedUpBatch,
  type LookUpNeeds,
  lookUpBatch,
} from './dispatch.ts'

/** Parses and looks up one rejected message; no checkpoint is involved. */
export function lookUpRejected(needs: LookUpNeeds, rejected: Rejected): Promise<LookedUpBatch> {
  const { topic, partition, message } = rejected
  const { offset } = message
  const batch: Batch = {
    topic,
    partition,
    messages: [message],
    expectedCheckpoint: offset,
    lastOffset: offset,
    lastMessage: null,
  }
  return lookUpBatch(needs, batch)
}

/**
 * Takes a rejected message through the pipeline again, and records that `by` redrove it. If its event got a row in the meantime,
 * nothing is sent. Returns null if the message no longer exists or was erased.
 */
export async function redrive(
  needs: LookUpNeeds & Pick<DispatchNeeds, 'attempt'>,
  message: Rejected,
  by: string,
): Promise<RedriveResult | null> {
  const lookedUp = await lookUpRejected(needs, message)
  const made = await needs.attempt({
    lock: async (tx) => ((await tx.lockRejected(message.id)) ? { open: lookedUp.open, moves: [] } : null),
    reject: (tx, refused) => tx.insertRejected(message, collectRejected(lookedUp, refused)),
    finish: (tx, attempted) => tx.recordRedrive(message.id, by, toRedriveResult(lookedUp, attempted)),
  })
  return made === null ? null : toRedriveResult(lookedUp, made)
}

function toRedriveResult(lookedUp: LookedUpBatch, { attempts: [inserted], refused }: Made): RedriveResult {
  if (inserted !== undefined) return { result: 'logged', locator: inserted.locator }
  const [rejected] = collectRejected(lookedUp, refused)
  return rejected === undefined ? { result: 'duplicate' } : { result: 'rejected', ...rejected.rejection }
}
