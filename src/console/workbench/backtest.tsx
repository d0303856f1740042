import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { BacktestMessage, BacktestReport } from '../../core/workbench/backtest-report.ts'
import { askLines, RequestError } from '../api.ts'
import { Problem, Table, Time, Value } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { counted, numberOf } from '../text.ts'
import { Refused } from '../visit.ts'

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
  const refused = useContext(Refused)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])

  async function run(table: string, days: number): Promise<void> {
    const stop = new AbortController()
    running.current = stop
    setProblem(null)
    setProgress('Starting…')
    try {
      for await (const message of askLines<BacktestMessage>(
        ['workbench', 'backtest'],
        { table, days },
        stop.signal,
      )) {
        if (message.kind === 'progress')
          setProgress(`${counted(message.events, 'event', 'events')} decided again…`)
        if (message.kind === 'problem') setProblem(message.problem)
        if (message.kind === 'report') {
          kept = { table, since: message.since, report: message.report }
          setFound(kept)
        }
      }
    } catch (error) {
      if (!stop.signal.aborted) {
        if (!(error instanceof RequestError)) throw error
        if (error.status === 401 || error.status === 403) return refused(error)
        setProblem(error.message)
      }
    }
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
  return (
    <>
      <form
        class="toolbar backtest"
        onSubmit={(event) => {
          event.preventDefault()
          if (!isRunning && isUsable) void run(table, days)
        }}
      >
        <label for="backtest-days">Days</label>
        <input
          id="backtest-days"
          class="days"
          type="number"
          min={1}
          max={DAYS_MAX}
          required
          value={days}
          onInput={({ currentTarget }) => setDays(currentTarget.valueAsNumber)}
        />
        <button type="submit" class="primary" aria-disabled={isRunning || !isUsable}>
          Back-test
        </button>
        {isRunning && (
          <button type="button" onClick={stop}>
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
  const { events, changed, kinds, byAnotherRule, eventTypes, eventTypesLeftOut, changes, changesLeftOut } =
    report
  const outcome = describeKinds(kinds)
  const same = eventTypes.filter((of) => of.changed === 0)
  return (
    <>
      <p>
        Of {counted(events, 'event', 'events')} since <Time of={since} />,{' '}
        <strong>
          {numberOf(changed)} would have been decided otherwise{outcome === '' ? '' : `: ${outcome}`}
        </strong>
        .{byAnotherRule > 0 && ` ${numberOf(byAnotherRule)} decided the same way by another rule.`}
      </p>
      {changed > 0 && <ByEventType of={eventTypes.filter((of) => of.changed > 0)} />}
      {eventTypesLeftOut > 0 && (
        <p class="faint">and {counted(eventTypesLeftOut, 'more event type', 'more event types')}</p>
      )}
      {changes.length > 0 && <Changes of={changes} />}
      {changesLeftOut > 0 && (
        <p class="faint">and {counted(changesLeftOut, 'more change', 'more changes')}</p>
      )}
      {same.length > 0 && (
        <details>
          <summary>{counted(same.length, 'event type', 'event types')} decided as before</summary>
          <ul class="bullets">
            {same.map(({ eventType, events: count }) => (
              <li key={eventType}>
                <Value of={eventType} />: {counted(count, 'event', 'events')}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

function describeKinds(kinds: BacktestReport['kinds']): string {
  return kinds.map(({ kind, count }) => `${numberOf(count)} ${kind}`).join(', ')
}

function ByEventType({ of }: { of: BacktestReport['eventTypes'] }) {
  return (
    <Table
      label="By event type"
      columns={['Event type', 'Events', 'Decided otherwise', 'How']}
      rows={of.map(({ eventType, events, changed, kinds }) => ({
        key: eventType,
        cells: [
          <Value of={eventType} />,
          numberOf(events),
          numberOf(changed),
          <Value of={describeKinds(kinds)} />,
        ],
      }))}
    />
  )
}

function Changes({ of }: { of: BacktestReport['changes'] }) {
  return (
    <Table
      label="What changes"
      columns={['Events', ['Change', 'wide'], 'Event type', 'Situation', 'Sample entries']}
      rows={of.map((change) => ({
        key: `${change.eventType} ${change.situation} ${change.before} ${change.ruleBefore}`,
        cells: [
          numberOf(change.count),
          <>
            <strong>{change.kind}</strong>
            <br />
            <Value
              of={`from ${change.before} by rule "${change.ruleBefore}" to ${change.after} by rule "${change.ruleAfter}"`}
            />
          </>,
          <Value of={change.eventType} />,
          change.situation,
          change.samples.map((locator) => (
            <a key={locator} class="sample mono" href={hrefOf(['log', locator])}>
              {locator}
            </a>
          )),
        ],
      }))}
    />
  )
}
