import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'

/** How far the database's clock is ahead of this machine's, in ms, give or take half the time of the query. */
export async function readAheadMs(pool: CommonQueryMethods): Promise<number> {
  const askedMs = Date.now()
  const serverMs = await pool.oneFirst(
    sql.type(
      z.object({ serverMs: z.number() }),
    )`SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS "serverMs"`,
  )
  return serverMs - (askedMs + Date.now()) / 2
}
