import type { Outcome } from '../decision/decide.ts'
import { counted } from '../text/count.ts'

/** The specification's NotificationStatus. */
export const STATUSES = ['SENT', 'FAILED', 'SKIPPED'] as const
export type Status = (typeof STATUSES)[number]

export const STATUS_OF = { SEND: 'SENT', FAIL: 'FAILED', SKIP: 'SKIPPED' } as const satisfies Record<
  Outcome,
  Status
>

export function describeGivenUp({ attemptCount }: { readonly attemptCount: number }): string {
  return attemptCount === 0
    ? 'given up without a retry'
    : `given up after ${counted(attemptCount, 'attempt')}`
}
