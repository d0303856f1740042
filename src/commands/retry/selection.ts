import type { Config } from '../../config/config.ts'
import type { LogPosition } from '../../core/log/log-page.ts'
import type { Since } from '../../core/time/duration.ts'
import type { RequestNeeds } from '../../pipeline/retry-on-request.ts'
import type { DatabasePool } from '../../postgres/connection/pool.ts'
import { listLogEntries } from '../../postgres/read/list-log-entries.ts'
import { readRetryCandidates } from '../../postgres/read/read-retry-candidates.ts'
import { timeOf } from '../../postgres/read/time-ago.ts'
import { UsageError } from '../terminal/options.ts'

export interface FilterOptions {
  readonly since?: Since
  readonly until?: Since
  readonly eventType?: string
  readonly rule?: string
  readonly reason?: string
}

/** The log entries to retry. */
export interface Selection {
  readonly isNamed: boolean
  readonly list: RequestNeeds['listCandidates']
  /** Counts the entries. `onProgress` gets the count so far. */
  readonly count: (onProgress: (soFar: number) => void) => Promise<number>
}

const PAGE_COUNT_MAX = 500
/** Sorts after the locators of all entries with the same creation time. */
const LAST_LOCATOR = 'NTF-~'

/** Entries by their distinct locators, newest first. Throws UsageError if one does not exist. */
export async function named(
  pool: DatabasePool,
  limits: Config['retry'],
  locators: readonly string[],
): Promise<Selection> {
  const candidates = await readRetryCandidates(pool, limits, locators)
  const known = new Set(candidates.map(({ locator }) => locator))
  const missing = locators.filter((locator) => !known.has(locator))
  if (missing.length > 0) throw new UsageError(`no log entry has the locator ${missing.join(', ')}`)
  return {
    isNamed: true,
    // In pages, each committed by itself, so that a commit stays short.
    list: async (after) => {
      const start = candidates.findIndex(({ locator }) => locator === after?.locator) + 1
      const page = candidates.slice(start, start + PAGE_COUNT_MAX)
      return { candidates: page, next: candidates.at(start + PAGE_COUNT_MAX) ? (page.at(-1) ?? null) : null }
    },
    count: async () => candidates.length,
  }
}

/** Entries whose members were not told and will not be, newest first. */
export async function matching(
  pool: DatabasePool,
  limits: Config['retry'],
  { since = 0, until = 0, eventType, rule, reason = '' }: FilterOptions,
): Promise<Selection> {
  const filter = { from: await timeOf(pool, since), eventType, rule, notTold: true } as const
  const start: LogPosition = { createdAt: await timeOf(pool, until), locator: LAST_LOCATOR }

  async function locatorsOf(after: LogPosition | null) {
    const page = { limit: PAGE_COUNT_MAX, after: after ?? start }
    const { items, next } = await listLogEntries(pool, limits, filter, page)
    const found = items.filter(({ failureReason }) => failureReason?.startsWith(reason))
    return { locators: found.map(({ locator }) => locator), next }
  }

  return {
    isNamed: false,
    list: async (after) => {
      const { locators, next } = await locatorsOf(after)
      return { candidates: await readRetryCandidates(pool, limits, locators), next }
    },
    count: async (onProgress) => {
      let count = 0
      for (let after: LogPosition | null | undefined; after !== null; ) {
        const { locators, next } = await locatorsOf(after ?? null)
        count += locators.length
        onProgress(count)
        after = next
      }
      return count
    },
  }
}
