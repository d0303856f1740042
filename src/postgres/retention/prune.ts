import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { CHANNELS } from '../../core/decision/channel.ts'
import { STATUSES } from '../../core/log/entry.ts'
import { storable } from '../../core/text/text.ts'
import { firstLocatorOf } from '../read/group-decisions.ts'
import type { RetryLimits } from '../read/read-due.ts'

/** What is pruned: all that is older than `before`, but for failed rows that are still to be retried. */
export interface PruneLimits extends Pick<RetryLimits, 'maxAgeMs' | 'attemptCountMax'> {
  readonly before: string
}

/** Locators, and how many decisions stand behind them. */
export interface EntriesToPrune {
  readonly locators: readonly string[]
  readonly decisions: number
}

export interface PruneCounts {
  readonly logEntries: number
  readonly decisions: number
  readonly rejectedMessages: number
}

/** A transaction takes some milliseconds: nobody waits for it. */
const ROW_COUNT_MAX = 1_000
const ORPHAN_COUNT_MAX = 20_000
/** Locators hold the time of a clock that is not the database's. */
const CLOCKS_APART_MAX_MS = 86_400_000

const idRow = z.object({ id: z.bigint() })
const countRow = z.object({ count: z.number() })
const row = z.object({ createdAt: z.string(), locator: z.string(), decisions: z.number() })

/** Records that a pruning begins, and by whom it was asked for. Returns its id. */
export function beginPruning(pool: DatabasePool, before: string, by: string): Promise<bigint> {
  return pool.oneFirst(sql.type(idRow)`
    INSERT INTO notifications.pruning (before, pruned_by) VALUES (${before}::timestamptz, ${storable(by)}) RETURNING id`)
}

/** Records that all was done. */
export async function finishPruning(pool: DatabasePool, pruning: bigint): Promise<void> {
  await pool.query(
    sql.unsafe`UPDATE notifications.pruning SET finished_at = clock_timestamp() WHERE id = ${pruning}`,
  )
}

/** The entries to be pruned, in pages: for each status and channel the oldest first. */
export async function* entriesToPrune(
  pool: DatabasePool,
  limits: PruneLimits,
): AsyncGenerator<EntriesToPrune> {
  for (const status of STATUSES) {
    for (const channel of CHANNELS) yield* entriesOfKind(pool, `${status} ${channel}`, limits)
  }
}

async function* entriesOfKind(
  pool: DatabasePool,
  kind: string,
  limits: PruneLimits,
): AsyncGenerator<EntriesToPrune> {
  let after: Pick<z.infer<typeof row>, 'createdAt' | 'locator'> = { createdAt: '-infinity', locator: '' }
  for (let count = ROW_COUNT_MAX; count === ROW_COUNT_MAX; ) {
    const page: readonly z.infer<typeof row>[] = await pool.any(sql.type(row)`
      SELECT created_at AS "createdAt", locator, (
        SELECT count(*)::integer FROM notifications.decision WHERE decision.locator = entry.locator
      ) AS decisions
      FROM notifications.notification_log AS entry
      WHERE status || ' ' || channel = ${kind}
        AND (created_at, locator) > (${after.createdAt}::timestamptz, ${after.locator})
        AND created_at < ${limits.before}::timestamptz AND NOT ${isDue(limits)}
      ORDER BY created_at, locator LIMIT ${ROW_COUNT_MAX}`)
    if (page.length > 0) yield { locators: page.map(({ locator }) => locator), decisions: decisionsOf(page) }
    after = page.at(-1) ?? after
    count = page.length
  }
}

function decisionsOf(page: readonly { decisions: number }[]): number {
  return page.reduce((sum, { decisions }) => sum + decisions, 0)
}

function isDue({ maxAgeMs, attemptCountMax }: PruneLimits) {
  return sql.fragment`(
    status = 'FAILED' AND attempt_count < ${attemptCountMax}
    AND created_at > now() - ${maxAgeMs}::float8 * interval '1 millisecond'
  )`
}

const orphanPage = z.object({
  end: z.string().nullable(),
  count: z.number(),
  found: z.array(z.object({ locator: z.string(), decisions: z.number() })),
})

/** Old decisions whose row is not there, which a rebuild would bring back, in pages. */
export async function* orphansToPrune(
  pool: DatabasePool,
  { before }: PruneLimits,
): AsyncGenerator<EntriesToPrune> {
  const bound = firstLocatorOf(new Date(Date.parse(before) + 2 * CLOCKS_APART_MAX_MS).toISOString())
  for (let after: string | null = ''; after !== null; ) {
    const start: string = after
    const { end, count, found }: z.infer<typeof orphanPage> = await pool.one(sql.type(orphanPage)`
      WITH page AS MATERIALIZED (
        SELECT locator, min(decided_at) AS decided_at, count(*) AS decisions FROM notifications.decision
        WHERE locator > ${start} AND locator < ${bound} GROUP BY locator ORDER BY locator LIMIT ${ORPHAN_COUNT_MAX}
      )
      SELECT max(locator) AS "end", count(*)::integer AS count, ARRAY(
        SELECT json_build_object('locator', locator, 'decisions', decisions) FROM page
        WHERE decided_at < ${before}::timestamptz
          AND NOT EXISTS (SELECT FROM notifications.notification_log AS entry WHERE entry.locator = page.locator)
      ) AS found
      FROM page`)
    if (found.length > 0)
      yield { locators: found.map(({ locator }) => locator), decisions: decisionsOf(found) }
    after = count < ORPHAN_COUNT_MAX ? null : end
  }
}

/**
 * Deletes entries with the decisions behind them, in one transaction, and counts it in the record of the pruning. What
 * another session holds, or is to be retried by now, stays.
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
      WHERE locator = ANY(${these}) AND NOT ${isDue(limits)} FOR UPDATE SKIP LOCKED
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

/** Deletes decisions whose row is not there. Returns how many. */
export function pruneOrphans(
  pool: DatabasePool,
  pruning: bigint,
  locators: readonly string[],
): Promise<number> {
  return pool.oneFirst(sql.type(countRow)`
    WITH decision AS (
      DELETE FROM notifications.decision WHERE locator = ANY(${sql.array([...locators], 'text')})
        AND NOT EXISTS (SELECT FROM notifications.notification_log AS entry WHERE entry.locator = decision.locator)
      RETURNING locator
    ), counted AS (
      UPDATE notifications.pruning SET decisions = decisions + (SELECT count(*) FROM decision) WHERE id = ${pruning}
    )
    SELECT count(*)::integer AS count FROM decision`)
}

/** The ids of old rejected messages, in pages. Ids follow the time of rejection: the first young one ends it. */
export async function* rejectedToPrune(
  pool: DatabasePool,
  { before }: PruneLimits,
): AsyncGenerator<readonly bigint[]> {
  const row = idRow.extend({ old: z.boolean() })
  for (let after = 0n; ; ) {
    const page: readonly z.infer<typeof row>[] = await pool.any(sql.type(row)`
      SELECT id, rejected_at < ${before}::timestamptz AS old FROM notifications.rejected_message
      WHERE id > ${after} ORDER BY id LIMIT ${ROW_COUNT_MAX}`)
    const old = page.filter((message) => message.old)
    if (old.length > 0) yield old.map(({ id }) => id)
    if (old.length < ROW_COUNT_MAX) return
    after = page.at(-1)?.id ?? after
  }
}

/** Deletes rejected messages; the record of their redrives stays. Returns how many. */
export function pruneRejected(pool: DatabasePool, pruning: bigint, ids: readonly bigint[]): Promise<number> {
  return pool.oneFirst(sql.type(countRow)`
    WITH message AS (
      DELETE FROM notifications.rejected_message WHERE id = ANY(${sql.array([...ids], 'int8')}) RETURNING id
    ), counted AS (
      UPDATE notifications.pruning
      SET rejected_messages = rejected_messages + (SELECT count(*) FROM message) WHERE id = ${pruning}
    )
    SELECT count(*)::integer AS count FROM message`)
}
