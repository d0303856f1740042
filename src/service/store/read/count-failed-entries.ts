import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type { FailedRows } from '../../model/backlog.ts'
import type { GivenUpLimits } from '../sql/given-up.ts'

/** Limits of the cost. Old rows are counted by key; younger ones are read for their attempts, at worst each from a page of its own. */
const OLD_COUNT_MAX = 100_000
const READ_COUNT_MAX = 10_000

const counts = z.object({ waiting: z.number(), givenUp: z.number(), expired: z.number() })

/** Counts failed rows of each kind, newest first: up to 100,000 old ones, and 10,000 others. */
export function countFailedEntries(pool: DatabasePool, limits: GivenUpLimits): Promise<FailedRows> {
  return pool.one(failedCountsQuery(limits))
}

/** @internal */
export function failedCountsQuery({ maxAgeMs, attemptCountMax }: GivenUpLimits) {
  const limit = sql.fragment`now() - ${maxAgeMs}::float8 * interval '1 millisecond'`
  const newest = (
    condition: ReturnType<typeof sql.fragment>,
    columns: ReturnType<typeof sql.fragment>,
    countMax: number,
  ) =>
    sql.fragment`(
      SELECT ${columns} FROM notifications.notification_log WHERE status = 'FAILED' AND ${condition}
      ORDER BY created_at DESC LIMIT ${countMax}
    )`
  const attempts = sql.fragment`attempt_count`
  const isLeft = sql.fragment`attempt_count < ${attemptCountMax}`
  return sql.type(counts)`
    SELECT
      count(*) FILTER (WHERE ${isLeft})::integer AS waiting,
      count(*) FILTER (WHERE NOT ${isLeft})::integer
        + (SELECT count(*)::integer FROM ${newest(sql.fragment`created_at <= ${limit}`, sql.fragment``, OLD_COUNT_MAX)} AS old) AS "givenUp",
      (
        SELECT count(*) FILTER (WHERE ${isLeft})::integer
        FROM ${newest(sql.fragment`created_at <= ${limit} AND created_at > ${limit} - interval '1 hour'`, attempts, READ_COUNT_MAX)} AS last_hour
      ) AS expired
    FROM ${newest(sql.fragment`created_at > ${limit}`, attempts, READ_COUNT_MAX)} AS young`
}
