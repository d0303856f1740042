import { csvLine } from '../text/csv.ts'
import type { ExplainedNotTold } from './not-told.ts'

/** What a list of them shows as CSV, in this order. */
const COLUMNS = [
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
] as const satisfies readonly (keyof ExplainedNotTold)[]

/** The first line of a list as CSV. */
export const NOT_TOLD_CSV_HEAD = csvLine(COLUMNS)

/** One line of a list as CSV. */
export function notToldCsvLine(item: ExplainedNotTold): string {
  return csvLine(COLUMNS.map((column) => item[column]))
}
