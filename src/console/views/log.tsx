import { CHANNELS } from '../../core/decision/channel.ts'
import { STATUSES } from '../../core/log/entry.ts'
import { isLogLocator, type LogEntry } from '../../core/log/log-entry.ts'
import {
  Badge,
  Choice,
  Field,
  filledIn,
  More,
  Problem,
  Table,
  Time,
  TimeField,
  Title,
  Value,
} from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { go, type Visit } from '../session.ts'
import { instantOf } from '../text.ts'
import { usePages } from '../use-data.ts'

const FILTERS = ['partyLocator', 'eventType', 'status', 'channel', 'eventId', 'from', 'to']

/** The log by any filters, newest first. */
export function LogView({ query, visit }: Visit) {
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query[name]]))
  const pages = usePages<LogEntry>(['log', 'list'], filter, visit)
  const search = (event: SubmitEvent) => {
    const { from = '', to = '', ...rest } = filledIn(event)
    const { eventId = '' } = rest
    go(
      isLogLocator(eventId)
        ? hrefOf(['log', eventId])
        : hrefOf(['log'], { ...rest, from: instantOf(from), to: instantOf(to) }),
    )
  }
  return (
    <>
      <Title name="Log" />
      <p class="lead">Every event has exactly one entry. Newest first.</p>
      <search>
        <form class="filters" onSubmit={search} key={JSON.stringify(filter)}>
          <Field label="Party" name="partyLocator" value={filter.partyLocator} />
          <Field label="Event type" name="eventType" value={filter.eventType} hint="claim.paid" />
          <Choice label="Status" name="status" value={filter.status} options={STATUSES} />
          <Choice label="Channel" name="channel" value={filter.channel} options={CHANNELS} />
          <Field label="Event id or locator" name="eventId" value={filter.eventId} />
          <TimeField label="From" name="from" value={filter.from} />
          <TimeField label="Before" name="to" value={filter.to} />
          <div class="actions">
            <button type="submit" class="primary">
              Search
            </button>
            <a class="button" href={hrefOf(['log'])}>
              Clear
            </a>
          </div>
        </form>
      </search>
      <Problem of={pages.problem} />
      <Table
        label="Log entries"
        head={['Time', 'Status', 'Event type', 'Party', 'Channel', 'Subject or reason']}
      >
        {pages.data?.map((entry) => (
          <tr key={entry.locator}>
            <td>
              <a href={hrefOf(['log', entry.locator])}>
                <Time of={entry.createdAt} />
              </a>
            </td>
            <td>
              <Badge of={entry.status} />
            </td>
            <td>
              <Value of={entry.eventType} />
            </td>
            <td>
              <Value of={entry.partyLocator} mono />
            </td>
            <td>{entry.channel}</td>
            <td class="wide">
              <Value of={entry.status === 'SENT' ? entry.subject : entry.failureReason} />
            </td>
          </tr>
        ))}
      </Table>
      <More pages={pages} one="entry" many="entries" />
    </>
  )
}
