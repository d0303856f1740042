import { isRecordedOnly } from '../core/attempt/delivery.ts'
import { CHANNEL_NAMES } from '../core/decision/channel.ts'
import type { ListedLogEntry } from '../core/log/log-entry.ts'
import { describeGivenUp } from '../core/log/status.ts'
import { type Row, timeCell } from './list.tsx'
import { Badge } from './parts.tsx'
import { hrefOf } from './route.ts'
import { ago, inWords } from './text.ts'

/** The columns of a list of entries. */
export const ENTRY_COLUMNS = [
  ['Time', 'short'],
  ['Status', 'short'],
  ['Event type', 'middle'],
  ['Member', 'middle mono'],
  ['Channel', 'short'],
  'Subject or reason',
] as const

/** An entry as a row that links to it. `words` formats its time. */
export function entryRow(entry: ListedLogEntry, words = ago): Row {
  const { locator, createdAt, eventType, channel, partyLocator, status, subject, failureReason } = entry
  const reason = failureReason && `${failureReason}${entry.givenUp ? `, ${describeGivenUp(entry)}` : ''}`
  return {
    key: locator,
    href: hrefOf(['log', locator]),
    cells: {
      Time: timeCell(createdAt, words),
      Status: <Badge of={statusOf(entry)} />,
      'Event type': eventType,
      Member: partyLocator,
      Channel: inWords(CHANNEL_NAMES[channel]),
      'Subject or reason': status === 'SENT' ? subject : (reason ?? subject),
    },
  }
}

/** The status, except for a message that only a placeholder recorded. */
export function statusOf({ status, receipt }: ListedLogEntry): string {
  return isRecordedOnly(receipt) ? 'RECORDED' : status
}
