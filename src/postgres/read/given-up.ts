import { sql } from 'slonik'
import type { RetryLimits } from './list-due-entries.ts'

/** What says from when on a row that failed is not retried any more. */
export type GivenUpLimits = Pick<RetryLimits, 'maxAgeMs' | 'attemptCountMax'>

/** The condition under which a row of the log is given up. */
export function isGivenUp(limits: GivenUpLimits) {
  return sql.fragment`(status = 'FAILED' AND ${isPastRetry(limits)})`
}

/** The condition under which a row of the log is still to be retried, now or later. */
export function isToBeRetried(limits: GivenUpLimits) {
  return sql.fragment`(status = 'FAILED' AND NOT ${isPastRetry(limits)})`
}

/** The condition under which a row of the log is not retried any more, if it failed. */
export function isPastRetry({ maxAgeMs, attemptCountMax }: GivenUpLimits) {
  return sql.fragment`(
    attempt_count >= ${attemptCountMax} OR created_at <= now() - ${maxAgeMs}::float8 * interval '1 millisecond'
  )`
}
