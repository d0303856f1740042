import { describeGivenUp } from '../core/log/given-up.ts'
import type { ListedLogEntry } from '../core/log/log-entry.ts'
import { Badge, Table, Time, Value } from './parts.tsx'
import { Reason } from './reason.tsx'
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
