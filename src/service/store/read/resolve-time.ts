import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { Since } from '../../time/duration.ts'

/** Converts a `Since` to a time. A duration counts back from now by the database's clock. */
export async function resolveTime(pool: CommonQueryMethods, since: Since): Promise<string> {
  if (typeof since !== 'number') return since
  return pool.oneFirst(sql.type(z.object({ time: z.string() }))`
    SELECT now() - ${since}::float8 * interval '1 millisecond' AS "time"`)
}
