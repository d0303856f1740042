import { isRecordedOnly } from '../core/attempt/delivery.ts'
import { CHANNEL_NAMES } from '../core/decision/channel.ts'
import type { ListedLogEntry } from '../core/log/log-entry.ts'
import { describeGivenUp } from '../core/log/status.ts'
import { type Row, timeCell } from './list.tsx'
import { Badge } from './parts.tsx'
import { hrefOf } from './route.ts'
import { inWords, localTime } from './text.ts'

/** The columns of a list of entries. */
export const ENTRY_COLUMNS = [
  ['Time', 'short'],
  ['Status', 'short'],
  ['Event type', 'middle'],
  ['Member', 'middle mono'],
  ['Channel', 'short'],
  'Subject or reason',
] as const
/** For one member, whom no row names; times are dates. */
export const TIMELINE_COLUMNS = ENTRY_COLUMNS.filter(([name]) => name !== 'Member').map((column) =>
  column[0] === 'Time' ? (['Time', 'middle'] as const) : column,
)

/** An entry as a row, which leads to it. */
export function entryRow(entry: ListedLogEntry): Row {
  const { locator, createdAt, eventType, channel, partyLocator } = entry
  return {
    key: locator,
    href: hrefOf(['log', locator]),
    cells: [
      timeCell(createdAt),
      <Badge key="status" of={statusOf(entry)} />,
      eventType,
      partyLocator,
      inWords(CHANNEL_NAMES[channel]),
      subjectOrReason(entry),
    ],
  }
}

/** A row of one member's timeline. */
export function timelineRow(entry: ListedLogEntry): Row {
  const { cells, ...row } = entryRow(entry)
  const [, status, eventType, , ...rest] = cells
  return { ...row, cells: [timeCell(entry.createdAt, localTime), status ?? null, eventType ?? null, ...rest] }
}

/** The status, but for a message that only a placeholder recorded. */
export function statusOf({ status, receipt }: ListedLogEntry): string {
  return isRecordedOnly(receipt) ? 'RECORDED' : status
}

/** The reason of an entry that was not sent, or the subject of one that was. */
function subjectOrReason(entry: ListedLogEntry): string | null {
  const { status, subject, failureReason, givenUp } = entry
  if (status === 'SENT' || failureReason === null) return subject
  return `${failureReason}${givenUp ? `, ${describeGivenUp(entry)}` : ''}`
}
