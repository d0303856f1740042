import { csvLine } from '../text/csv.ts'
import type { ListedLogEntry } from './log-entry.ts'

/** What a list of entries shows as CSV, in this order. Not the text of the message. */
const COLUMNS = [
  'createdAt',
  'locator',
  'eventId',
  'partyLocator',
  'eventType',
  'channel',
  'status',
  'attemptCount',
  'givenUp',
  'failureReason',
  'sentAt',
] as const satisfies readonly (keyof ListedLogEntry)[]

/** The first line of a list as CSV. */
export const LOG_CSV_HEAD = csvLine(COLUMNS)

/** One line of a list as CSV. */
export function logCsvLine(item: ListedLogEntry): string {
  return csvLine(COLUMNS.map((column) => (column === 'givenUp' ? String(item.givenUp) : item[column])))
}
