import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'

/** The time that was so long ago, by the database's clock. */
export function timeAgo(pool: CommonQueryMethods, durationMs: number): Promise<string> {
  return pool.oneFirst(sql.type(z.object({ time: z.string() }))`
    SELECT now() - ${durationMs}::float8 * interval '1 millisecond' AS "time"`)
}
