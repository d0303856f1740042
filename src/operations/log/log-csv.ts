import type { ListedLogEntry } from '../../service/model/log/log-entry.ts'
import { csvList } from '../../service/text/csv.ts'

/** A list of entries as CSV. The body of the message is left out. */
export const LOG_CSV = csvList([
  'createdAt',
  'status',
  'eventType',
  'partyLocator',
  'reference',
  'channel',
  'subject',
  'because',
  'failureReason',
  'givenUp',
  'attemptCount',
  'sentAt',
  'locator',
  'eventId',
] as const satisfies readonly (keyof ListedLogEntry)[])
