import type { Attempt } from '../core/attempt/attempt.ts'
import type { DueEntry } from '../core/attempt/due-entry.ts'
import { dueEntryOf, type RetryCandidate, refusalOf } from '../core/attempt/retry-candidate.ts'
import type { LogPosition } from '../core/log/log-page.ts'
import type { Status } from '../core/log/status.ts'
import { messageOf } from '../core/text/faults.ts'
import { createRetry, type RetryNeeds } from './retry.ts'

/** Result of a requested retry. `refused`: the row is unchanged. */
export type RequestedResult =
  | {
      readonly result: Status
      readonly channel: Attempt['decision']['channel']
      readonly ruleId: string
      /** Null if it was sent, or if its sender failed: then `why` has the sender's error. */
      readonly reason: string | null
      /** The result of the last send is unknown: this one has the same idempotency key. */
      readonly mayRepeat: boolean
    }
  | { readonly result: 'refused'; readonly error: string }

export interface RequestNeeds
  extends Pick<RetryNeeds<LogPosition>, 'contactsOf' | 'isDown' | 'commit' | 'clock' | 'log'> {
  /** The requested rows, in pages; `next` is null on the last one. */
  readonly listCandidates: (
    after: LogPosition | null,
  ) => Promise<{ readonly candidates: readonly RetryCandidate[]; readonly next: LogPosition | null }>
  readonly report: (locator: string, result: RequestedResult) => void
}

/**
 * Retries rows that the service no longer retries, in one pass of the background retry. Reports each listed row once. Returns the
 * reason why the pass ended early, or null. Rejects if the rows cannot be read.
 */
export async function retryOnRequest(needs: RequestNeeds): Promise<string | null> {
  const open = new Set<string>()
  let failure: string | null = null
  let unlisted: LogPosition | null = null

  function report(locator: string, result: RequestedResult): void {
    open.delete(locator)
    needs.report(locator, result)
  }

  const { pass } = createRetry<LogPosition>({
    ...needs,
    listDueEntries: async (after) => {
      const { candidates, next } = await needs.listCandidates(after)
      unlisted = next
      const due: DueEntry[] = []
      for (const candidate of candidates) {
        const error = refusalOf(candidate)
        if (error !== null) report(candidate.locator, { result: 'refused', error })
        else {
          due.push(dueEntryOf(candidate))
          open.add(candidate.locator)
        }
      }
      return { due, next }
    },
    commit: async (asked) => {
      const { made, refused, deferred } = await needs.commit(asked).catch((error) => {
        failure = `rows could not be committed, or their commit was not confirmed (see \`why\`): ${messageOf(error)}`
        throw error
      })
      for (const retried of made) report(retried.locator, resultOf(retried))
      for (const { due } of asked.filter(({ due }) => open.has(due.locator))) {
        const words = refused.get(due.locator)
        const error =
          words === undefined
            ? (deferred.get(due.locator) ?? 'another process has it, or changed it')
            : `the database refused it: ${words}`
        report(due.locator, { result: 'refused', error })
      }
      return { made, refused: new Map(), deferred: new Map() }
    },
  })
  async function countUnlisted(): Promise<number> {
    let count = 0
    for (let after = unlisted; after !== null; ) {
      const { candidates, next } = await needs.listCandidates(after)
      count += candidates.length
      after = next
    }
    return count
  }

  await pass()
  const unlistedCount = failure === null ? await countUnlisted() : 0
  const stop =
    failure ??
    (unlistedCount + open.size === 0
      ? null
      : `policy administration could not be asked for all of them; ${unlistedCount} more were not looked at`)
  for (const locator of open) report(locator, { result: 'refused', error: stop ?? '' })
  return stop
}

function resultOf({ before, status, decision }: Attempt): RequestedResult {
  const { outcome, channel, ruleId, failureReason } = decision
  const mayRepeat = outcome === 'SEND' && before !== null && before.unknownKey !== null
  return { result: status, channel, ruleId, reason: failureReason, mayRepeat }
}
