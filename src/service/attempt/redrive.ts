import type { Batch } from '../decide/attempt/batch.ts'
import type {
  RedriveResult,
  RejectedMessage,
  StoredRejectedMessage,
} from '../decide/event/rejected-message.ts'
import type { Progress } from '../model/request/request.ts'
import type { TakenRequest } from '../model/request/schemas.ts'
import type { Made, MakeAttempts } from './attempt-events.ts'
import { collectRejected } from './commit-batch.ts'
import { type LookedUpBatch, type LookUpNeeds, lookUpBatch } from './look-up.ts'

/** Parses and looks up one rejected message; no checkpoint is involved. */
export function lookUpRejected(needs: LookUpNeeds, rejected: StoredRejectedMessage): Promise<LookedUpBatch> {
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
 * Takes a rejected message, once looked up, through the rest of the pipeline, and records the result with the request's progress after it, which it
 * returns. If its event got a row in the meantime, nothing is sent. Null if the request ended, or another replica processed it.
 */
export async function redrive<Position>(
  makeAttempts: MakeAttempts,
  message: StoredRejectedMessage,
  lookedUp: LookedUpBatch,
  request: TakenRequest,
  progressAfter: (result: string | { readonly reason: string }) => Progress<Position>,
): Promise<Progress<Position> | null> {
  let isGone = false
  let rejected: readonly RejectedMessage[] = []
  let progress: Progress<Position> | null = null
  const made = await makeAttempts({
    lock: async (tx) => {
      if (!(await tx.lockRequest(request))) return null
      isGone = !(await tx.lockRejected(message.id))
      return { open: isGone ? [] : lookedUp.open.map((attempt) => ({ ...attempt, request })), moves: [] }
    },
    reject: async (tx, unwritten) => {
      rejected = collectRejected(lookedUp, unwritten)
      if (!isGone) await tx.insertRejected(message, rejected)
    },
    finish: async (tx, attempted) => {
      const result = toRedriveResult(rejected, attempted)
      if (!isGone) await tx.recordRedrive(message.id, request.by, result)
      progress = progressAfter(isGone ? GONE : toRequestResult(result))
      await tx.recordProgress(request.id, progress, null)
    },
  })
  return made === null ? null : progress
}

const GONE = { reason: 'it was erased or pruned meanwhile' }

function toRequestResult(redriven: RedriveResult): string | { readonly reason: string } {
  return redriven.result === 'rejected' ? { reason: `still rejected: ${redriven.error}` } : redriven.result
}

function toRedriveResult(
  [rejected]: readonly RejectedMessage[],
  { attempts: [inserted] }: Made,
): RedriveResult {
  if (inserted !== undefined) return { result: 'logged', locator: inserted.locator }
  return rejected === undefined ? { result: 'duplicate' } : { result: 'rejected', ...rejected.rejection }
}
