import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import {
  afterDelivery,
  decideAttempts,
  deferredRetries,
  distinctParties,
  type LockedRow,
  type RetryRequest,
  type RulesInForce,
} from '../core/attempt/attempt.ts'
import type { Deliveries } from '../core/attempt/delivery.ts'
import { type AskedEntry, nextAttempt } from '../core/attempt/due-entry.ts'
import { createAttempt } from '../pipeline/attempt.ts'
import { type RequestNeeds, retryOnRequest } from '../pipeline/requested-retry.ts'
import { commitRetries } from '../pipeline/retry.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { readPreferences } from '../postgres/read/read-preferences.ts'
import { createParties } from './clients.ts'
import { archiveRuleFiles, requireInForce } from './in-force.ts'
import { readRuleFiles } from './rule-files.ts'
import { createAttemptNeeds } from './worker.ts'

type Run = Pick<RequestNeeds, 'listCandidates' | 'report'>

export type Retrier = Awaited<ReturnType<typeof createRetrier>>

/**
 * Retries rows on request. Rejects if the rule table or the envelope map cannot be used, or the table is not the one in force. A
 * retry returns the reason why some rows were not retried, or null; see `retryOnRequest`.
 */
export async function createRetrier(config: Config, pool: DatabasePool, log: Logger) {
  const ruleFiles = await readRuleFiles()
  await requireInForce(pool, ruleFiles)
  const parties = createParties(config, log)
  const attemptNeeds = createAttemptNeeds(config, log, ruleFiles, pool)
  const attempt = createAttempt(attemptNeeds)
  const runWith = (run: Run, commit: RequestNeeds['commit']) =>
    retryOnRequest({
      ...run,
      lookUpContacts: parties.lookUpAgain,
      isDown: parties.isDown,
      commit,
    })
  return {
    retry: async (request: RetryRequest, run: Run) => {
      await archiveRuleFiles(pool, ruleFiles)
      return runWith(run, (asked) => commitRetries(attempt, asked, request))
    },
    /**
     * A dry run: makes the same look-ups and decisions, sends and writes nothing, and reports the results that the rows would
     * have.
     */
    tryOut: (run: Run) =>
      runWith(run, async (asked) => {
        const decided = await decideAll(pool, asked, attemptNeeds)
        return {
          made: afterDelivery(decided, NONE_SENT),
          refused: new Map(),
          deferred: deferredRetries(decided, NONE_SENT),
        }
      }),
    close: parties.close,
  }
}

const NONE_SENT: Deliveries = new Map()

/** A dry run locks nothing and records no decision. */
const UNLOCKED: LockedRow = {
  origin: { topic: '', partition: 0, offset: 0n, traceId: null, envelopeMapRevision: null },
  variables: null,
  templateRevision: null,
}

async function decideAll(pool: DatabasePool, asked: readonly AskedEntry[], rules: RulesInForce) {
  const open = asked.map((entry) => nextAttempt(entry, UNLOCKED, null))
  return decideAttempts(rules, open, await readPreferences(pool, distinctParties(open)))
}
