import { useEffect, useRef, useState } from 'preact/hooks'
import type { BacktestMessage, BacktestReport } from '../../core/workbench/backtest-report.ts'
import { askLines } from '../api.ts'
import { Table } from '../list.tsx'
import { Details, Field, Problem, Time, Value } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { counted, numberOf } from '../text.ts'
import { useTold } from '../use-data.ts'

const DAYS_MAX = 30

interface Found {
  /** The table that it is of. */
  readonly table: string
  readonly since: string
  readonly report: BacktestReport
}

/** The last result, for as long as the page is open: a look at a sample entry leaves the view. */
let kept: Found | null = null

/** Runs one back-test at a time, until it is stopped or its page is left. */
function useBacktest() {
  const [progress, setProgress] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [found, setFound] = useState(kept)
  const told = useTold()
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])

  async function read(table: string, days: number, signal: AbortSignal): Promise<void> {
    const path = ['workbench', 'backtest']
    for await (const message of askLines<BacktestMessage>(path, { table, days }, signal)) {
      if (message.kind === 'progress')
        setProgress(`${counted(message.events, 'event', 'events')} decided again…`)
      if (message.kind === 'problem') setProblem(message.problem)
      if (message.kind === 'report') {
        kept = { table, since: message.since, report: message.report }
        setFound(kept)
      }
    }
  }

  async function run(table: string, days: number): Promise<void> {
    const stop = new AbortController()
    running.current = stop
    setProblem(null)
    setProgress('Starting…')
    const answer = await told(read(table, days, stop.signal), stop.signal)
    if (answer?.problem) setProblem(answer.problem)
    running.current = null
    setProgress(null)
  }

  return { run, stop: () => running.current?.abort(), progress, problem, found }
}

/** Recorded events, decided again by this table. */
export function Backtest({ table, isUsable }: { table: string; isUsable: boolean }) {
  const [days, setDays] = useState(7)
  const { run, stop, progress, problem, found } = useBacktest()
  const isRunning = progress !== null
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (!isRunning && isUsable) void run(table, days)
  }
  return (
    <>
      <form class="toolbar backtest" onSubmit={submit}>
        <Field
          label="Days"
          type="number"
          min={1}
          max={DAYS_MAX}
          required
          value={days}
          onInput={({ currentTarget }) => setDays(currentTarget.valueAsNumber)}
        />
        <button type="submit" aria-disabled={isRunning || !isUsable}>
          Back-test
        </button>
        {isRunning && (
          <button type="button" class="outline" onClick={stop}>
            Stop
          </button>
        )}
        <span role="status" class="faint">
          {isUsable ? progress : 'Correct the faults first.'}
        </span>
      </form>
      <Problem of={problem} />
      {found !== null && (
        <>
          {found.table !== table && (
            <p class="notice">This result is for the table before your last edits. Run it again.</p>
          )}
          <Report of={found} />
        </>
      )}
    </>
  )
}

function Report({ of: { since, report } }: { of: Found }) {
  const { kinds, eventTypes, byAnotherRule } = report
  const outcome = describeKinds(kinds)
  const changed = eventTypes.filter((of) => of.changed > 0)
  const same = eventTypes.filter((of) => of.changed === 0)
  return (
    <>
      <p>
        Of {counted(report.events, 'event', 'events')} since <Time of={since} />,{' '}
        <strong>
          {numberOf(report.changed)} would have been decided otherwise{outcome === '' ? '' : `: ${outcome}`}
        </strong>
        .{byAnotherRule > 0 && ` ${numberOf(byAnotherRule)} decided the same way by another rule.`}
      </p>
      {changed.length > 0 && (
        <Table
          label="By event type"
          columns={['Event type', ['Events', 'short'], ['Decided otherwise', 'short'], 'How']}
          rows={changed.map(({ eventType, events, changed, kinds }) => ({
            key: eventType,
            cells: [eventType, numberOf(events), numberOf(changed), describeKinds(kinds)],
          }))}
        />
      )}
      <LeftOut count={report.eventTypesLeftOut} one="more event type" many="more event types" />
      {report.changes.length > 0 && <Changes of={report.changes} />}
      <LeftOut count={report.changesLeftOut} one="more change" many="more changes" />
      {same.length > 0 && (
        <Details
          summary={`${counted(same.length, 'event type', 'event types')} decided as before`}
          of={same.map(({ eventType, events }) => `${eventType}: ${counted(events, 'event', 'events')}`)}
        />
      )}
    </>
  )
}

function LeftOut({ count, one, many }: { count: number; one: string; many: string }) {
  return count === 0 ? null : <p class="faint">and {counted(count, one, many)}</p>
}

function describeKinds(kinds: BacktestReport['kinds']): string {
  return kinds.map(({ kind, count }) => `${numberOf(count)} ${kind}`).join(', ')
}

function Changes({ of }: { of: BacktestReport['changes'] }) {
  return (
    <Table
      label="What changes"
      columns={[['Events', 'short'], 'Change', 'Event type', 'Situation', 'Sample entries']}
      rows={of.map((change) => ({
        key: `${change.eventType} ${change.situation} ${change.before} ${change.ruleBefore}`,
        cells: [
          numberOf(change.count),
          <>
            <strong>{change.kind}</strong>
            <div>
              <Value
                of={`from ${change.before} by rule "${change.ruleBefore}" to ${change.after} by rule "${change.ruleAfter}"`}
              />
            </div>
          </>,
          change.eventType,
          <span>{change.situation}</span>,
          <div>
            {change.samples.map((locator) => (
              <div key={locator}>
                <a class="mono" href={hrefOf(['log', locator])}>
                  {locator}
                </a>
              </div>
            ))}
          </div>,
        ],
      }))}
    />
  )
}
