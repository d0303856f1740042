import { useEffect, useState } from 'preact/hooks'
import type { Placed } from '../../core/workbench/place-of.ts'
import type { Review } from '../../core/workbench/review.ts'
import type { WorkbenchStart } from '../../core/workbench/workbench.ts'
import { Problem, State, Title } from '../parts.tsx'
import { saveFile } from '../save-file.ts'
import { useAnswer, useData } from '../use-data.ts'
import { Backtest } from '../workbench/backtest.tsx'
import { Cards } from '../workbench/cards.tsx'
import { csvOf, type DraftRow, type FileKey, rowsOf, useDraft } from '../workbench/draft.ts'
import { Changes, FileFindings, Promises, Verdict } from '../workbench/findings.tsx'
import { Grid } from '../workbench/grid.tsx'
import { Paste } from '../workbench/paste.tsx'
import { Trial } from '../workbench/trial.tsx'

/** How soon one learns that other files have come into force. */
const EVERY_MS = 60_000

/** A change of the rule table, tried before it is proposed. */
export function WorkbenchView() {
  const loaded = useData<WorkbenchStart>(['workbench'], {}, EVERY_MS)
  return (
    <>
      <Title name="Workbench" />
      <p class="lead">
        Try a change of the rules before you propose it. Nothing here changes the service: when you are
        content, download each file that you changed and propose it in the repository. What you change is
        marked.
      </p>
      <State of={loaded} />
      {loaded.data !== null && <Bench start={loaded.data} />}
    </>
  )
}

function Bench({ start }: { start: WorkbenchStart }) {
  const isNarrow = useNarrow()
  const { draft, change, undo, outdated } = useDraft(start)
  const table = csvOf(start.table.grid.columns, draft.table)
  const promises = csvOf(start.promises.grid.columns, draft.promises)
  const { data: review, problem, isLoading } = useAnswer<Review>('review', { table, promises })
  const part = (of: FileKey, what: 'rule' | 'promise', faults: readonly Placed[]) => {
    const file = start[of]
    if (isNarrow) return <Cards label={`The ${what}s`} file={file} rows={draft[of]} />
    const onRows = (rows: readonly DraftRow[], cell?: string) => change({ ...draft, [of]: rows }, cell)
    const csv = of === 'table' ? table : promises
    return (
      <>
        <FileActions
          of={of}
          file={file}
          csv={csv}
          onRows={onRows}
          onUndo={undo}
          onStartOver={() => onRows(rowsOf(file.grid))}
        />
        <Grid
          what={what}
          file={file}
          rows={draft[of]}
          faults={faults}
          eventTypes={start.eventTypes}
          onChange={onRows}
        />
      </>
    )
  }
  return (
    <>
      {outdated !== null && (
        <div class="notice" role="alert">
          <p>
            The files in force have changed since you began this draft: what is marked as changed may be what
            somebody else changed, and your file would take that back.
          </p>
          <div class="actions">
            <button type="button" onClick={outdated.keep}>
              Keep my draft
            </button>
            <button type="button" onClick={outdated.drop}>
              Drop it and begin with the files in force
            </button>
          </div>
        </div>
      )}
      {isNarrow && <p class="notice">On a phone the table can only be read. Edit it on a wider screen.</p>}
      <h2>Rules</h2>
      <p class="lead">
        They apply from top to bottom: the first one whose cells all match decides. A blank cell matches
        anything.
      </p>
      {!isNarrow && <Hints />}
      {part('table', 'rule', review?.table.faults ?? [])}
      {review !== null && <FileFindings {...review.table} />}
      <Problem of={problem} />
      <Verdict review={review} promises={draft.promises} isLoading={isLoading} />
      <div class="columns">
        <section class="card" aria-labelledby="changes">
          <h2 id="changes">What changes</h2>
          <p class="faint">
            A situation is one combination of what rules look at: the party, its opt-out and channel, and what
            is on file. It counts once, however many event types it concerns.
          </p>
          {review !== null && <Changes of={review.diff} />}
        </section>
        <section class="card" aria-labelledby="promises">
          <h2 id="promises">Promises</h2>
          <p class="faint">What must stay true, whatever the rules become.</p>
          {review !== null && <Promises of={review.promises} rows={draft.promises} />}
        </section>
      </div>
      <details class="card">
        <summary>{isNarrow ? 'All promises' : 'Edit the promises'}</summary>
        {part('promises', 'promise', review?.promises.faults ?? [])}
      </details>
      <section class="card" aria-labelledby="try">
        <h2 id="try">Try a situation</h2>
        <Trial table={table} />
      </section>
      {!isNarrow && (
        <section class="card" aria-labelledby="backtest">
          <h2 id="backtest">Back-test</h2>
          <p class="faint">
            Decide the events of the last days again by this table. Nothing is sent or written.
          </p>
          <Backtest table={table} isUsable={review?.diff !== null} />
        </section>
      )}
    </>
  )
}

/** What the cells do not show by themselves. */
function Hints() {
  return (
    <p class="lead">
      As event type write one (<code>claim.paid</code>), several (<code>claim.paid or invoice.paid</code>), a
      family (<code>claim.*</code>), all others (<code>not claim.paid</code>), or <code>no template</code>:
      all without a text of their own. Enter leads to the cell below, Shift+Enter to the one above; Alt with ↑
      or ↓ moves the row.
    </p>
  )
}

interface FileActionsProps {
  readonly of: FileKey
  readonly file: WorkbenchStart['table']
  readonly csv: string
  readonly onRows: (rows: readonly DraftRow[]) => void
  /** Null: there is nothing to undo. */
  readonly onUndo: (() => void) | null
  readonly onStartOver: () => void
}

function FileActions({ of, file: { name, editUrl }, csv, onRows, onUndo, onStartOver }: FileActionsProps) {
  const [isPasting, setPasting] = useState(false)
  const [said, setSaid] = useState('')
  const paste = (rows: readonly DraftRow[]) => {
    setPasting(false)
    onRows(rows)
  }
  const copy = () =>
    navigator.clipboard.writeText(csv).then(
      () => setSaid('Copied.'),
      () => setSaid('The browser did not allow it: download the file.'),
    )
  return (
    <>
      <div class="toolbar file-actions">
        <button type="button" aria-expanded={isPasting} onClick={() => setPasting(!isPasting)}>
          Paste a CSV…
        </button>
        <button
          type="button"
          title="Takes back your last change, of the rules or of the promises"
          aria-disabled={onUndo === null}
          onClick={() => onUndo?.()}
        >
          Undo
        </button>
        <button type="button" title={`Back to the ${name} in force`} onClick={onStartOver}>
          Start over with {name}
        </button>
        <button type="button" class="primary" onClick={() => saveFile(name, [csv])}>
          Download {name}
        </button>
        <button type="button" onClick={copy}>
          Copy as CSV
        </button>
        {editUrl !== null && (
          <a class="button" href={editUrl} target="_blank" rel="noopener noreferrer">
            Edit {name} in the repository
          </a>
        )}
        <span role="status" class="faint">
          {said}
        </span>
      </div>
      {isPasting && <Paste of={of} name={name} onRows={paste} />}
    </>
  )
}

/** The width of a phone, on which nobody edits a table. */
const NARROW = '(max-width: 480px)'

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches)
  useEffect(() => {
    const query = matchMedia(NARROW)
    const follow = () => setNarrow(query.matches)
    query.addEventListener('change', follow)
    return () => query.removeEventListener('change', follow)
  }, [])
  return isNarrow
}
