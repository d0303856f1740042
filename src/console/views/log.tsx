import { CHANNELS } from '../../core/decision/channel.ts'
import { LOG_CSV } from '../../core/log/log-csv.ts'
import type { ListedLogEntry } from '../../core/log/log-entry.ts'
import { isLogLocator } from '../../core/log/log-locator.ts'
import { STATUSES } from '../../core/log/status.ts'
import { Download } from '../download.tsx'
import { ENTRY_COLUMNS, entryRow } from '../entries.tsx'
import { type Filter, List } from '../list.tsx'
import { Title } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { inWords } from '../text.ts'
import { usePages } from '../use-data.ts'
import type { Visit } from '../visit.ts'

const FILTERS: readonly Filter[] = [
  { name: 'notTold', label: 'Members', options: [['true', 'Not told']] },
  { name: 'partyLocator', label: 'Party locator' },
  { name: 'eventType', label: 'Event type', hint: 'claim.paid' },
  { name: 'status', label: 'Status', options: STATUSES.map((status) => [status, inWords(status)]) },
  { name: 'channel', label: 'Channel', options: CHANNELS },
  { name: 'eventId', label: 'Event ID or entry locator' },
  { name: 'reason', label: 'Reason', hint: 'no email on file' },
  { name: 'rule', label: 'Rule', hint: 'no-email' },
  { name: 'from', label: 'From', isTime: true },
  { name: 'to', label: 'Before', isTime: true },
]

/** The log, filtered, newest first. */
export function LogView({ query, visit }: Visit) {
  const values = Object.fromEntries(FILTERS.map(({ name }) => [name, query[name]]))
  const isNotTold = values.notTold !== undefined
  const pages = usePages<ListedLogEntry>(['log', 'list'], values, visit)
  return (
    <>
      <Title name={isNotTold ? 'Not told' : 'Log'} />
      <p class="faint">
        {isNotTold
          ? 'Members who were not told and will not be: skipped, or failed past the last retry.'
          : 'Every event has exactly one entry. Newest first.'}
      </p>
      <List
        view="log"
        label="Log entries"
        filters={FILTERS}
        values={values}
        hrefFor={hrefFor}
        pages={pages}
        columns={ENTRY_COLUMNS}
        rowOf={entryRow}
        one="entry"
        many="entries"
      />
      <Download
        key={JSON.stringify(values)}
        path={['log', 'list']}
        query={values}
        name={isNotTold ? 'not-told.csv' : 'log.csv'}
        {...LOG_CSV}
      />
    </>
  )
}

/** A locator leads straight to its entry. */
function hrefFor(filled: Record<string, string>): string {
  const { eventId = '' } = filled
  return isLogLocator(eventId) ? hrefOf(['log', eventId]) : hrefOf(['log'], filled)
}
