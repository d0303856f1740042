import { CHANNEL_NAMES, CHANNELS } from '../../core/decision/channel.ts'
import type { ListedLogEntry } from '../../core/log/log-entry.ts'
import { STATUSES } from '../../core/log/status.ts'
import { Download } from '../download.tsx'
import { ENTRY_COLUMNS, entryRow } from '../entries.tsx'
import { type Filter, List, valuesOf } from '../list.tsx'
import { Title } from '../parts.tsx'
import { nameOfStatus } from '../series.ts'
import { inWords } from '../text.ts'
import { usePages } from '../use-data.ts'
import type { Visit } from '../visit.ts'

/** The filters of entries, shared by the log and a member's page. */
export const ENTRY_FILTERS: readonly Filter[] = [
  { name: 'notTold', label: 'Members', options: [['true', 'Not told']] },
  { name: 'eventType', label: 'Event type', hint: 'claim.paid' },
  { name: 'status', label: 'Status', options: STATUSES.map((status) => [status, nameOfStatus(status)]) },
  {
    name: 'channel',
    label: 'Channel',
    options: CHANNELS.map((channel) => [channel, inWords(CHANNEL_NAMES[channel])]),
  },
  { name: 'reason', label: 'Reason', hint: 'no email on file' },
  { name: 'rule', label: 'Rule', hint: 'no-email' },
  { name: 'from', label: 'From', isTime: true },
  { name: 'to', label: 'Before', isTime: true },
]
const FILTERS: readonly Filter[] = [
  ...ENTRY_FILTERS,
  { name: 'partyLocator', label: 'Party locator' },
  { name: 'reference', label: 'Claim, policy or invoice' },
  { name: 'eventId', label: 'Event ID' },
]

/** The log, filtered, newest first. */
export function LogView({ query, visit }: Visit) {
  const values = valuesOf(FILTERS, query)
  const isNotTold = values.notTold !== undefined
  const pages = usePages<ListedLogEntry>(['log', 'list'], { ...values, cursor: query.cursor }, visit)
  return (
    <>
      <Title name={isNotTold ? 'Not told' : 'Log'} />
      <p class="faint">
        {isNotTold
          ? 'Skipped, or failed past the last retry.'
          : 'Every event has exactly one entry. Newest first.'}
      </p>
      <List
        at={['log']}
        label="Log entries"
        filters={FILTERS}
        query={query}
        pages={pages}
        columns={ENTRY_COLUMNS}
        rowOf={entryRow}
        one="entry"
        many="entries"
      />
      <Download key={JSON.stringify(values)} query={values} name={isNotTold ? 'not-told.csv' : 'log.csv'} />
    </>
  )
}
