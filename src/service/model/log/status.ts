import type { Outcome } from '../../decide/decision/result.ts'
import { counted } from '../../text/count.ts'

/** The specification's NotificationStatus. */
export const STATUSES = ['SENT', 'FAILED', 'SKIPPED'] as const
export type Status = (typeof STATUSES)[number]

export const STATUS_OF = { SEND: 'SENT', FAIL: 'FAILED', SKIP: 'SKIPPED' } as const satisfies Record<
  Outcome,
  Status
>

/** The status, except for a message that only a placeholder recorded. */
export function describeStatus({
  status,
  recordedOnly,
}: {
  status: Status
  recordedOnly: boolean | null
}): string {
  return recordedOnly ? 'RECORDED' : status
}

/** The status of a row with this outcome; undefined for an outcome that only another version knows. */
export function toStatus(outcome: string): Status | undefined {
  return Object.hasOwn(STATUS_OF, outcome) ? STATUS_OF[outcome as Outcome] : undefined
}

/** Counts decisions: `attemptCount` starts at 0 or 1, depending on whether the first one was to send. */
export function describeGivenUp({ decisions }: { readonly decisions: readonly unknown[] }): string {
  if (decisions.length === 0) return 'given up'
  const retryCount = decisions.length - 1
  return retryCount === 0
    ? 'given up without a retry'
    : `given up after the first attempt and ${counted(retryCount, 'retry', 'retries')}`
}

/** The name of an entry's nth decision, from 0. */
export function nameOfAttempt(index: number): string {
  return index === 0 ? 'first attempt' : `retry ${index}`
}
