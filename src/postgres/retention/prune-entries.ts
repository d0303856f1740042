import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { STATUSES, type Status } from '../../core/log/status.ts'
import { type GivenUpLimits, isToBeRetried } from '../read/log-columns.ts'

/** Pruning deletes everything older than `before`, except failed rows that are still retried. */
export interface PruneLimits extends GivenUpLimits {
  readonly before: string
}

export interface EntriesToPrune {
  readonly locators: readonly string[]
  readonly decisions: number
}

export interface PruneCounts {
  readonly logEntries: number
  readonly decisions: number
  readonly rejectedMessages: number
}

/** Keeps transactions to a few milliseconds, so that they block nothing. */
const ROW_COUNT_MAX = 1_000

const row = z.object({ createdAt: z.string(), locator: z.string(), decisions: z.number() })

/** The entries to prune, in pages: for each status the oldest first. */
export async function* entriesToPrune(
  pool: DatabasePool,
  limits: PruneLimits,
): AsyncGenerator<EntriesToPrune> {
  for (const status of STATUSES) yield* entriesOf(pool, status, limits)
}

async function* entriesOf(
  pool: DatabasePool,
  status: Status,
  limits: PruneLimits,
): AsyncGenerator<EntriesToPrune> {
  let after: Pick<z.infer<typeof row>, 'createdAt' | 'locator'> = { createdAt: '-infinity', locator: '' }
  for (let count = ROW_COUNT_MAX; count === ROW_COUNT_MAX; ) {
    const page: readonly z.infer<typeof row>[] = await pool.any(sql.type(row)`
      SELECT created_at AS "createdAt", locator, (
        SELECT count(*)::integer FROM notifications.decision WHERE decision.locator = entry.locator
      ) AS decisions
      FROM notifications.notification_log AS entry
      WHERE status = ${status}
        AND (created_at, locator) > (${after.createdAt}::timestamptz, ${after.locator})
        AND created_at < ${limits.before}::timestamptz AND NOT ${isToBeRetried(limits)}
      ORDER BY created_at, locator LIMIT ${ROW_COUNT_MAX}`)
    if (page.length > 0) yield { locators: page.map(({ locator }) => locator), decisions: decisionsOf(page) }
    after = page.at(-1) ?? after
    count = page.length
  }
}

export function decisionsOf(page: readonly { decisions: number }[]): number {
  return page.reduce((sum, { decisions }) => sum + decisions, 0)
}

/**
 * Deletes entries with their decisions in one transaction, and adds their number to the pruning's record. Rows that another
 * session has locked, or that are now due for a retry, stay.
 */
export function pruneEntries(
  pool: DatabasePool,
  pruning: bigint,
  limits: PruneLimits,
  locators: readonly string[],
): Promise<Pick<PruneCounts, 'logEntries' | 'decisions'>> {
  const these = sql.array([...locators], 'text')
  return pool.one(sql.type(z.object({ logEntries: z.number(), decisions: z.number() }))`
    WITH free AS (
      SELECT locator FROM notifications.notification_log
      WHERE locator = ANY(${these}) AND NOT ${isToBeRetried(limits)} FOR UPDATE SKIP LOCKED
    ), entry AS (
      DELETE FROM notifications.notification_log WHERE locator IN (SELECT locator FROM free) RETURNING locator
    ), decision AS (
      DELETE FROM notifications.decision WHERE locator IN (SELECT locator FROM free) RETURNING locator
    ), counted AS (
      UPDATE notifications.pruning SET
        log_entries = log_entries + (SELECT count(*) FROM entry),
        decisions = decisions + (SELECT count(*) FROM decision)
      WHERE id = ${pruning}
    )
    SELECT (SELECT count(*)::integer FROM entry) AS "logEntries", (SELECT count(*)::integer FROM decision) AS decisions`)
}
