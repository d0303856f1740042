import { useMemo } from 'preact/hooks'
import { describeGivenUp } from '../../core/log/given-up.ts'
import type { ExplainedNotTold } from '../../core/log/not-told.ts'
import { DownloadNotTold } from '../download-not-told.tsx'
import { Badge, Choice, Field, Filters, ListProblem, More, Table, Time, Title, Value } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { usePages } from '../use-data.ts'
import type { Visit } from '../visit.ts'

const DAYS = [
  ['1', 'Last 24 hours'],
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
  ['90', 'Last 90 days'],
  ['400', 'Last 400 days'],
] as const
const DAYS_DEFAULT = '7'
const DAY_MS = 86_400_000

/** Members whose event ended SKIPPED, or FAILED past its last retry, newest first. */
export function NotToldView({ query: { days: wanted, eventType, rule }, visit }: Visit) {
  const days = DAYS.find(([known]) => known === wanted)?.[0] ?? DAYS_DEFAULT
  const since = useMemo(() => new Date(Date.now() - Number(days) * DAY_MS).toISOString(), [days])
  const asked = { since, eventType, rule }
  const pages = usePages<ExplainedNotTold>(['not-told'], asked, visit)
  return (
    <>
      <Title name="Not told" />
      <p class="lead">
        Members who got no message and will not get one: their event was skipped, or it failed and is no
        longer retried.
      </p>
      <Filters view="not-told" values={{ days, eventType, rule }}>
        <Choice label="Period" name="days" value={days} options={DAYS} any={null} />
        <Field label="Event type" name="eventType" value={eventType} hint="claim.paid" />
        <Field label="Rule" name="rule" value={rule} hint="no-email" />
      </Filters>
      <ListProblem of={pages} />
      <Table
        label="Members who were not told"
        columns={['Time', 'Member', 'Event type', 'Status', ['Why', 'wide'], 'Rule']}
        rows={(pages.data ?? []).map((entry) => ({
          key: entry.locator,
          cells: [
            <a href={hrefOf(['log', entry.locator])}>
              <Time of={entry.createdAt} />
            </a>,
            <Value of={entry.partyLocator} mono />,
            <Value of={entry.eventType} />,
            <Badge of={entry.status} />,
            <>
              <Value
                of={entry.status === 'FAILED' ? entry.failureReason : (entry.because ?? entry.failureReason)}
              />
              {entry.status === 'FAILED' && <span class="faint">, {describeGivenUp(entry)}</span>}
            </>,
            <Value of={entry.ruleId} mono />,
          ],
        }))}
      />
      <More pages={pages} one="entry" many="entries" />
      <DownloadNotTold query={asked} key={JSON.stringify(asked)} />
    </>
  )
}
