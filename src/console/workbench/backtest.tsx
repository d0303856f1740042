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
import { hrefOf } from '../route.ts'
import { counted, dayOf, numberOf } from '../text.ts'
import type { Verdict } from './draft.ts'

interface Found {
  readonly job: BacktestJob
  readonly report: BacktestReport
}

/** The last result, kept while the page is open, since opening an entry leaves the view. */
let kept: Found | null = null

/** Runs one back-test at a time, until it is stopped or its page is left. */
function useBacktest() {
  const [progress, setProgress] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])

  async function run(job: BacktestJob): Promise<void> {
    const stop = new AbortController()
    running.current = stop
    setProblem(null)
    setProgress('Starting…')
    try {
      const messages = askLines<BacktestMessage>(['workbench', 'backtest'], job, stop.signal)
      for await (const message of messages) {
        if (message.kind === 'progress')
          setProgress(`${counted(message.events, 'event', 'events')} decided again…`)
        if (message.kind === 'problem') setProblem(message.problem)
        if (message.kind === 'report') kept = { job, report: message.report }
      }
    } catch (error) {
      if (!stop.signal.aborted) setProblem((error as Error).message)
    }
    setProgress(null)
  }
  return { run, stop: () => running.current?.abort(), progress, problem }
}

/** From the start to the end of the suggested period. */
const PERIOD_MS = 6 * 86_400_000

/** Recorded events, decided again by this table. */
export function Backtest({ of, isCurrent }: { of: Verdict; isCurrent: boolean }) {
  const { files, texts, ruleTable } = of
  const { run, stop, progress, problem } = useBacktest()
  const isRunning = progress !== null
  const isUsable = isCurrent && ruleTable !== null
  const submit = (event: SubmitEvent) => {
    const { from, to } = filledIn(event)
    if (isRunning || !isUsable) return
    const period = {
      from: new Date(`${from}T00:00`).toISOString(),
      to: new Date(`${to}T24:00`).toISOString(),
    }
    void run({ table: files.table, eventTypes: texts.eventTypes, ...period })
  }
  return (
    <>
      <form class="hstack backtest" onSubmit={submit}>
        <Field
          label="From"
          name="from"
          type="date"
          required
          defaultValue={dayOf(new Date(Date.now() - PERIOD_MS))}
        />
        <Field label="To" name="to" type="date" required defaultValue={dayOf(new Date())} />
        <button type="submit" aria-disabled={isRunning || !isUsable}>
          Back-test
        </button>
        {isRunning && <Button onClick={stop}>Stop</Button>}
        <span role="status">{ruleTable === null ? 'Correct the faults first.' : progress}</span>
      </form>
      <Problem of={problem} />
      {kept !== null && (
        <>
          {kept.job.table !== files.table && (
            <p class="notice">This result is for the table before your last edits. Run it again.</p>
          )}
          <Report of={kept} />
        </>
      )}
    </>
  )
}

function Report({ of: { job, report } }: { of: Found }) {
  const { events, changed, byAnotherRule, kinds, list } = report
  return (
    <>
      <p>
        Of {counted(events, 'event', 'events')} from <Time of={job.from} /> to <Time of={job.to} />,{' '}
        <strong>{numberOf(changed)} would have been decided differently</strong>.
        {byAnotherRule > 0 &&
          ` ${numberOf(byAnotherRule)} ${byAnotherRule === 1 ? 'has' : 'have'} the same result by another rule.`}
      </p>
      <ul>
        {kinds.map(({ kind, count, of }) => (
          <li key={kind}>
            <strong>
              {numberOf(count)} {kind}
            </strong>
            : <Value of={of} />
          </li>
        ))}
      </ul>
      {list.length > 0 && (
        <>
          <p class="hstack">
            <Button
              onClick={() => saveFile('back-test.csv', [CHANGED_CSV.head, ...list.map(CHANGED_CSV.lineOf)])}
            >
              Download as CSV
            </Button>
            {list.length < changed &&
              `The list and the CSV contain ${numberOf(list.length)} of ${numberOf(changed)}: ask for fewer days.`}
          </p>
          <Table
            label="Events decided differently"
            rows={list.slice(0, SHOWN_COUNT_MAX).map((event) => ({
              key: event.locator,
              href: hrefOf(['log', event.locator]),
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
            <p>And {numberOf(list.length - SHOWN_COUNT_MAX)} more in the CSV.</p>
          )}
        </>
      )}
    </>
  )
}

const SHOWN_COUNT_MAX = 200
