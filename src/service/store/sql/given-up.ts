import { sql } from 'slonik'

/** The specification's limits for retries: rows that are older, or have this many attempts, are given up. */
export interface GivenUpLimits {
  readonly maxAgeMs: number
  readonly attemptCountMax: number
}

export function isGivenUp(limits: GivenUpLimits) {
  return sql.fragment`(status = 'FAILED' AND ${isPastRetry(limits)})`
}

/** The condition for a row whose member was not told and will not be. */
export function isNotTold(limits: GivenUpLimits) {
  return sql.fragment`(status = 'SKIPPED' OR ${isGivenUp(limits)})`
}

/** The condition for a row that is still to be retried, now or later. */
export function isToBeRetried(limits: GivenUpLimits) {
  return sql.fragment`(status = 'FAILED' AND NOT ${isPastRetry(limits)})`
}

/** The condition for a row that is no longer retried if it failed. */
function isPastRetry(limits: GivenUpLimits) {
  return sql.fragment`(attempt_count >= ${limits.attemptCountMax} OR ${isTooOld(limits)})`
}

export function isTooOld({ maxAgeMs }: GivenUpLimits) {
  return sql.fragment`created_at <= now() - ${maxAgeMs}::float8 * interval '1 millisecond'`
}
