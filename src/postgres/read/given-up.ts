import { sql } from 'slonik'
import type { RetryLimits } from './list-due-entries.ts'

/** The condition under which a row of the log is given up. */
export function isGivenUp(limits: Pick<RetryLimits, 'maxAgeMs' | 'attemptCountMax'>) {
  return sql.fragment`(status = 'FAILED' AND ${isPastRetry(limits)})`
}

/** The condition under which a row of the log is not retried any more, if it failed. */
export function isPastRetry({
  maxAgeMs,
  attemptCountMax,
}: Pick<RetryLimits, 'maxAgeMs' | 'attemptCountMax'>) {
  return sql.fragment`(
    attempt_count >= ${attemptCountMax} OR created_at <= now() - ${maxAgeMs}::float8 * interval '1 millisecond'
  )`
}
