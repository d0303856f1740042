import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { CLOCKS_APART_MAX_MS, firstLocatorOf } from '../read/group-decisions.ts'
import { decisionsOf, type EntriesToPrune, type PruneLimits } from './prune-entries.ts'

const ORPHAN_COUNT_MAX = 20_000

const orphanPage = z.object({
  end: z.string().nullable(),
  count: z.number(),
  found: z.array(z.object({ locator: z.string(), decisions: z.number() })),
})

/** Old decisions without a row, which a rebuild would restore, in pages. */
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

/** Deletes decisions without a row. Returns their number. */
export function pruneOrphans(
  pool: DatabasePool,
  pruning: bigint,
  locators: readonly string[],
): Promise<number> {
  return pool.oneFirst(sql.type(z.object({ count: z.number() }))`
    WITH decision AS (
      DELETE FROM notifications.decision WHERE locator = ANY(${sql.array([...locators], 'text')})
        AND NOT EXISTS (SELECT FROM notifications.notification_log AS entry WHERE entry.locator = decision.locator)
      RETURNING locator
    ), counted AS (
      UPDATE notifications.pruning SET decisions = decisions + (SELECT count(*) FROM decision) WHERE id = ${pruning}
    )
    SELECT count(*)::integer AS count FROM decision`)
}
