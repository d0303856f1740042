import { useEffect, useState } from 'preact/hooks'
import type { Cells } from '../../core/rules/diff-rows.ts'
import type { WorkbenchStart } from '../../core/workbench/review.ts'
import { type Row, Table } from '../list.tsx'
import { Bullets, Button, Card, State, Title } from '../parts.tsx'
import { useData } from '../use-data.ts'
import { Backtest } from '../workbench/backtest.tsx'
import { SHEETS, type SheetKey, useDraft, useVerdict } from '../workbench/draft.ts'
import {
  Changes,
  FileFindings,
  focus,
  type Lead,
  Notice,
  Promises,
  VerdictBar,
} from '../workbench/findings.tsx'
import { Grid, Paste } from '../workbench/grid.tsx'
import { Propose } from '../workbench/propose.tsx'
import { TextsEditor } from '../workbench/texts.tsx'
import { Trial } from '../workbench/trial.tsx'

/** Interval at which the page checks for other files in force. */
const EVERY_MS = 10_000

/** A change of rules, promises and templates, tried before it is proposed. */
export function WorkbenchView() {
  const loaded = useData<WorkbenchStart>(['workbench'], {}, EVERY_MS)
  return (
    <>
      <Title name="Workbench" />
      <State loaded={loaded} />
      {loaded.data !== null && <Bench start={loaded.data} />}
    </>
  )
}

const TABS = { table: 'Rules', promises: 'Promises', templates: 'Texts' } as const
type Tab = keyof typeof TABS

function Bench({ start }: { start: WorkbenchStart }) {
  const isNarrow = useNarrow()
  const bench = useDraft(start)
  const { inForce, draft, change, undo, outdated, conflicts } = bench
  const verdict = useVerdict(draft, inForce, start.outcomes)
  const [tab, setTab] = useState<Tab>('table')
  const lead = (to: Lead) => {
    if (to in TABS) setTab(to as Tab)
    focus(to in TABS ? '[aria-invalid="true"], #findings' : `#${to}`)
  }
  return (
    <>
      {outdated !== null && <Outdated {...outdated} />}
      <Notice lines={conflicts} />
      {isNarrow && <p class="notice">On a phone the table can only be read. Edit it on a wider screen.</p>}
      <div class="hstack">
        <nav class="hstack" aria-label="Files">
          {Object.entries(TABS).map(([key, name]) => (
            <Button
              key={key}
              class="ghost"
              aria-current={key === tab ? 'true' : undefined}
              onClick={() => setTab(key as Tab)}
            >
              {name}
            </Button>
          ))}
        </nav>
        {!isNarrow && (
          <>
            <Button
              title="Takes back your last change, of rules, promises or texts"
              aria-disabled={undo === null}
              onClick={() => undo?.()}
            >
              Undo
            </Button>
            {tab !== 'templates' && (
              <>
                <Button onClick={() => change({ [tab]: inForce[tab] })}>
                  Start over with {SHEETS[tab].file}
                </Button>
                <Paste key={tab} sheetKey={tab} change={change} />
              </>
            )}
            <About tab={tab} />
          </>
        )}
      </div>
      {tab !== 'templates' &&
        (isNarrow ? (
          <Table
            label={`The ${SHEETS[tab].what}s`}
            rows={draft[tab].map((row, index) => renderRow(tab, row, index))}
          />
        ) : (
          <Grid key={tab} sheetKey={tab} faults={verdict?.[tab].faults ?? []} {...bench} />
        ))}
      {verdict !== null && (
        <>
          {tab === 'templates' ? (
            <TextsEditor verdict={verdict} isReadOnly={isNarrow} {...bench} />
          ) : (
            <FileFindings {...verdict[tab]} />
          )}
          <VerdictBar verdict={verdict} onLead={lead} />
          <div class="columns">
            <Card
              id="changes"
              title="What changes"
              about="A situation is one combination of what rules look at: the party, its opt-out and channel, and what is on file. It counts once, however many event types it concerns."
            >
              <Changes {...verdict.summary} />
            </Card>
            <Card
              id="broken"
              title="Promises"
              about="Conditions that must stay true, however the rules change."
            >
              <Promises verdict={verdict} draft={draft} change={change} />
            </Card>
          </div>
          <datalist id="event-types">
            {verdict.texts.eventTypes.map((eventType) => (
              <option key={eventType} value={eventType} />
            ))}
          </datalist>
          <Card id="try" title="Try a situation">
            <Trial verdict={verdict} />
          </Card>
          {!isNarrow && (
            <>
              <Card
                id="backtest"
                title="Back-test"
                about="Decide the events of the last days again by this table. Nothing is sent or written."
              >
                <Backtest verdict={verdict} isCurrent={verdict.draft === draft} />
              </Card>
              <Card id="propose" title="Propose">
                <Propose repositoryUrl={start.repositoryUrl} verdict={verdict} {...bench} />
              </Card>
            </>
          )}
        </>
      )}
    </>
  )
}

/** A row of a sheet to read. */
function renderRow(sheet: SheetKey, row: Cells, key: number): Row {
  return {
    key,
    cells: Object.fromEntries(SHEETS[sheet].columns.map((column, at) => [column, row[at] ?? ''])),
  }
}

function About({ tab }: { tab: Tab }) {
  return (
    <details>
      <summary>How it works</summary>
      <p>
        Try a change of rules, promises or texts before you propose it. Nothing here changes the service. Your
        changes are marked.
      </p>
      {tab !== 'templates' && (
        <p>
          {tab === 'table'
            ? 'Rules apply from top to bottom: the first one whose cells all match decides. '
            : 'A promise says what must never happen, whoever edits the rules. '}
          A blank cell matches anything. As event type write one (<code>claim.paid</code>), several (
          <code>claim.paid or invoice.paid</code>), a family (<code>claim.*</code>), all others (
          <code>not claim.paid</code>), or <code>no template</code>: all without a text of their own. Enter
          leads to the cell below, Shift+Enter to the one above; Alt with ↑ or ↓ moves the row.
        </p>
      )}
    </details>
  )
}

/** The draft began from files that are no longer in force. */
function Outdated({ changes, merge, keep, drop }: NonNullable<ReturnType<typeof useDraft>['outdated']>) {
  return (
    <div class="notice" role="alert">
      <p>
        Others have changed the files in force since you began this draft. Without a merge your file would
        undo it:
      </p>
      <Bullets lines={changes} />
      <div class="hstack">
        <button type="button" onClick={merge}>
          Merge into my draft
        </button>
        <Button onClick={keep}>Keep my draft without it</Button>
        <Button onClick={drop}>Drop my draft</Button>
      </div>
    </div>
  )
}

/** The width of a phone, on which nobody edits a table. */
const NARROW = matchMedia('(max-width: 480px)')

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(NARROW.matches)
  useEffect(() => {
    const follow = () => setNarrow(NARROW.matches)
    NARROW.addEventListener('change', follow)
    return () => NARROW.removeEventListener('change', follow)
  }, [])
  return isNarrow
}
