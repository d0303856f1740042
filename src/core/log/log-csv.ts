import { shownSubject } from '../decision/channel.ts'
import { describeChange } from '../party/preference-changes.ts'
import type { PreferenceChange } from '../party/preferences.ts'
import { csvList } from '../text/csv.ts'
import type { ListedLogEntry } from './log-entry.ts'
import { describeStatus } from './status.ts'

const CSV = csvList([
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

/** A list of entries as CSV, with what the console shows. The body of the message is left out. */
export const LOG_CSV = {
  head: CSV.head,
  formatChange: (change: PreferenceChange & { readonly partyLocator: string }): string =>
    CSV.formatLine({
      createdAt: change.changedAt,
      status: 'PREFERENCES',
      partyLocator: change.partyLocator,
      channel: change.after.preferredChannel,
      because: describeChange(change),
    }),
  formatLine: (entry: ListedLogEntry): string =>
    CSV.formatLine({
      ...entry,
      status: describeStatus(entry),
      subject: shownSubject(entry.channel, entry.subject),
    }),
}
