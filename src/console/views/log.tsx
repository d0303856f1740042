import { CHANNELS } from '../../core/decision/channel.ts'
import { COUNT_WINDOW_NAMES, COUNT_WINDOWS } from '../../core/log/count-windows.ts'
import { LOG_CSV } from '../../core/log/log-csv.ts'
import type { ListedLogEntry } from '../../core/log/log-entry.ts'
import { isLogLocator } from '../../core/log/log-locator.ts'
import { STATUSES } from '../../core/log/status.ts'
import { Download } from '../download.tsx'
import { Entries } from '../entries.tsx'
import { Choice, Field, Filters, ListProblem, More, TimeField, Title } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { instantOf } from '../text.ts'
import { usePages } from '../use-data.ts'
import type { Visit } from '../visit.ts'

const FILTERS = [
  'notTold',
  'partyLocator',
  'eventType',
  'status',
  'channel',
  'eventId',
  'reason',
  'rule',
  'from',
  'to',
]

/** The log, filtered, newest first. */
export function LogView({ query, visit }: Visit) {
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query[name]]))
  const name = filter.notTold === undefined ? 'Log' : 'Not told'
  const pages = usePages<ListedLogEntry>(['log', 'list'], filter, visit)
  return (
    <>
      <Title name={name} />
      <p class="lead">
        {filter.notTold === undefined
          ? 'Every event has exactly one entry. Newest first.'
          : 'Members who were not told and will not be: skipped, or failed past the last retry. Newest first.'}
      </p>
      <Filters view="log" values={filter} hrefFor={hrefFor}>
        <Choice label="Members" name="notTold" value={filter.notTold} options={[['true', 'Not told']]} />
        <Field label="Party locator" name="partyLocator" value={filter.partyLocator} />
        <Field label="Event type" name="eventType" value={filter.eventType} hint="claim.paid" />
        <Choice label="Status" name="status" value={filter.status} options={STATUSES} />
        <Choice label="Channel" name="channel" value={filter.channel} options={CHANNELS} />
        <Field label="Event ID or entry locator" name="eventId" value={filter.eventId} />
        <Field label="Reason" name="reason" value={filter.reason} hint="no email on file" />
        <Field label="Rule" name="rule" value={filter.rule} hint="no-email" />
        <TimeField label="From" name="from" value={startOf(filter.from)} />
        <TimeField label="Before" name="to" value={startOf(filter.to)} />
      </Filters>
      <ListProblem of={pages} />
      <Entries label="Log entries" of={pages.data ?? []} />
      <More pages={pages} one="entry" many="entries" />
      <Download
        key={JSON.stringify(filter)}
        path={['log', 'list']}
        query={filter}
        name={filter.notTold === undefined ? 'log.csv' : 'not-told.csv'}
        head={LOG_CSV.head}
        lineOf={LOG_CSV.lineOf}
        remedy="Narrow the filters."
      />
    </>
  )
}

/** The time that is meant by a period of the overview; other times as they are. */
function startOf(time: string | undefined): string | undefined {
  const window = COUNT_WINDOW_NAMES.find((name) => name === time)
  return window === undefined
    ? time
    : new Date(Date.now() - COUNT_WINDOWS[window].lengthS * 1_000).toISOString()
}

/** A locator leads straight to its entry. */
function hrefFor({ from = '', to = '', eventId = '', ...rest }: Record<string, string>): string {
  return isLogLocator(eventId)
    ? hrefOf(['log', eventId])
    : hrefOf(['log'], { ...rest, eventId, from: instantOf(from), to: instantOf(to) })
}
