import type { Attempt } from '../core/attempt/attempt.ts'
import type { AskedEntry, DueEntry } from '../core/attempt/due-entry.ts'
import { findRefusal, type RetryCandidate, toDueEntry } from '../core/attempt/retry-candidate.ts'
import type { LogPosition } from '../core/log/log-page.ts'
import type { Status } from '../core/log/status.ts'
import { errorMessage } from '../core/text/faults.ts'
import { askParties, type Retried, type RetryNeeds } from './retry.ts'

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

export interface RequestNeeds extends Pick<RetryNeeds<LogPosition>, 'lookUpContacts' | 'isDown'> {
  /** Makes the next attempts of one page, or only decides them. */
  readonly commit: (asked: readonly AskedEntry[]) => Promise<Retried>
  /** The requested rows, in pages; `next` is null on the last one. */
  readonly listCandidates: (
    after: LogPosition | null,
  ) => Promise<{ readonly candidates: readonly RetryCandidate[]; readonly next: LogPosition | null }>
  readonly report: (locator: string, result: RequestedResult) => void
}

/**
 * Retries rows that the service no longer retries. Reports each listed row once. Ends after the page during which policy
 * administration went down. Returns the reason why some rows were not retried and another run may help, or null. Rejects if the
 * rows cannot be read.
 */
export async function retryOnRequest(needs: RequestNeeds): Promise<string | null> {
  let failure: string | null = null
  let postponedCount = 0
  let after: LogPosition | null = null
  const refuse = (locator: string, error: string) => needs.report(locator, { result: 'refused', error })

  async function commit(asked: Parameters<RequestNeeds['commit']>[0]): Promise<void> {
    let retried: Retried
    try {
      retried = await needs.commit(asked)
    } catch (error) {
      failure = `rows could not be committed, or their commit was not confirmed (see \`why\`): ${errorMessage(error)}`
      for (const { due } of asked) refuse(due.locator, failure)
      return
    }
    const made = new Map(retried.made.map((attempt) => [attempt.locator, attempt]))
    for (const { due } of asked) {
      const attempt = made.get(due.locator)
      if (attempt === undefined) refuse(due.locator, findReason(due, retried))
      else needs.report(due.locator, toRequestedResult(attempt))
    }
  }

  do {
    const { candidates, next } = await needs.listCandidates(after)
    const due: DueEntry[] = []
    for (const candidate of candidates) {
      const error = findRefusal(candidate)
      if (error === null) due.push(toDueEntry(candidate))
      else refuse(candidate.locator, error)
    }
    for await (const { asked, postponed } of askParties(needs, due)) {
      for (const { locator } of postponed) refuse(locator, 'policy administration could not be asked')
      postponedCount += postponed.length
      if (asked.length > 0) await commit(asked)
    }
    after = next
  } while (after !== null && !needs.isDown())
  const unasked = postponedCount > 0 ? 'policy administration could not be asked for all of them' : null
  const reason = failure ?? unasked
  if (after === null) return reason
  return `${reason ?? 'policy administration went down'}; the rest was not looked at`
}

function findReason({ locator }: DueEntry, { refused, deferred }: Retried): string {
  const error = refused.get(locator)
  if (error !== undefined) return `the database refused it: ${error}`
  return deferred.get(locator) ?? 'another process has it, or changed it'
}

function toRequestedResult({ before, status, decision }: Attempt): RequestedResult {
  const { outcome, channel, ruleId, failureReason } = decision
  const mayRepeat = outcome === 'SEND' && before !== null && before.unknownKey !== null
  return { result: status, channel, ruleId, reason: failureReason, mayRepeat }
}
