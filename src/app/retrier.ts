import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { type AskedEntry, decideRetry, type PreparedRetries } from '../core/log/decide-retry.ts'
import type { RetryRequest } from '../core/log/due-entry.ts'
import { templates } from '../generated/templates.ts'
import { type RequestNeeds, retryOnRequest } from '../pipeline/retry-on-request.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { lookUpPreferences } from '../postgres/read/look-up-preferences.ts'
import { commitRetries } from '../postgres/write/commit-retries.ts'
import { archiveRuleFiles, requireInForce } from './in-force.ts'
import { createLostVariables } from './lost-variables.ts'
import { createParties } from './parties.ts'
import { readRuleFiles } from './rule-files.ts'
import { createSenders } from './senders.ts'

/** A page is committed while the next one is read. */
export const RETRIER_CONNECTIONS = 3

type Run = Pick<RequestNeeds, 'listCandidates' | 'report'>

/** Retries rows on request. */
export interface Retrier {
  /** Returns why it ended before its time, or null; see `retryOnRequest`. */
  retry(request: RetryRequest, run: Run): Promise<string | null>
  /** A dry run: makes the same look-ups and decisions, sends and writes nothing, and reports what would become of the rows. */
  tryOut(run: Run): Promise<string | null>
  close(): Promise<void>
}

/** Rejects if the rule table or the envelope map cannot be used, or the table is not the one in force. */
export async function createRetrier(config: Config, pool: DatabasePool, log: Logger): Promise<Retrier> {
  const ruleFiles = await readRuleFiles()
  const { ruleTable } = ruleFiles
  await requireInForce(pool, ruleFiles)
  const parties = createParties(config, log)
  const lost = createLostVariables(config, log.child({}, { level: 'silent' }))
  const decide: PreparedRetries['decide'] = (...known) => decideRetry(ruleTable.decide, ...known)
  const runWith = (run: Run, commit: RequestNeeds['commit']) =>
    retryOnRequest({
      ...run,
      variablesOf: lost.of,
      templates,
      contactsOf: parties.lookUpAgain,
      isDown: parties.isDown,
      commit,
      clock: {
        nowMs: () => performance.now(),
        sleep: (durationMs, signal) => sleep(durationMs, undefined, { signal }),
      },
      // What it would say is reported row by row.
      log: log.child({}, { level: 'silent' }),
    })
  return {
    retry: async (request, run) => {
      await archiveRuleFiles(pool, ruleFiles)
      const send = createSenders(config, log)
      return runWith(run, async (asked) => {
        const refused = new Map<string, string>()
        const refusals = {
          error: ({ locator, error }: { locator: string; error: string }) => void refused.set(locator, error),
        }
        const prepared = { ruleTableRevision: ruleTable.revision, asked, request, decide }
        return { made: await commitRetries(pool, prepared, send, refusals), refused }
      })
    },
    tryOut: (run) =>
      runWith(run, async (asked) => ({ made: await decideAll(pool, asked, decide), refused: new Map() })),
    close: async () => void (await Promise.all([parties.close(), lost.close()])),
  }
}

async function decideAll(
  pool: DatabasePool,
  asked: readonly AskedEntry[],
  decide: PreparedRetries['decide'],
) {
  const parties = [...new Set(asked.flatMap(({ due }) => due.partyLocator ?? []))]
  const preferences = await lookUpPreferences(pool, parties)
  return asked.map((entry) => decide(entry, preferences.get(entry.due.partyLocator ?? '')))
}
