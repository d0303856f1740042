import type { ListedLogEntry } from '../core/log/log-entry.ts'
import { describeGivenUp } from '../core/log/status.ts'
import { Badge, Table, Time, Value } from './parts.tsx'
import { hrefOf } from './route.ts'

interface EntriesProps {
  readonly label: string
  readonly of: readonly ListedLogEntry[]
  /** All are of one member, who is not named in each row. */
  readonly ofOneMember?: boolean
}

/** Entries of the log as a table. */
export function Entries({ label, of: entries, ofOneMember = false }: EntriesProps) {
  const member = ofOneMember ? [] : ['Member']
  return (
    <Table
      label={label}
      columns={['Time', 'Status', 'Event type', ...member, 'Channel', ['Subject or reason', 'wide']]}
      rows={entries.map((entry) => ({
        key: entry.locator,
        cells: [
          <EntryTime of={entry} />,
          <Badge of={entry.status} />,
          <Value of={entry.eventType} />,
          ...member.map(() => <Value of={entry.partyLocator} mono />),
          entry.channel,
          <SubjectOrReason of={entry} />,
        ],
      }))}
    />
  )
}

/** When an entry was made; it leads to the entry. */
export function EntryTime({
  of: { locator, createdAt },
}: {
  of: Pick<ListedLogEntry, 'locator' | 'createdAt'>
}) {
  return (
    <a href={hrefOf(['log', locator])}>
      <Time of={createdAt} />
    </a>
  )
}

/** Why an entry is as it is, or the subject of what was sent. */
function SubjectOrReason({ of: entry }: { of: ListedLogEntry }) {
  if (entry.status === 'SENT') return <Value of={entry.subject} />
  return (
    <>
      <Reason of={entry.failureReason} />
      {entry.givenUp && <span class="faint">, {describeGivenUp(entry)}</span>}
    </>
  )
}

/** Why an entry is not SENT; it leads to all entries of the log with this reason, whatever follows its colon. */
export function Reason({ of: reason, words = reason }: { of: string | null; words?: string | null }) {
  if (reason === null) return <Value of={words} />
  return (
    <a
      class="plain-link"
      href={hrefOf(['log'], { reason: headOf(reason) })}
      title="All entries with this reason"
    >
      <Value of={words} />
    </a>
  )
}

/** The part of a reason that is counted as one. */
export function headOf(reason: string): string {
  return reason.split(':', 1)[0] ?? ''
}
