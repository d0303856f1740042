import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { Batch, DecidedBatch, PreparedBatch } from '../core/batch/batch.ts'
import { decideBatch } from '../core/batch/decide-batch.ts'
import type { RedriveResult, Rejected } from '../core/event/rejected-message.ts'
import { dispatchBatch } from '../pipeline/dispatch.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { lookUpPreferences } from '../postgres/read/look-up-preferences.ts'
import { commitRedrive } from '../postgres/write/commit-redrive.ts'
import { createDispatchSteps } from './dispatch-steps.ts'
import { archiveRuleFiles, requireInForce } from './in-force.ts'
import { createParties } from './parties.ts'
import { readRuleFiles } from './rule-files.ts'
import { createSenders } from './senders.ts'

/** One message is worked on at a time. */
export const REDRIVE_CONNECTIONS = 2

/** Takes rejected messages through the pipeline again, one by one. */
export interface Redriver {
  /** Writes the result, and records that `by` redrove it. */
  redrive(rejected: Rejected, by: string): Promise<RedriveResult>
  /** A dry run: makes the same look-ups, writes nothing, and returns what would be written. */
  tryOut(rejected: Rejected): Promise<DecidedBatch>
  close(): Promise<void>
}

/** Rejects if the rule table or the envelope map cannot be used, or the table is not the one in force. */
export async function createRedriver(config: Config, pool: DatabasePool, log: Logger): Promise<Redriver> {
  const ruleFiles = await readRuleFiles()
  await requireInForce(pool, ruleFiles)
  await archiveRuleFiles(pool, ruleFiles)
  const parties = createParties(config, log)
  const send = createSenders(config, log)
  const steps = createDispatchSteps(ruleFiles, parties, pool)
  const run = <Result>(rejected: Rejected, commit: (batch: PreparedBatch) => Promise<Result>) =>
    dispatchBatch({ ...steps, commit }, batchOf(rejected))
  return {
    redrive: (rejected, by) =>
      run(rejected, (batch) => commitRedrive(pool, { rejectedId: rejected.id, by }, batch, send)),
    tryOut: (rejected) =>
      run(rejected, async (batch) => decideBatch(batch, await lookUpPreferences(pool, batch.partyLocators))),
    close: () => parties.close(),
  }
}

/** Keeps where the message came from; no checkpoint is involved. */
function batchOf({ topic, partition, message }: Rejected): Batch {
  const { offset } = message
  return { topic, partition, messages: [message], heldOffset: offset, nextOffset: offset, lastMessage: null }
}
