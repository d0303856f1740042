import type { ListedLogEntry } from '../core/log/log-entry.ts'
import { describeGivenUp } from '../core/log/status.ts'
import { Clamped, type Row, Table, timeCell } from './list.tsx'
import { Badge, Value } from './parts.tsx'
import { hrefOf } from './route.ts'
import { visible } from './text.ts'

/** The columns of a list of entries. */
export const ENTRY_COLUMNS = [
  ['Time', 'short'],
  ['Status', 'short'],
  ['Event type', 'middle'],
  ['Member', 'middle mono'],
  ['Channel', 'short'],
  'Subject or reason',
] as const
const COLUMNS_OF_ONE_MEMBER = ENTRY_COLUMNS.filter(([name]) => name !== 'Member')

/** Entries of one member as a table, which does not name the member in each row. */
export function Entries({ label, of }: { label: string; of: readonly ListedLogEntry[] }) {
  const rows = of.map((entry) => entryRow(entry, []))
  return <Table label={label} columns={COLUMNS_OF_ONE_MEMBER} rows={rows} />
}

/** An entry as a row, which leads to it. */
export function entryRow(
  entry: ListedLogEntry,
  member: readonly (string | null)[] = [entry.partyLocator],
): Row {
  const { locator, createdAt, status, eventType, channel } = entry
  return {
    key: locator,
    href: hrefOf(['log', locator]),
    cells: [
      timeCell(createdAt),
      <Badge key="status" of={status} />,
      eventType,
      ...member,
      channel,
      subjectOrReason(entry),
    ],
  }
}

/** The reason of an entry that was not sent, or the subject of one that was. */
function subjectOrReason(entry: ListedLogEntry): Row['cells'][number] {
  const { status, subject, failureReason, givenUp } = entry
  if (status === 'SENT' || failureReason === null) return subject
  const words = `${visible(failureReason)}${givenUp ? `, ${describeGivenUp(entry)}` : ''}`
  return {
    title: words,
    show: (
      <span class="reason">
        <Clamped text={words} />
        <a href={hrefOf(['log'], { reason: headOf(failureReason) })} title="All entries with this reason">
          Same reason
        </a>
      </span>
    ),
  }
}

/** A reason, with a link to all entries that have it, whatever follows its colon. */
export function Reason({ of: reason }: { of: string | null }) {
  if (reason === null) return <Value of={null} />
  return (
    <a href={hrefOf(['log'], { reason: headOf(reason) })} title="All entries with this reason">
      <Value of={reason} />
    </a>
  )
}

/** The part of a reason that is counted as one. */
function headOf(reason: string): string {
  return reason.split(':', 1)[0] ?? ''
}
