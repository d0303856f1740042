import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { distinctParties } from '../../service/decide/attempt/attempt.ts'
import {
  findReadingRefusal,
  findRefusal as findRetryRefusal,
  type RetryCandidate,
} from '../../service/decide/attempt/retry-candidate.ts'
import { findRedriveRefusal } from '../../service/decide/event/rejection.ts'
import type { Preferences } from '../../service/decide/party/preferences.ts'
import type { LogPosition } from '../../service/model/log/log-page.ts'
import type {
  Age,
  AgeCounts,
  RejectedTarget,
  RequestPreview,
  RequestTarget,
  RetryTarget,
} from '../../service/model/request/schemas.ts'
import { conditions, toRejectedFilter } from '../../service/store/read/list-rejected-messages.ts'
import { readPreferences } from '../../service/store/read/read-preferences.ts'
import { listRetryCandidates } from '../../service/store/read/read-retry-candidates.ts'
import type { GivenUpLimits } from '../../service/store/sql/given-up.ts'

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
      return previewRejected(pool, target, kind === 'redrive' ? findRedriveRefusal : () => null)
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
  const groups: Groups = new Map()
  const ages = { ...NO_AGES }
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
      if (count === PREVIEW_COUNT_MAX) return { count, isMore: true, ages, groups: sorted(groups) }
      count++
      const refusal =
        findRetryRefusal(candidate) ??
        (target.readAgain
          ? findReadingRefusal(candidate)
          : willBeSkipped(candidate, preferences.get(candidate.partyLocator ?? '')))
      addTo(groups, refusal, headOf(candidate.failureReason), 1)
      if (refusal === null) ages[ageOf(candidate.createdAt)]++
    }
    after = page.next
    if (after === null) break
  }
  return { count, isMore: after !== null, ages, groups: sorted(groups) }
}

const NO_AGES: AgeCounts = { day: 0, week: 0, older: 0 }
const DAY_MS = 86_400_000

function ageOf(iso: string): Age {
  const days = (Date.now() - Date.parse(iso)) / DAY_MS
  return days <= 1 ? 'day' : days <= 7 ? 'week' : 'older'
}

/** The reason without the error that follows it. */
function headOf(failureReason: string | null): string {
  return failureReason?.split(':')[0] ?? 'no reason is stored'
}

type Groups = Map<string, RequestPreview['groups'][number]>

/** Counts items under the reason why they stay unchanged or, without one (null), under their last reason. */
function addTo(groups: Groups, refusal: string | null, lastReason: string, count: number): void {
  const reason = refusal ?? lastReason
  const key = `${refusal === null} ${reason}`
  const group = groups.get(key) ?? { reason, isUnchanged: refusal !== null, count: 0 }
  groups.set(key, { ...group, count: group.count + count })
}

function sorted(groups: Groups): RequestPreview['groups'] {
  return [...groups.values()].sort((a, b) => b.count - a.count)
}

const codeRow = z.object({ code: z.string(), isErased: z.boolean(), rejectedAt: z.string(), count: z.int() })

async function previewRejected(
  pool: CommonQueryMethods,
  target: RejectedTarget,
  findRefusal: typeof findRedriveRefusal,
): Promise<RequestPreview> {
  const found = await pool.any(sql.type(codeRow)`
    SELECT code, erased_at IS NOT NULL AS "isErased", max(rejected_at) AS "rejectedAt", count(*)::integer AS count FROM (
      SELECT code, erased_at, rejected_at FROM notifications.rejected_message WHERE ${conditions(toRejectedFilter(target))} LIMIT ${PREVIEW_COUNT_MAX + 1}
    ) AS found
    GROUP BY 1, 2, rejected_at > now() - interval '1 day', rejected_at > now() - interval '7 days'`)
  const count = found.reduce((sum, one) => sum + one.count, 0)
  const groups: Groups = new Map()
  const ages = { ...NO_AGES }
  for (const { code, isErased, rejectedAt, count } of found) {
    const refusal = findRefusal(code, isErased)
    addTo(groups, refusal, code, count)
    if (refusal === null) ages[ageOf(rejectedAt)] += count
  }
  return {
    count: Math.min(count, PREVIEW_COUNT_MAX),
    isMore: count > PREVIEW_COUNT_MAX,
    ages,
    groups: sorted(groups),
  }
}
