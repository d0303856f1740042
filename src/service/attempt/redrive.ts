import { distinctParties, type StoredAttempts } from '../decide/attempt/attempt.ts'
import type { Batch } from '../decide/attempt/batch.ts'
import type {
  RedriveResult,
  RejectedMessage,
  StoredRejectedMessage,
} from '../decide/event/rejected-message.ts'
import { requireNoHold } from '../model/request/hold.ts'
import { addResults, type Progress } from '../model/request/request.ts'
import type { TakenRequest } from '../model/request/schemas.ts'
import { collectRejected } from './commit-batch.ts'
import { type LookedUpBatch, type LookUpNeeds, lookUpBatch } from './look-up.ts'
import { type AttemptMaker, decideAccepted, NO_ATTEMPTS, sendAndRecord, transact } from './transact.ts'

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
 * Takes a rejected message, once looked up, through the rest of the pipeline, and records the result with the request's progress
 * after it, which it returns. If its event got a row in the meantime, nothing is sent. Null if the request ended, or another replica
 * processed it.
 */
export async function redrive(
  maker: AttemptMaker,
  message: StoredRejectedMessage,
  lookedUp: LookedUpBatch,
  request: TakenRequest,
): Promise<Progress<string> | null> {
  const id = String(message.id)
  const progressAfter = (result: string | Unchanged) => addResults(request.progress, id, [[id, result]])
  const { progress } = await transact(maker, async (run) => {
    const { tx } = run
    if (!(await tx.lockRequest(request))) return { ...NO_ATTEMPTS, progress: null }
    if (!(await tx.lockRejected(message.id))) {
      const progress = progressAfter(GONE)
      await tx.recordProgress(request.id, progress, null)
      return { ...NO_ATTEMPTS, progress }
    }
    requireNoHold(await tx.readHolds(), [message.topic])
    const open = lookedUp.open.map((attempt) => ({ ...attempt, request }))
    const preferences = await tx.readPreferences(distinctParties(open))
    const { accepted, refused } = await decideAccepted(run, open, preferences)
    const { inserted, taken } = await tx.insertEntries(accepted)
    const rejected = collectRejected(lookedUp, refused, taken)
    await tx.insertRejected(message, rejected)
    const stored = await sendAndRecord(run, inserted, preferences)
    const result = toRedriveResult(rejected, stored)
    await tx.recordRedrive(message.id, request.by, result)
    const progress = progressAfter(toRequestResult(result))
    await tx.recordProgress(request.id, progress, null)
    return { ...stored, refused, progress }
  })
  return progress
}

/** Why an entry or a message stays as it is. */
export interface Unchanged {
  readonly reason: string
}

const GONE = { reason: 'it was erased or pruned meanwhile' }

function toRequestResult(redriven: RedriveResult): string | Unchanged {
  return redriven.result === 'rejected' ? { reason: `still rejected: ${redriven.error}` } : redriven.result
}

function toRedriveResult(
  [rejected]: readonly RejectedMessage[],
  { attempts: [inserted] }: StoredAttempts,
): RedriveResult {
  if (inserted !== undefined) return { result: 'logged', locator: inserted.locator }
  return rejected === undefined ? { result: 'duplicate' } : { result: 'rejected', ...rejected.rejection }
}
