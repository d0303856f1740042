import { NOT_TOLD_CSV } from '../../core/log/log-csv.ts'
import type { ExplainedNotTold, NotToldCounts } from '../../core/log/not-told.ts'
import { describeGivenUp, STATUSES } from '../../core/log/status.ts'
import type { Query } from '../api.ts'
import { Download } from '../download.tsx'
import { EntryTime, headOf } from '../entries.tsx'
import {
  Badge,
  Choice,
  Field,
  Filters,
  ListProblem,
  More,
  State,
  Table,
  Time,
  Title,
  Value,
} from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { counted, numberOf } from '../text.ts'
import { useData, usePages } from '../use-data.ts'
import type { Visit } from '../visit.ts'

const PERIODS = [
  ['15m', 'Last 15 minutes'],
  ['1h', 'Last hour'],
  ['6h', 'Last 6 hours'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['90d', 'Last 90 days'],
  ['400d', 'Last 400 days'],
] as const
const PERIOD_DEFAULT = '7d'

/** Members whose event ended SKIPPED, or FAILED past its last retry: counted, and newest first. */
export function NotToldView({ query: { since: wanted, eventType, rule, reason, status }, visit }: Visit) {
  const since = PERIODS.find(([known]) => known === wanted)?.[0] ?? PERIOD_DEFAULT
  const asked = { since, eventType, rule, reason, status }
  const pages = usePages<ExplainedNotTold>(['not-told'], asked, visit)
  return (
    <>
      <Title name="Not told" />
      <p class="lead">
        Members who got no message and will not get one: their event was skipped, or it failed and is no
        longer retried.
      </p>
      <Filters view="not-told" values={asked}>
        <Choice label="Period" name="since" value={since} options={PERIODS} any={null} />
        <Choice
          label="Status"
          name="status"
          value={status}
          options={STATUSES.filter((status) => status !== 'SENT')}
        />
        <Field label="Event type" name="eventType" value={eventType} hint="claim.paid" />
        <Field label="Reason" name="reason" value={reason} hint="no email on file" />
        <Field label="Rule" name="rule" value={rule} hint="no-email" />
      </Filters>
      <Counts key={visit} asked={asked} />
      <ListProblem of={pages} />
      <Table
        label="Members who were not told"
        columns={['Time', 'Member', 'Event type', 'Status', ['Why', 'wide'], 'Rule']}
        rows={(pages.data ?? []).map((entry) => ({
          key: entry.locator,
          cells: [
            <EntryTime of={entry} />,
            <Value of={entry.partyLocator} mono />,
            <Value of={entry.eventType} />,
            <Badge of={entry.status} />,
            <Why of={entry} asked={asked} />,
            <Value of={entry.ruleId} mono />,
          ],
        }))}
      />
      <More pages={pages} one="entry" many="entries" />
      <Download
        key={JSON.stringify(asked)}
        path={['not-told']}
        query={asked}
        name="not-told.csv"
        head={NOT_TOLD_CSV.head}
        lineOf={NOT_TOLD_CSV.lineOf}
        remedy="Narrow the filters, or use the command not-told."
      />
    </>
  )
}

/** Leads to all of these with the same reason. */
function Why({ of: entry, asked }: { of: ExplainedNotTold; asked: Query }) {
  const words = entry.status === 'FAILED' ? entry.failureReason : (entry.because ?? entry.failureReason)
  const { failureReason: reason } = entry
  return (
    <>
      {reason === null ? (
        <Value of={words} />
      ) : (
        <a class="plain-link" href={hrefOf(['not-told'], { ...asked, reason: headOf(reason) })}>
          <Value of={words} />
        </a>
      )}
      {entry.status === 'FAILED' && <span class="faint">, {describeGivenUp(entry)}</span>}
    </>
  )
}

/** How many events and how many members: an event is not a member, and one member can miss many messages. */
function Counts({ asked }: { asked: Query }) {
  const loaded = useData<NotToldCounts>(['not-told', 'counts'], asked)
  const counts = loaded.data
  if (counts === null || counts.eventCount === 0) return <State of={loaded} />
  return (
    <section aria-labelledby="counts">
      <State of={loaded} />
      <h2 id="counts">{bothOf(counts)}</h2>
      {counts.cutAt !== null && (
        <p class="notice">
          There are more entries than are counted at once: these counts begin at <Time of={counts.cutAt} />.
        </p>
      )}
      <div class="columns">
        <Table
          label="Not told, by reason"
          columns={[
            ['Reason', 'wide'],
            ['Events', 'number'],
            ['Members', 'number'],
          ]}
          rows={counts.byReason.map(({ reason, eventCount, partyCount }) => ({
            key: reason,
            cells: [
              <a href={hrefOf(['not-told'], { ...asked, reason })}>
                <Value of={reason} />
              </a>,
              numberOf(eventCount),
              numberOf(partyCount),
            ],
          }))}
        />
        <Table
          label="Not told, by member"
          columns={['Member', ['Events', 'number']]}
          rows={counts.byParty.map(({ partyLocator, eventCount }) => ({
            key: partyLocator,
            cells: [
              <a href={hrefOf(['parties', partyLocator])}>
                <Value of={partyLocator} mono />
              </a>,
              numberOf(eventCount),
            ],
          }))}
        />
      </div>
      <Rest of={counts} />
    </section>
  )
}

function bothOf({ eventCount, partyCount }: Pick<NotToldCounts, 'eventCount' | 'partyCount'>): string {
  return `${counted(eventCount, 'event', 'events')} of ${counted(partyCount, 'member', 'members')}`
}

/** What the tables leave out. */
function Rest({ of: { byReason, reasonCount, byParty, partyCount } }: { of: NotToldCounts }) {
  const reasons = reasonCount - byReason.length
  const parties = partyCount - byParty.length
  const rest = [
    reasons > 0 && counted(reasons, 'more reason', 'more reasons'),
    parties > 0 && counted(parties, 'more member', 'more members'),
  ].filter((words) => words !== false)
  return rest.length === 0 ? null : <p class="faint">And {rest.join(' and ')}.</p>
}
