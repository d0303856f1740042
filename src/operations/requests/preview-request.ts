import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { distinctParties } from '../../service/decide/attempt/attempt.ts'
import {
  findReadingRefusal,
  findRefusal as findRetryRefusal,
  type RetryCandidate,
} from '../../service/decide/attempt/retry-candidate.ts'
import type { EnvelopeMaps } from '../../service/decide/event/envelope-map.ts'
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
import {
  findLastExamined,
  messagesAfter,
  readRejectedPage,
  rejectedConditions,
  toRejectedFilter,
} from '../../service/store/read/list-rejected-messages.ts'
import { readPreferences } from '../../service/store/read/read-preferences.ts'
import { listRetryCandidates } from '../../service/store/read/read-retry-candidates.ts'
import type { GivenUpLimits } from '../../service/store/sql/given-up.ts'
import { judgeRedrive } from '../rejected/judge-redrive.ts'

/** @internal Maximum number of items that a preview counts. */
export const PREVIEW_COUNT_MAX = 10_000
/** Maximum number of pages that it reads: a rare entry may lie behind thousands of others. */
const PAGE_COUNT_MAX = 50

/** The preview of a request without items to judge. */
export const ONE_ITEM: RequestPreview = { count: 1, isMore: false, groups: [] }

/** The reason why a retry would skip an entry again, given its party's preferences; null if it may be sent. */
type WillBeSkipped = (candidate: RetryCandidate, preferences: Preferences | undefined) => string | null

/** Counts the items of a request by reason, and those that it would leave unchanged. Changes nothing. */
export function previewRequest(
  pool: CommonQueryMethods,
  limits: GivenUpLimits,
  { kind, target }: RequestTarget,
  maps: EnvelopeMaps,
  willBeSkipped: WillBeSkipped = () => null,
): Promise<RequestPreview> {
  switch (kind) {
    case 'retry':
      return previewRetry(pool, limits, target, willBeSkipped)
    case 'redrive':
      return previewRedrive(pool, target, maps)
    case 'dismiss':
      return previewDismissal(pool, target)
    case 'skip':
      return Promise.resolve(ONE_ITEM)
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
      if (refusal === null) addCause(groups, candidate.failureReason)
      else addTo(groups, refusal, refusal, 1)
      if (refusal === null) ages[judgeAge(candidate.createdAt)]++
    }
    after = page.next
    if (after === null) break
  }
  return { count, isMore: after !== null, ages, groups: sorted(groups) }
}

const NO_AGES: AgeCounts = { day: 0, week: 0, older: 0 }
const DAY_MS = 86_400_000

function judgeAge(iso: string): Age {
  const days = (Date.now() - Date.parse(iso)) / DAY_MS
  return days <= 1 ? 'day' : days <= 7 ? 'week' : 'older'
}

/** Maximum number of distinguished causes, and of characters of each in a filter. */
const CAUSE_COUNT_MAX = 20
const PREFIX_LENGTH_MAX = 200

/** Counts an entry under its whole reason or, once there are many, under the reason without the error after it. */
function addCause(groups: Groups, failureReason: string | null): void {
  const whole = failureReason ?? 'no reason is stored'
  const isKnown = groups.has(groupKey(null, whole)) || groups.size < CAUSE_COUNT_MAX
  const cause = isKnown ? whole : whole.replace(/:.*/s, '')
  const prefix = failureReason === null ? undefined : cause.slice(0, PREFIX_LENGTH_MAX).toWellFormed()
  addTo(groups, null, cause, 1, prefix)
}

type Groups = Map<string, RequestPreview['groups'][number]>

/** Counts items under the reason why they stay unchanged or, without one (null), under their last reason. */
function addTo(
  groups: Groups,
  refusal: string | null,
  lastReason: string,
  count: number,
  reasonPrefix?: string,
): void {
  const reason = refusal ?? lastReason
  const key = groupKey(refusal, lastReason)
  const group = groups.get(key) ?? { reason, isUnchanged: refusal !== null, count: 0, reasonPrefix }
  groups.set(key, { ...group, count: group.count + count })
}

function groupKey(refusal: string | null, lastReason: string): string {
  return `${refusal === null} ${refusal ?? lastReason}`
}

function sorted(groups: Groups): RequestPreview['groups'] {
  return [...groups.values()].sort((a, b) => b.count - a.count)
}

/** Maximum number of messages that a preview of a redrive reads. */
const READ_COUNT_MAX = 2_000
/** Maximum number of non-empty pages, which are limited in bytes. */
const READ_PAGE_COUNT_MAX = 8
/** Maximum number of pages: most are empty where many messages are settled. */
const LOOK_COUNT_MAX = 100
/** Maximum number of messages that a preview of a dismissal examines. */
const DISMISSAL_EXAMINED_MAX = 1_000_000

async function previewRedrive(
  pool: CommonQueryMethods,
  target: RejectedTarget,
  maps: EnvelopeMaps,
): Promise<RequestPreview> {
  const groups: Groups = new Map()
  const ages = { ...NO_AGES }
  let count = 0
  let after = 0n
  let pageCount = 0
  for (
    let looks = 0;
    looks < LOOK_COUNT_MAX && pageCount < READ_PAGE_COUNT_MAX && count < READ_COUNT_MAX;
    looks++
  ) {
    const page = await readRejectedPage(pool, toRejectedFilter(target), after, READ_COUNT_MAX - count)
    const { messages, next } = page
    for (const [i, { reason, isUnchanged }] of (await judgeRedrive(pool, messages, maps)).entries()) {
      addTo(groups, isUnchanged ? reason : null, reason, 1)
      if (!isUnchanged) ages[judgeAge(messages[i]?.rejectedAt ?? '')]++
    }
    count += messages.length
    if (messages.length > 0) pageCount++
    if (next === null) return { count, isMore: false, ages, groups: sorted(groups) }
    after = next
  }
  const { next } = await readRejectedPage(pool, toRejectedFilter(target), after, 1)
  return { count, isMore: next !== null, ages, groups: sorted(groups) }
}

const codeRow = z.object({ code: z.string(), count: z.int() })

async function previewDismissal(pool: CommonQueryMethods, target: RejectedTarget): Promise<RequestPreview> {
  const filter = toRejectedFilter(target)
  const lastExamined = await findLastExamined(pool, filter, 0n, DISMISSAL_EXAMINED_MAX)
  const found = await pool.any(sql.type(codeRow)`
    SELECT code, count(*)::integer AS count FROM (
      SELECT code FROM ${messagesAfter(filter, 0n, lastExamined)} AS rejected_message
      WHERE ${rejectedConditions(filter)} LIMIT ${PREVIEW_COUNT_MAX + 1}
    ) AS found
    GROUP BY 1`)
  const count = found.reduce((sum, row) => sum + row.count, 0)
  const groups: Groups = new Map()
  for (const { code, count } of found) addTo(groups, null, code, count)
  return {
    count: Math.min(count, PREVIEW_COUNT_MAX),
    isMore: count > PREVIEW_COUNT_MAX || lastExamined !== null,
    groups: sorted(groups),
  }
}
