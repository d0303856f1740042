import { useEffect, useState } from 'preact/hooks'
import type { Review } from '../../core/workbench/review.ts'
import type { WorkbenchStart } from '../../core/workbench/workbench.ts'
import { Table } from '../list.tsx'
import { Bullets, Problem, State, Title } from '../parts.tsx'
import { useAnswer, useData } from '../use-data.ts'
import { Backtest } from '../workbench/backtest.tsx'
import { csvOf, type FileKey, ROW_OF, rowsOf, useDraft } from '../workbench/draft.ts'
import { FileEditor } from '../workbench/file-editor.tsx'
import { Changes, FileFindings, Notice, Promises, Verdict } from '../workbench/findings.tsx'
import { Propose } from '../workbench/propose.tsx'
import { Trial } from '../workbench/trial.tsx'

/** How soon one learns that other files have come into force. */
const EVERY_MS = 10_000

/** A change of the rule table, tried before it is proposed. */
export function WorkbenchView() {
  const loaded = useData<WorkbenchStart>(['workbench'], {}, EVERY_MS)
  return (
    <>
      <Title name="Workbench" />
      <p class="faint">
        Try a change of the rules before you propose it. Nothing here changes the service. Your changes are
        marked.
      </p>
      <State of={loaded} />
      {loaded.data !== null && <Bench start={loaded.data} isCurrent={loaded.problem === null} />}
    </>
  )
}

function Bench({ start, isCurrent }: { start: WorkbenchStart; isCurrent: boolean }) {
  const isNarrow = useNarrow()
  const { draft, change, undo, outdated, conflicts } = useDraft(start)
  const csv = {
    table: csvOf(start.table.grid.columns, draft.table),
    promises: csvOf(start.promises.grid.columns, draft.promises),
  }
  const {
    data: review,
    problem,
    isLoading,
  } = useAnswer<Review>(
    'review',
    csv,
    // Other files in force, or a service that is back, may have another verdict.
    JSON.stringify([start, isCurrent]),
  )
  const isStale = isLoading || problem !== null || !isCurrent
  const changed = (['table', 'promises'] as const)
    .filter((of) => csv[of] !== csvOf(start[of].grid.columns, rowsOf(start[of].grid)))
    .map((of) => ({ name: start[of].name, csv: csv[of] }))
  const part = (of: FileKey) =>
    isNarrow ? (
      <Table
        label={`The ${ROW_OF[of]}s`}
        columns={start[of].grid.columns}
        rows={draft[of].map(({ id, cells }) => ({ key: id, cells }))}
      />
    ) : (
      <FileEditor
        of={of}
        start={start}
        rows={draft[of]}
        faults={review?.[of].faults ?? []}
        onRows={(rows, cell) => change({ ...draft, [of]: rows }, cell)}
        onUndo={undo}
      />
    )
  return (
    <>
      {outdated !== null && <Outdated {...outdated} />}
      <Notice of={conflicts} />
      {isNarrow && <p class="notice">On a phone the table can only be read. Edit it on a wider screen.</p>}
      <h2>Rules</h2>
      <p class="faint">
        They apply from top to bottom: the first one whose cells all match decides. A blank cell matches
        anything.
      </p>
      {!isNarrow && (
        <p class="faint">
          As event type write one (<code>claim.paid</code>), several (<code>claim.paid or invoice.paid</code>
          ), a family (<code>claim.*</code>), all others (<code>not claim.paid</code>), or{' '}
          <code>no template</code>: all without a text of their own. Enter leads to the cell below,
          Shift+Enter to the one above; Alt with ↑ or ↓ moves the row.
        </p>
      )}
      {part('table')}
      {review !== null && <FileFindings {...review.table} />}
      <Problem of={problem} />
      <Verdict
        review={review}
        promises={draft.promises}
        isLoading={isLoading}
        isGone={problem !== null || !isCurrent}
      />
      <div class="columns">
        <section class="card" aria-labelledby="changes">
          <h2 id="changes">What changes</h2>
          <p class="faint">
            A situation is one combination of what rules look at: the party, its opt-out and channel, and what
            is on file. It counts once, however many event types it concerns.
          </p>
          {review !== null && <Changes of={review} />}
        </section>
        <section class="card" aria-labelledby="promises">
          <h2 id="promises">Promises</h2>
          <p class="faint">What must stay true, whatever the rules become.</p>
          {review !== null && <Promises of={review.promises} rows={draft.promises} />}
        </section>
      </div>
      <details class="card">
        <summary>{isNarrow ? 'All promises' : 'Edit the promises'}</summary>
        {part('promises')}
      </details>
      <section class="card" aria-labelledby="try">
        <h2 id="try">Try a situation</h2>
        <Trial table={csv.table} />
      </section>
      {!isNarrow && (
        <section class="card" aria-labelledby="backtest">
          <h2 id="backtest">Back-test</h2>
          <p class="faint">
            Decide the events of the last days again by this table. Nothing is sent or written.
          </p>
          <Backtest table={csv.table} isUsable={review?.diff !== null} />
        </section>
      )}
      {!isNarrow && (
        <section class="card" aria-labelledby="propose">
          <h2 id="propose">Propose</h2>
          <p class="faint">
            Download what you changed, upload it to the folder <code>rules</code> of the repository on a
            branch of its own, and paste the text into the pull request.
          </p>
          <Propose
            start={start}
            changed={changed}
            proposal={review?.proposal ?? ''}
            obstacle={
              outdated !== null
                ? 'Others have changed the files in force: first merge it, or keep your draft without it.'
                : isStale
                  ? 'The verdict is out of date.'
                  : null
            }
          />
        </section>
      )}
    </>
  )
}

/** The draft began from other files than those in force now. */
function Outdated({ changes, merge, keep, drop }: NonNullable<ReturnType<typeof useDraft>['outdated']>) {
  return (
    <div class="notice" role="alert">
      <p>
        Others have changed the files in force since you began this draft. Without a merge your file would
        undo it:
      </p>
      <Bullets of={changes} />
      <div class="toolbar">
        <button type="button" onClick={merge}>
          Merge into my draft
        </button>
        <button type="button" class="outline" onClick={keep}>
          Keep my draft without it
        </button>
        <button type="button" class="outline" onClick={drop}>
          Drop my draft
        </button>
      </div>
    </div>
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
