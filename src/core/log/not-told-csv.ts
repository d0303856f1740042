import { csvList } from '../text/csv.ts'
import type { ExplainedNotTold } from './not-told.ts'

/** What a list of them shows as CSV, in this order. */
export const NOT_TOLD_CSV = csvList([
  'createdAt',
  'locator',
  'eventId',
  'partyLocator',
  'eventType',
  'channel',
  'status',
  'attemptCount',
  'failureReason',
  'ruleId',
  'because',
] as const satisfies readonly (keyof ExplainedNotTold)[])
