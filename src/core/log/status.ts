import type { Outcome } from '../decision/rule-result.ts'

/** The specification's NotificationStatus. */
export const STATUSES = ['SENT', 'FAILED', 'SKIPPED'] as const
export type Status = (typeof STATUSES)[number]

/** The status of a row whose decision was carried out. */
export const STATUS_OF = { SEND: 'SENT', FAIL: 'FAILED', SKIP: 'SKIPPED' } as const satisfies Record<
  Outcome,
  Status
>
