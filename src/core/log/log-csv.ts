import { csvList } from '../text/csv.ts'
import type { ListedLogEntry } from './log-entry.ts'

/** What a list of entries shows as CSV, in this order. Not the text of the message. */
export const LOG_CSV = csvList([
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
] as const satisfies readonly (keyof ListedLogEntry)[])
