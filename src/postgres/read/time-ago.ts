import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { Since } from '../../core/time/duration.ts'

/** The time `duration` ago, by the database's clock. */
export function timeAgo(pool: CommonQueryMethods, durationMs: number): Promise<string> {
  return pool.oneFirst(sql.type(z.object({ time: z.string() }))`
    SELECT now() - ${durationMs}::float8 * interval '1 millisecond' AS "time"`)
}

/** Converts a `Since` to a time. A duration counts back from now by the database's clock. */
export async function timeOf(pool: CommonQueryMethods, since: Since): Promise<string> {
  return typeof since === 'number' ? timeAgo(pool, since) : since
}
