import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Page } from '../../core/list/page.ts'
import type { ExplainedNotTold } from '../../core/log/not-told.ts'
import { NOT_TOLD_CSV_HEAD, notToldCsvLine } from '../../core/log/not-told-csv.ts'
import type { Query } from '../api.ts'
import {
  Badge,
  Choice,
  Field,
  Filters,
  More,
  NOT_LOADED,
  Problem,
  Table,
  Time,
  Title,
  Value,
} from '../parts.tsx'
import { hrefOf } from '../route.ts'
import type { Visit } from '../session.ts'
import { counted } from '../text.ts'
import { useLoad, usePages } from '../use-data.ts'

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
      <Problem of={pages.problem} title={NOT_LOADED} />
      <Table
        label="Members who were not told"
        head={['Time', 'Member', 'Event type', 'Status', 'Why', 'Rule']}
      >
        {pages.data?.map((entry) => (
          <tr key={entry.locator}>
            <td>
              <a href={hrefOf(['log', entry.locator])}>
                <Time of={entry.createdAt} />
              </a>
            </td>
            <td>
              <Value of={entry.partyLocator} mono />
            </td>
            <td>
              <Value of={entry.eventType} />
            </td>
            <td>
              <Badge of={entry.status} />
            </td>
            <td class="wide">
              <Value
                of={entry.status === 'FAILED' ? entry.failureReason : (entry.because ?? entry.failureReason)}
              />
              {entry.status === 'FAILED' && <span class="faint"> No further retries.</span>}
            </td>
            <td>
              <Value of={entry.ruleId} mono />
            </td>
          </tr>
        ))}
      </Table>
      <More pages={pages} one="entry" many="entries" />
      <Download query={asked} key={JSON.stringify(asked)} />
    </>
  )
}

const PAGE_ITEMS = '200'
/** Spreadsheet programs still open a file of this size with ease. */
const DOWNLOAD_ITEMS_MAX = 50_000

/** Saves the whole list as a file. */
function Download({ query }: { query: Query }) {
  const load = useLoad<Page<ExplainedNotTold>>(['not-told'], { ...query, limit: PAGE_ITEMS })
  const [state, setState] = useState<{ words: string; problem: string | null; isBusy: boolean } | null>(null)

  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])

  async function download(): Promise<void> {
    const lines = [NOT_TOLD_CSV_HEAD]
    const found = () => counted(lines.length - 1, 'entry', 'entries')
    for (let cursor: string | null | undefined; cursor !== null && lines.length <= DOWNLOAD_ITEMS_MAX; ) {
      setState({ words: `Loaded ${found()}…`, problem: null, isBusy: true })
      const told = await load({ cursor }, stop.current.signal)
      if (told === null) return
      if (told.data === undefined)
        return setState({ words: '', problem: `Could not save the file. ${told.problem}`, isBusy: false })
      lines.push(...told.data.items.map(notToldCsvLine))
      cursor = told.data.nextCursor
      if (cursor !== null && lines.length > DOWNLOAD_ITEMS_MAX) {
        const problem = `The file holds only the newest ${found()}. Narrow the filters, or use the command not-told.`
        save(lines)
        return setState({ words: '', problem, isBusy: false })
      }
    }
    save(lines)
    setState({ words: `Saved ${found()}.`, problem: null, isBusy: false })
  }

  return (
    <>
      <p class="download">
        <button type="button" onClick={download} disabled={state?.isBusy}>
          Download as CSV
        </button>
        <span role="status" class="faint">
          {state?.words}
        </span>
      </p>
      <Problem of={state?.problem ?? null} />
    </>
  )
}

function save(lines: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...lines], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = 'not-told.csv'
  link.click()
  URL.revokeObjectURL(url)
}
