import { CHANNELS, nameOfChannel, shownSubject } from '../../../service/decide/party/channel.ts'
import type { ListedLogEntry } from '../../../service/model/log/log-entry.ts'
import type { ChosenFilterName } from '../../../service/model/log/log-filter.ts'
import { describeStatus, STATUSES } from '../../../service/model/log/status.ts'
import { Ask, useRefusal } from '../ask.tsx'
import { Download } from '../download.tsx'
import { type Filter, List, pickValues, type Row, timeCell, windowStart } from '../list.tsx'
import { Badge, go, Title } from '../parts.tsx'
import { buildHref, type Route } from '../route.ts'
import { nameOfStatus } from '../series.ts'
import { ago, inWords } from '../text.ts'
import { usePages } from '../use-data.ts'

const FILTERS_BY_NAME: Readonly<Record<ChosenFilterName, Omit<Filter, 'name'>>> = {
  notTold: { label: 'Members', options: [['true', 'Not told']] },
  eventType: { label: 'Event type', hint: 'claim.paid', named: 'event type' },
  status: { label: 'Status', options: STATUSES.map((status) => [status, nameOfStatus(status)]) },
  channel: {
    label: 'Channel',
    options: CHANNELS.map((channel) => [channel, inWords(nameOfChannel(channel))]),
  },
  reason: { label: 'Reason', hint: 'no email on file', named: 'reason' },
  rule: { label: 'Rule', hint: 'no-email', named: 'rule' },
  from: { label: 'From', isTime: true },
  to: { label: 'Before', isTime: true },
  partyLocator: { label: 'Member', named: 'member' },
  reference: { label: 'Claim, policy or invoice', named: 'reference' },
  eventId: { label: 'Event ID' },
  request: { label: 'Request' },
}
const FILTERS: readonly Filter[] = Object.entries(FILTERS_BY_NAME).map(([name, filter]) => ({
  name,
  ...filter,
}))
/** Filters that name a member, or entries of one event, claim or request. */
const NAMING: readonly string[] = [
  'partyLocator',
  'reference',
  'eventId',
  'request',
] satisfies ChosenFilterName[]
/** The filters of entries on a member's page. */
export const ENTRY_FILTERS: readonly Filter[] = FILTERS.filter(({ name }) => !NAMING.includes(name))

/** The log, filtered, newest first. */
export function LogView(route: Route) {
  const values = pickValues(FILTERS, route.query)
  const isNotTold = values.notTold !== undefined
  const refusal = useRefusal()
  const from = values.from && windowStart(values.from)
  const buildWanted = (from: string | undefined) => ({ kind: 'retry', filter: { ...values, from } })
  const pages = usePages<ListedLogEntry>(['log', 'list'], { ...values, cursor: route.query.cursor })
  return (
    <>
      <Title name={isNotTold ? 'Not told' : 'Log'} />
      <p class="text-light">
        {isNotTold
          ? 'No message was sent, and none will be.'
          : 'Every event has exactly one entry. Newest first.'}
      </p>
      {refusal === null && Object.values(values).some(Boolean) && (
        <p>
          <Ask
            verb="Try all again"
            what="all entries of this list whose member was not told"
            wanted={buildWanted(from)}
            buildSince={(since) => buildWanted(from && from > since ? from : since)}
            onAsked={() => go(location.hash)}
          />
        </p>
      )}
      <List
        label="Log entries"
        route={route}
        filters={FILTERS}
        pages={pages}
        renderRow={entryRow}
        noun={['entry', 'entries']}
      />
      <Download key={JSON.stringify(values)} query={values} name={isNotTold ? 'not-told.csv' : 'log.csv'} />
    </>
  )
}

/** An entry as a row that links to it. `words` formats its time. */
export function entryRow(entry: ListedLogEntry, words = ago): Row {
  const { locator, createdAt, eventType, channel, partyLocator, reference, status, failureReason } = entry
  const why = [entry.because ?? failureReason, entry.givenUp && 'Given up.'].filter(Boolean).join(' ')
  return {
    key: locator,
    href: buildHref(['log', locator]),
    cells: {
      Time: timeCell(createdAt, words),
      Status: <Badge status={describeStatus(entry)} />,
      'Event type': eventType,
      Member: partyLocator,
      About: reference === partyLocator ? null : reference,
      Channel: inWords(nameOfChannel(channel)),
      'Subject or reason': status === 'SENT' ? (shownSubject(channel, entry.subject) ?? entry.body) : why,
    },
  }
}
