import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { type GivenUpLimits, isPastRetry } from '../sql/given-up.ts'

/** Limits the cost. More failed rows than this are an incident of their own. */
const ROW_COUNT_MAX = 100_000

const counts = z.object({ waiting: z.bigint(), given_up: z.bigint() })

/** Counts failed rows among the newest 100,000: those still retried, and those given up. */
export async function countFailedEntries(
  pool: DatabasePool,
  limits: GivenUpLimits,
): Promise<{ waiting: number; givenUp: number }> {
  const found = await pool.one(sql.type(counts)`
    SELECT count(*) FILTER (WHERE NOT given_up) AS waiting, count(*) FILTER (WHERE given_up) AS given_up
    FROM (
      SELECT ${isPastRetry(limits)} AS given_up FROM notifications.notification_log
      WHERE status = 'FAILED'
      ORDER BY created_at DESC
      LIMIT ${ROW_COUNT_MAX}
    ) AS failed`)
  return { waiting: Number(found.waiting), givenUp: Number(found.given_up) }
}
