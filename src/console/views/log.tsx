import { CHANNELS } from '../../core/decision/channel.ts'
import type { LogEntry } from '../../core/log/log-entry.ts'
import { isLogLocator } from '../../core/log/log-locator.ts'
import { STATUSES } from '../../core/log/status.ts'
import {
  Badge,
  Choice,
  Field,
  Filters,
  ListProblem,
  More,
  Table,
  Time,
  TimeField,
  Title,
  Value,
} from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { instantOf } from '../text.ts'
import { usePages } from '../use-data.ts'
import type { Visit } from '../visit.ts'

const FILTERS = ['partyLocator', 'eventType', 'status', 'channel', 'eventId', 'from', 'to']

/** The log, filtered, newest first. */
export function LogView({ query, visit }: Visit) {
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query[name]]))
  const pages = usePages<LogEntry>(['log', 'list'], filter, visit)
  return (
    <>
      <Title name="Log" />
      <p class="lead">Every event has exactly one entry. Newest first.</p>
      <Filters view="log" values={filter} hrefFor={hrefFor}>
        <Field label="Party locator" name="partyLocator" value={filter.partyLocator} />
        <Field label="Event type" name="eventType" value={filter.eventType} hint="claim.paid" />
        <Choice label="Status" name="status" value={filter.status} options={STATUSES} />
        <Choice label="Channel" name="channel" value={filter.channel} options={CHANNELS} />
        <Field label="Event ID or entry locator" name="eventId" value={filter.eventId} />
        <TimeField label="From" name="from" value={filter.from} />
        <TimeField label="Before" name="to" value={filter.to} />
      </Filters>
      <ListProblem of={pages} />
      <Table
        label="Log entries"
        columns={['Time', 'Status', 'Event type', 'Member', 'Channel', ['Subject or reason', 'wide']]}
        rows={(pages.data ?? []).map((entry) => ({
          key: entry.locator,
          cells: [
            <a href={hrefOf(['log', entry.locator])}>
              <Time of={entry.createdAt} />
            </a>,
            <Badge of={entry.status} />,
            <Value of={entry.eventType} />,
            <Value of={entry.partyLocator} mono />,
            entry.channel,
            <Value of={entry.status === 'SENT' ? entry.subject : entry.failureReason} />,
          ],
        }))}
      />
      <More pages={pages} one="entry" many="entries" />
    </>
  )
}

/** A locator leads straight to its entry. */
function hrefFor({ from = '', to = '', eventId = '', ...rest }: Record<string, string>): string {
  return isLogLocator(eventId)
    ? hrefOf(['log', eventId])
    : hrefOf(['log'], { ...rest, eventId, from: instantOf(from), to: instantOf(to) })
}
