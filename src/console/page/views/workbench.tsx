import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Cells } from '../../../authoring/diff/diff-rows.ts'
import { gridToCsv, type WorkbenchStart } from '../../../authoring/diff/review.ts'
import { nameOfChannel } from '../../../service/decide/party/channel.ts'
import { type Row, Table } from '../list.tsx'
import { Bullets, Button, Card, State } from '../parts.tsx'
import { useData } from '../use-data.ts'
import { Backtest } from '../workbench/backtest.tsx'
import { type Bench, SHEETS, useDraft, useVerdict, type Verdict } from '../workbench/draft.ts'
import { EarlierTables } from '../workbench/earlier.tsx'
import {
  Changes,
  FileFindings,
  focusNext,
  type Lead,
  Promises,
  ShorterTable,
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
      <State loaded={loaded} />
      {loaded.data !== null && <Workbench start={loaded.data} />}
    </>
  )
}

const LED_TO: Readonly<Record<Lead, string>> = {
  table: '.grid [aria-invalid="true"]',
  doubts: '.is-doubtful :is(input, select)',
  templates: 'textarea[aria-invalid="true"]',
  broken: '#broken',
  changes: '#changes',
}
const TABS = { table: 'Rules', templates: 'Texts' } as const
type Tab = keyof typeof TABS

function Workbench({ start }: { start: WorkbenchStart }) {
  const isReadOnly = useNarrow()
  const seen = useSeenEventTypes()
  const bench = useDraft(start)
  const { inForce, draft, outdated } = bench
  const verdict = useVerdict(draft, inForce, start, seen)
  const [tab, setTab] = useState<Tab>('table')
  /** The file of the text shown; null: the first one with a fault. */
  const [chosen, choose] = useState<string | null>(null)
  const lead = (to: Lead) => {
    if (to === 'doubts' || to in TABS) setTab(to === 'doubts' ? 'table' : (to as Tab))
    if (to === 'templates') choose(null)
    focusNext(LED_TO[to])
  }
  const bar = verdict !== null && <VerdictBar verdict={verdict} onLead={lead} />
  return (
    <>
      {outdated !== null && <Outdated {...outdated} />}
      {isReadOnly && <p class="notice">On a phone the table can only be read. Edit it on a wider screen.</p>}
      <div class="hstack">
        <Tabs tab={tab} onTab={setTab} />
        {!isReadOnly && <Toolbar tab={tab} bench={bench} />}
      </div>
      <div class={tab === 'table' ? 'beside' : undefined}>
        {tab === 'templates' && bar}
        {tab === 'table' &&
          (isReadOnly ? (
            <Table label="The rules" rows={draft.table.map(renderRow)} />
          ) : (
            <Grid faults={verdict?.table.faults ?? []} warnings={verdict?.table.warnings ?? []} {...bench} />
          ))}
        {tab === 'templates' && verdict !== null && (
          <TextsEditor
            verdict={verdict}
            seen={seen ?? []}
            isReadOnly={isReadOnly}
            chosen={chosen}
            choose={choose}
            {...bench}
          />
        )}
        {tab === 'table' && bar}
      </div>
      {verdict !== null && (
        <>
          {tab === 'table' && <FileFindings {...verdict.table} />}
          {tab === 'table' && !isReadOnly && <ShorterTable verdict={verdict} {...bench} />}
          <div class="columns">
            <Card
              id="changes"
              title="What changes"
              about="A situation is one combination of what rules look at: the party, its opt-out and channel, and what is on file. It counts once, however many event types it concerns."
            >
              <Changes {...verdict.summary} />
            </Card>
            <PromisesCard verdict={verdict} bench={bench} isReadOnly={isReadOnly} />
          </div>
          <datalist id="event-types">
            {[...new Set([...verdict.texts.eventTypes, ...(seen ?? [])])].map((eventType) => (
              <option key={eventType} value={eventType} />
            ))}
          </datalist>
          <Card id="try" title="Try a situation">
            <Trial verdict={verdict} />
          </Card>
          {!isReadOnly && <LastSteps start={start} verdict={verdict} bench={bench} />}
        </>
      )}
    </>
  )
}

function Tabs({ tab, onTab }: { tab: Tab; onTab: (tab: Tab) => void }) {
  return (
    <nav class="hstack" aria-label="Files">
      {Object.entries(TABS).map(([key, name]) => (
        <Button
          key={key}
          class="ghost"
          aria-current={key === tab ? 'true' : undefined}
          onClick={() => onTab(key as Tab)}
        >
          {name}
        </Button>
      ))}
    </nav>
  )
}

function Toolbar({ tab, bench: { inForce, change, undo, redo } }: { tab: Tab; bench: Bench }) {
  return (
    <>
      <Button title="Ctrl+Z in the table" aria-disabled={undo === null} onClick={() => undo?.()}>
        Undo
      </Button>
      <Button title="Ctrl+Shift+Z in the table" aria-disabled={redo === null} onClick={() => redo?.()}>
        Redo
      </Button>
      {tab === 'table' && (
        <>
          <Button data-variant="danger" onClick={() => change({ table: inForce.table })}>
            Discard my changes
          </Button>
          <Paste sheetKey="table" change={change} />
        </>
      )}
      <About tab={tab} />
    </>
  )
}

interface JudgedProps {
  readonly verdict: Verdict
  readonly bench: Bench
}

function PromisesCard({ verdict, bench, isReadOnly }: JudgedProps & { readonly isReadOnly: boolean }) {
  const { draft, columns, inForce, change } = bench
  return (
    <Card id="broken" title="Promises" about="Conditions that must stay true, however the rules change.">
      <Promises verdict={verdict} draft={draft} change={change} />
      {!isReadOnly && (
        <div class="hstack">
          <Paste
            sheetKey="promises"
            text={gridToCsv(SHEETS.promises.columns, draft.promises, columns.promises)}
            change={change}
          />
          <Button data-variant="danger" onClick={() => change({ promises: inForce.promises })}>
            Discard my changes of promises
          </Button>
        </div>
      )}
    </Card>
  )
}

function LastSteps({ start, verdict, bench }: JudgedProps & { readonly start: WorkbenchStart }) {
  return (
    <>
      <Card
        id="backtest"
        title="Back-test"
        about="Decide the events of the last days again by this table. Nothing is sent or written."
      >
        <Backtest verdict={verdict} isCurrent={verdict.draft === bench.draft} />
      </Card>
      <Card id="propose" title="Propose">
        <Propose repositoryUrl={start.repositoryUrl} verdict={verdict} {...bench} />
      </Card>
      <Card
        id="earlier"
        title="Earlier tables"
        about="To go back to one, take it as the draft and propose it: What changes compares it with the table in force."
      >
        <EarlierTables repositoryUrl={start.repositoryUrl} verdict={verdict} {...bench} />
      </Card>
    </>
  )
}

const SEEN_MS = 30 * 86_400_000

interface KnownEventType {
  readonly eventType: string
  readonly lastAt: string | null
}

/** Event types with events in the last 30 days; null if unknown. */
function useSeenEventTypes(): readonly string[] | null {
  const { data } = useData<{ items: readonly KnownEventType[] }>(['event-types'], {})
  return useMemo(() => {
    const isRecent = ({ lastAt }: KnownEventType) => lastAt && Date.parse(lastAt) > Date.now() - SEEN_MS
    return data?.items.filter(isRecent).map(({ eventType }) => eventType) ?? null
  }, [data])
}

/** A rule to read. */
function renderRow(row: Cells, key: number): Row {
  return {
    key,
    cells: Object.fromEntries(
      SHEETS.table.columns.map((column, at) => [column, nameOfChannel(row[at] ?? '')]),
    ),
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
      {tab === 'table' && (
        <p>
          Rules apply from top to bottom: the first one whose cells all match decides. A blank cell matches
          anything. As event type write one (<code>claim.paid</code>), several (
          <code>claim.paid or invoice.paid</code>), a family (<code>claim.*</code>), all others (
          <code>not claim.paid</code>), or <code>no template</code>: all without a text of their own. The
          column <code>party</code> shows what policy administration knows of the member. Enter leads to the
          cell below, Shift+Enter to the one above. The number of a row opens its menu, which names the keys
          for each action.
        </p>
      )}
    </details>
  )
}

/** A note that the draft began from files no longer in force. */
function Outdated({ changes, keep, drop }: NonNullable<ReturnType<typeof useDraft>['outdated']>) {
  return (
    <div class="notice" role="alert">
      <p>
        Others have changed the files in force since you began this draft. Your files would undo it, unless
        you make the same changes:
      </p>
      <Bullets lines={changes} />
      <div class="hstack">
        <Button onClick={keep}>Keep my draft</Button>
        <Button onClick={drop}>Drop my draft</Button>
      </div>
    </div>
  )
}

/** Width of a phone, on which nobody edits a table. */
const NARROW = matchMedia('(max-width: 480px)')

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(NARROW.matches)
  useEffect(() => {
    const follow = () => setNarrow(NARROW.matches)
    NARROW.addEventListener('change', follow)
    // The window may have changed since the first rendering.
    follow()
    return () => NARROW.removeEventListener('change', follow)
  }, [])
  return isNarrow
}
