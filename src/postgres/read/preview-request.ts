import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { distinctParties } from '../../core/attempt/attempt.ts'
import { findReadingRefusal, findRefusal, type RetryCandidate } from '../../core/attempt/retry-candidate.ts'
import type { LogPosition } from '../../core/log/log-page.ts'
import type { Preferences } from '../../core/party/preferences.ts'
import type { RequestPreview, RequestTarget, RetryTarget } from '../../core/request/schemas.ts'
import type { GivenUpLimits } from './given-up.ts'
import { conditions, toRejectedFilter } from './list-rejected-messages.ts'
import { readPreferences } from './read-preferences.ts'
import { listRetryCandidates } from './read-retry-candidates.ts'

/** Items that a preview counts. */
export const PREVIEW_COUNT_MAX = 10_000
/** Pages that it reads: a rare entry may lie behind thousands of others. */
const PAGE_COUNT_MAX = 50

/** Why a retry would skip an entry again, by the preferences of its party; null if it may be sent. */
type WillBeSkipped = (candidate: RetryCandidate, preferences: Preferences | undefined) => string | null

/** Counts the items of a request by their reasons, and those that it would leave unchanged. Changes nothing. */
export function previewRequest(
  pool: CommonQueryMethods,
  limits: GivenUpLimits,
  { kind, target }: RequestTarget,
  willBeSkipped: WillBeSkipped = () => null,
): Promise<RequestPreview> {
  switch (kind) {
    case 'retry':
      return previewRetry(pool, limits, target, willBeSkipped)
    case 'redrive':
    case 'dismiss':
      return previewRejected(pool, target)
    case 'skip':
      return Promise.resolve({ count: 1, isMore: false, groups: [] })
  }
}

async function previewRetry(
  pool: CommonQueryMethods,
  limits: GivenUpLimits,
  target: RetryTarget,
  willBeSkipped: WillBeSkipped,
): Promise<RequestPreview> {
  const groups = new Map<string, RequestPreview['groups'][number]>()
  let count = 0
  let after: LogPosition | null = null
  for (let pageCount = 0; pageCount < PAGE_COUNT_MAX; pageCount++) {
    const page: Awaited<ReturnType<typeof listRetryCandidates>> = await listRetryCandidates(
      pool,
      limits,
      target,
      after,
      'without texts',
    )
    const preferences = await readPreferences(pool, distinctParties(page.candidates))
    for (const candidate of page.candidates) {
      if (count === PREVIEW_COUNT_MAX) return { count, isMore: true, groups: sorted(groups) }
      count++
      const refusal =
        findRefusal(candidate) ??
        (target.readAgain
          ? findReadingRefusal(candidate)
          : willBeSkipped(candidate, preferences.get(candidate.partyLocator ?? '')))
      const reason = refusal ?? headOf(candidate.failureReason)
      const key = `${refusal === null} ${reason}`
      const group = groups.get(key) ?? { reason, isUnchanged: refusal !== null, count: 0 }
      groups.set(key, { ...group, count: group.count + 1 })
    }
    after = page.next
    if (after === null) break
  }
  return { count, isMore: after !== null, groups: sorted(groups) }
}

/** The reason without the error that follows it. */
function headOf(failureReason: string | null): string {
  return failureReason?.split(':')[0] ?? 'no reason is stored'
}

function sorted(groups: ReadonlyMap<string, RequestPreview['groups'][number]>): RequestPreview['groups'] {
  return [...groups.values()].sort((a, b) => b.count - a.count)
}

const codeRow = z.object({ reason: z.string(), count: z.int() })

async function previewRejected(
  pool: CommonQueryMethods,
  target: Parameters<typeof toRejectedFilter>[0],
): Promise<RequestPreview> {
  const found = await pool.any(sql.type(codeRow)`
    SELECT code AS reason, count(*)::integer AS count FROM (
      SELECT code FROM notifications.rejected_message WHERE ${conditions(toRejectedFilter(target))} LIMIT ${PREVIEW_COUNT_MAX + 1}
    ) AS found
    GROUP BY code ORDER BY count DESC`)
  const count = found.reduce((sum, one) => sum + one.count, 0)
  return {
    count: Math.min(count, PREVIEW_COUNT_MAX),
    isMore: count > PREVIEW_COUNT_MAX,
    groups: found.map((one) => ({ ...one, isUnchanged: false })),
  }
}
