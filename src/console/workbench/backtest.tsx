import { useEffect, useRef, useState } from 'preact/hooks'
import {
  type BacktestJob,
  type BacktestMessage,
  type BacktestReport,
  CHANGED_CSV,
} from '../../core/workbench/backtest-report.ts'
import { askLines } from '../api.ts'
import { saveFile } from '../download.tsx'
import { Table, timeCell } from '../list.tsx'
import { Button, Field, filledIn, Problem, Time, Value } from '../parts.tsx'
import { buildHref } from '../route.ts'
import { counted, formatDay, formatNumber } from '../text.ts'
import type { Verdict } from './draft.ts'

/** The last result, kept while the page is open, since opening an entry leaves the view. */
let kept: { readonly job: BacktestJob; readonly report: BacktestReport } | null = null

/** From the start to the end of the suggested period. */
const PERIOD_MS = 6 * 86_400_000

/** Recorded events, decided again by this table: one run at a time, until it is stopped or its page is left. */
export function Backtest({ verdict, isCurrent }: { verdict: Verdict; isCurrent: boolean }) {
  const { files, texts, ruleTable } = verdict
  const [progress, setProgress] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const isRunning = progress !== null
  const isUsable = !isRunning && isCurrent && ruleTable !== null

  const run = async (event: SubmitEvent) => {
    const { from, to } = filledIn(event)
    if (!isUsable) return
    const period = {
      from: new Date(`${from}T00:00`).toISOString(),
      to: new Date(`${to}T24:00`).toISOString(),
    }
    const job = { table: files.table, eventTypes: texts.eventTypes, ...period }
    running.current = new AbortController()
    const { signal } = running.current
    setProblem(null)
    setProgress('Starting…')
    try {
      for await (const message of askLines<BacktestMessage>(['workbench', 'backtest'], job, signal)) {
        if (message.kind === 'progress')
          setProgress(`${counted(message.events, 'event', 'events')} decided again…`)
        if (message.kind === 'problem') setProblem(message.problem)
        if (message.kind === 'report') kept = { job, report: message.report }
      }
    } catch (error) {
      if (!signal.aborted) setProblem((error as Error).message)
    }
    setProgress(null)
  }
  const firstDay = formatDay(new Date(Date.now() - PERIOD_MS))
  return (
    <>
      <form class="hstack backtest" onSubmit={run}>
        <Field label="From" name="from" type="date" required defaultValue={firstDay} />
        <Field label="To" name="to" type="date" required defaultValue={formatDay(new Date())} />
        <button type="submit" aria-disabled={!isUsable}>
          Back-test
        </button>
        {isRunning && <Button onClick={() => running.current?.abort()}>Stop</Button>}
        <span role="status">{ruleTable === null ? 'Correct the faults first.' : progress}</span>
      </form>
      <Problem problem={problem} />
      {kept !== null && (
        <>
          {(kept.job.table !== files.table || `${kept.job.eventTypes}` !== `${texts.eventTypes}`) && (
            <p class="notice">This result is for an earlier draft. Run it again.</p>
          )}
          <Report {...kept} />
        </>
      )}
    </>
  )
}

function Report({ job, report }: NonNullable<typeof kept>) {
  const { events, changed, byAnotherRule, undecided, kinds, list } = report
  return (
    <>
      <p>
        Of {counted(events, 'event', 'events')} from <Time iso={job.from} /> to <Time iso={job.to} />,{' '}
        <strong>{formatNumber(changed)} would have been decided differently</strong>.
        {byAnotherRule > 0 &&
          ` ${formatNumber(byAnotherRule)} ${byAnotherRule === 1 ? 'has' : 'have'} the same result by another rule.`}
        {undecided > 0 &&
          ` ${formatNumber(undecided)} with facts of another version of the service ${undecided === 1 ? 'was' : 'were'} not decided again.`}
      </p>
      <ul>
        {kinds.map(({ kind, count, eventTypes }) => (
          <li key={kind}>
            <strong>
              {formatNumber(count)} {kind}
            </strong>
            : <Value text={eventTypes} />
          </li>
        ))}
      </ul>
      {list.length > 0 && (
        <>
          <p class="hstack">
            <Button
              onClick={() =>
                saveFile('back-test.csv', [CHANGED_CSV.head, ...list.map(CHANGED_CSV.formatLine)])
              }
            >
              Download as CSV
            </Button>
            {list.length < changed &&
              `The list and the CSV contain ${formatNumber(list.length)} of ${formatNumber(changed)}: ask for fewer days.`}
          </p>
          <Table
            label="Events decided differently"
            rows={list.slice(0, SHOWN_COUNT_MAX).map((event) => ({
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
          {list.length > SHOWN_COUNT_MAX && (
            <p>And {formatNumber(list.length - SHOWN_COUNT_MAX)} more in the CSV.</p>
          )}
        </>
      )}
    </>
  )
}

const SHOWN_COUNT_MAX = 200
