import { csvList } from '../text/csv.ts'
import type { ListedLogEntry } from './log-entry.ts'

/** The CSV columns of a list of entries. The message text is left out. */
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
