import { useEffect, useRef, useState } from 'preact/hooks'
import {
  type BacktestReport,
  CHANGED_CSV,
  type ChangedEvent,
  type KindOfChange,
  listChanged,
  reportBacktest,
} from '../../../authoring/back-test/backtest-report.ts'
import type { ChangeKind } from '../../../authoring/diff/compare-tables.ts'
import type { DecisionPage, ListedMember } from '../../../service/model/decision-group.ts'
import { read } from '../api.ts'
import { saveFile } from '../download.tsx'
import { Table, timeCell } from '../list.tsx'
import { Button, Field, filledIn, Problem, Time, Value } from '../parts.tsx'
import { buildHref } from '../route.ts'
import { counted, formatDay, formatNumber } from '../text.ts'
import type { Verdict } from './draft.ts'

interface Result {
  readonly table: string
  readonly eventTypes: readonly string[]
  readonly period: { readonly from: string; readonly to: string }
  readonly report: BacktestReport
  /** The events of the kinds that were asked for. */
  readonly lists: Readonly<Partial<Record<ChangeKind, readonly ChangedEvent[]>>>
}

/** The last result, kept while the page is open, since opening an entry leaves the view. */
let kept: Result | null = null

/** From the start to the end of the suggested period. */
const PERIOD_MS = 6 * 86_400_000

/** Recorded events, decided again by this table in this page: one run at a time, until it is stopped or its view is left. */
export function Backtest({ verdict, isCurrent }: { verdict: Verdict; isCurrent: boolean }) {
  const { files, texts, ruleTable } = verdict
  const [progress, setProgress] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const isRunning = progress !== null

  const follow = async (work: (signal: AbortSignal) => Promise<void>) => {
    running.current = new AbortController()
    const { signal } = running.current
    setProblem(null)
    setProgress('Starting…')
    await work(signal).catch((error: Error) => {
      if (!signal.aborted) setProblem(error.message)
    })
    setProgress(null)
  }
  const run = (event: SubmitEvent) => {
    const { from, to } = filledIn(event)
    if (isRunning || !isCurrent || ruleTable === null) return
    void follow(async (signal) => {
      const period = {
        from: new Date(`${from}T00:00`).toISOString(),
        to: new Date(`${to}T24:00`).toISOString(),
      }
      const source = {
        readPage: (cursor: string | null) =>
          read<DecisionPage>(['workbench', 'decisions'], { ...period, cursor: cursor ?? undefined }, signal),
        readRuleTable: async (revision: string) => {
          const path = ['workbench', 'rule-tables', revision]
          return (await read<{ source: string | null }>(path, {}, signal)).source
        },
      }
      const { table } = files
      const { eventTypes } = texts
      const report = await reportBacktest(ruleTable, source, eventTypes, (count) =>
        setProgress(`${counted(count, 'event', 'events')} decided again…`),
      )
      kept = { table, eventTypes, period, report, lists: {} }
    })
  }
  const list = (result: Result, kind: KindOfChange) =>
    follow(async (signal) => {
      let count = 0
      const events = await listChanged(kind, async ({ cursor, group }) => {
        const query = { ...result.period, group, cursor: cursor ?? undefined }
        const { items } = await read<{ items: ListedMember[] }>(['workbench', 'members'], query, signal)
        count += items.length
        setProgress(`${counted(count, 'event', 'events')} listed…`)
        return items
      })
      kept = { ...result, lists: { ...result.lists, [kind.kind]: events } }
    })
  const firstDay = formatDay(new Date(Date.now() - PERIOD_MS))
  return (
    <>
      <form class="hstack backtest" onSubmit={run}>
        <Field label="From" name="from" type="date" required defaultValue={firstDay} />
        <Field label="To" name="to" type="date" required defaultValue={formatDay(new Date())} />
        <button type="submit" aria-disabled={isRunning || !isCurrent || ruleTable === null}>
          Back-test
        </button>
        {isRunning && <Button onClick={() => running.current?.abort()}>Stop</Button>}
        <span role="status">{ruleTable === null ? 'Correct the faults first.' : progress}</span>
      </form>
      <Problem problem={problem} />
      {kept !== null && (
        <>
          {(kept.table !== files.table || `${kept.eventTypes}` !== `${texts.eventTypes}`) && (
            <p class="notice">This result is for an earlier draft. Run it again.</p>
          )}
          <Report result={kept} list={isRunning ? null : list} />
        </>
      )}
    </>
  )
}

interface ReportProps {
  readonly result: Result
  /** Null while something else runs. */
  readonly list: ((result: Result, kind: KindOfChange) => void) | null
}

function Report({ result, list }: ReportProps) {
  const { period, report, lists } = result
  const { changed, byAnotherRule, undecided, kinds } = report
  const listed = kinds.filter(({ kind }) => lists[kind] !== undefined)
  const events = listed.flatMap(({ kind }) => lists[kind] ?? [])
  return (
    <>
      <p>
        Of {counted(report.events, 'event', 'events')} from <Time iso={period.from} /> to{' '}
        <Time iso={period.to} />, <strong>{formatNumber(changed)} would have been decided differently</strong>
        .
        {byAnotherRule > 0 &&
          ` ${formatNumber(byAnotherRule)} ${byAnotherRule === 1 ? 'has' : 'have'} the same result by another rule.`}
        {undecided > 0 &&
          ` ${formatNumber(undecided)} with facts of another version of the service ${undecided === 1 ? 'was' : 'were'} not decided again.`}
      </p>
      <ul>
        {kinds.map((one) => (
          <li key={one.kind}>
            <strong>
              {formatNumber(one.count)} {one.kind}
            </strong>
            : <Value text={one.eventTypes} />{' '}
            {lists[one.kind] === undefined && (
              <Button
                class="outline small"
                aria-label={`List the members: ${one.kind}`}
                aria-disabled={list === null}
                onClick={() => list?.(result, one)}
              >
                List the members
              </Button>
            )}
          </li>
        ))}
      </ul>
      {listed.length > 0 && (
        <List events={events} count={listed.reduce((sum, { count }) => sum + count, 0)} />
      )}
    </>
  )
}

/** `count`: the number of events of these kinds, of which only some are listed. */
function List({ events, count }: { events: readonly ChangedEvent[]; count: number }) {
  return (
    <>
      <p class="hstack">
        <Button
          onClick={() => saveFile('back-test.csv', [CHANGED_CSV.head, ...events.map(CHANGED_CSV.formatLine)])}
        >
          Download as CSV
        </Button>
        {events.length < count &&
          `The list and the CSV contain ${formatNumber(events.length)} of ${formatNumber(count)}: ask for fewer days.`}
      </p>
      <Table
        label="Events decided differently"
        rows={events.slice(0, SHOWN_COUNT_MAX).map((event) => ({
          key: event.locator,
          href: buildHref(['log', event.locator]),
          cells: {
            Time: timeCell(event.createdAt),
            Member: event.partyLocator,
            'Event type': event.eventType,
            'What happened': `${event.before}, by rule "${event.ruleBefore}"`,
            'What would happen': `${event.after}, by rule "${event.ruleAfter}"`,
          },
        }))}
      />
      {events.length > SHOWN_COUNT_MAX && (
        <p>And {formatNumber(events.length - SHOWN_COUNT_MAX)} more in the CSV.</p>
      )}
    </>
  )
}

const SHOWN_COUNT_MAX = 200
