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
import { Button, Time, Value } from '../parts.tsx'
import { type Period, PeriodForm } from '../period.tsx'
import { buildHref } from '../route.ts'
import { counted, formatNumber } from '../text.ts'
import { useRun } from '../use-run.ts'
import type { Verdict } from './draft.ts'

interface Result {
  readonly table: string
  readonly eventTypes: readonly string[]
  readonly period: Period
  readonly report: BacktestReport
  /** The events of the requested kinds. */
  readonly lists: Readonly<Partial<Record<ChangeKind, readonly ChangedEvent[]>>>
}

/** The last result, kept while the page is open, since opening an entry leaves the view. */
let kept: Result | null = null

/** Recorded events, decided again by this table in this page. */
export function Backtest({ verdict, isCurrent }: { verdict: Verdict; isCurrent: boolean }) {
  const { files, texts, ruleTable } = verdict
  const run = useRun()
  const test = (period: Period) =>
    run.start(async (signal, setProgress) => {
      if (!isCurrent || ruleTable === null) return
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
  const list = (result: Result, kind: KindOfChange) =>
    run.start(async (signal, setProgress) => {
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
  return (
    <>
      <PeriodForm
        verb="Back-test"
        run={run}
        refusal={ruleTable === null ? 'Correct the faults first.' : null}
        onPeriod={test}
      />
      {kept !== null && (
        <>
          {(kept.table !== files.table || `${kept.eventTypes}` !== `${texts.eventTypes}`) && (
            <p class="notice">This result is for an earlier draft. Run it again.</p>
          )}
          <Report result={kept} list={run.progress === null ? list : null} />
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
        {kinds.map((group) => (
          <li key={group.kind}>
            <strong>
              {formatNumber(group.count)} {group.kind}
            </strong>
            : <Value text={group.eventTypes} />{' '}
            {lists[group.kind] === undefined && (
              <Button
                class="outline small"
                aria-label={`List the members: ${group.kind}`}
                aria-disabled={list === null}
                onClick={() => list?.(result, group)}
              >
                List the members
              </Button>
            )}
          </li>
        ))}
      </ul>
      {listed.length > 0 && (
        <ChangedEventList events={events} count={listed.reduce((sum, { count }) => sum + count, 0)} />
      )}
    </>
  )
}

/** `count`: the number of events of these kinds, of which only some are listed. */
function ChangedEventList({ events, count }: { events: readonly ChangedEvent[]; count: number }) {
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

const SHOWN_COUNT_MAX = 20
