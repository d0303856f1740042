import { CHANNELS, nameOfChannel, shownSubject } from '../../../service/decide/party/channel.ts'
import type { ListedLogEntry } from '../../../service/model/log/log-entry.ts'
import {
  type ChosenFilterName,
  LOG_FILTER_LIST,
  type LogFilterName,
} from '../../../service/model/log/log-filters.ts'
import { describeStatus, STATUSES } from '../../../service/model/log/status.ts'
import { Ask, narrowByTime, useRefusal } from '../ask.tsx'
import { Download } from '../download.tsx'
import { type Filter, List, pickValues, type Row, timeCell, windowStart } from '../list.tsx'
import { Badge, go, Title } from '../parts.tsx'
import { buildHref, type Route } from '../route.ts'
import { nameOfStatus } from '../series.ts'
import { ago, inWords } from '../text.ts'
import { usePages } from '../use-data.ts'
import { MayLack } from '../waiting.tsx'

/** The contents of a field, other than a text to type. */
const FIELDS: { readonly [Name in LogFilterName]?: Omit<Filter, 'name' | 'label'> } = {
  notTold: { options: [['true', 'Not told']] },
  eventType: { hint: 'claim.paid', named: 'event type' },
  status: { options: STATUSES.map((status) => [status, nameOfStatus(status)]) },
  channel: { options: CHANNELS.map((channel) => [channel, inWords(nameOfChannel(channel))]) },
  reason: { isLinked: true },
  reasonPrefix: { hint: 'contact could not', named: 'reason' },
  rule: { hint: 'no-email', named: 'rule' },
  from: { isTime: true },
  to: { isTime: true },
  partyLocator: { named: 'member' },
  reference: { named: 'reference' },
}
const FILTERS: readonly Filter[] = LOG_FILTER_LIST.flatMap(([name, { label }]) =>
  label === null ? [] : [{ name, label, ...FIELDS[name] }],
)
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
      <Title key={String(isNotTold)} name={isNotTold ? 'Not told' : 'Log'} />
      <p class="text-light">
        {isNotTold
          ? 'No message was sent, and none will be.'
          : 'Every event has exactly one entry. Newest first.'}
      </p>
      {refusal === null && values.status !== 'SENT' && Object.values(values).some(Boolean) && (
        <p>
          <Ask
            verb="Try all again"
            what="all entries of this list whose member was not told"
            wanted={buildWanted(from)}
            hrefOfCause={(reasonPrefix) => buildHref(['log'], { ...values, notTold: 'true', reasonPrefix })}
            warning={isNotTold ? undefined : RETRIED}
            narrow={narrowByTime((since) => buildWanted(from && from > since ? from : since))}
            onAsked={() => go(location.hash)}
          />
        </p>
      )}
      {values.reference !== undefined && <MayLack what="claim, policy or invoice" />}
      {values.reference === undefined && values.partyLocator !== undefined && <MayLack what="member" />}
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

const RETRIED =
  'Failed entries that wait for a retry are not among them: the service tries them again by itself.'

/** An entry as a row that links to it. `words` formats its time. */
export function entryRow(entry: ListedLogEntry, words = ago): Row {
  const { locator, createdAt, eventType, channel, partyLocator, reference, status, failureReason } = entry
  const cause = status === 'FAILED' && entry.because !== null && `(${failureReason})`
  const why = [entry.because ?? failureReason, entry.givenUp && 'Given up.', cause].filter(Boolean).join(' ')
  return {
    key: locator,
    href: buildHref(['log', locator]),
    cells: {
      Time: timeCell(createdAt, words),
      Status: <Badge status={describeStatus(entry)} />,
      'Event type': eventType,
      Member: partyLocator,
      About: reference === partyLocator ? null : reference,
      Channel: status === 'SKIPPED' ? null : inWords(nameOfChannel(channel)),
      'Subject or reason': status === 'SENT' ? (shownSubject(channel, entry.subject) ?? entry.body) : why,
    },
  }
}
