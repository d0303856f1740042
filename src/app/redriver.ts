import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { decideAttempts, distinctParties } from '../core/attempt/attempt.ts'
import { unobserved } from '../core/attempt/stage.ts'
import type { Rejected } from '../core/event/rejected-message.ts'
import { createAttempt } from '../pipeline/attempt.ts'
import { lookUpRejected, redrive } from '../pipeline/redrive.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { readPreferences } from '../postgres/read/read-preferences.ts'
import { createParties } from './clients.ts'
import { archiveRuleFiles, requireInForce } from './in-force.ts'
import { readRuleFiles } from './rule-files.ts'
import { createAttemptNeeds, createLookUps } from './worker.ts'

export type Redriver = Awaited<ReturnType<typeof createRedriver>>

/**
 * Takes rejected messages through the pipeline again, one by one. Rejects if the rule table or the envelope map cannot be used,
 * or the table is not the one in force.
 */
export async function createRedriver(config: Config, pool: DatabasePool, log: Logger) {
  const ruleFiles = await readRuleFiles()
  await requireInForce(pool, ruleFiles)
  const parties = createParties(config, log)
  const lookUps = createLookUps(ruleFiles, parties.lookUp, pool, unobserved)
  const attemptNeeds = createAttemptNeeds(config, log, ruleFiles, pool)
  const needs = { ...lookUps, attempt: createAttempt(attemptNeeds) }
  let archived: Promise<void> | null = null
  return {
    /** Writes the result, and records that `by` redrove the message. Null if it is gone or erased by now. */
    redrive: async (rejected: Rejected, by: string) => {
      archived ??= archiveRuleFiles(pool, ruleFiles)
      await archived
      return redrive(needs, rejected, by)
    },
    /** A dry run: makes the same look-ups and decisions, and writes nothing. */
    tryOut: async (message: Rejected) => {
      const { open, rejected } = await lookUpRejected(lookUps, message)
      const preferences = await readPreferences(pool, distinctParties(open))
      return { attempts: decideAttempts(attemptNeeds, open, preferences), rejected }
    },
    close: parties.close,
  }
}
