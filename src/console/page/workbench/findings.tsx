import { useMemo, useState } from 'preact/hooks'
import type { FileReport } from '../../../authoring/check/check-files.ts'
import type { PromiseFault } from '../../../authoring/check/check-promises.ts'
import { describeUnguarded, findUnguarded } from '../../../authoring/check/find-unguarded.ts'
import type { ChangeSummary } from '../../../authoring/diff/change-summary.ts'
import { isFilled, summariseRows } from '../../../authoring/diff/diff-rows.ts'
import { describeRest, groupChanges, summariseDiff } from '../../../authoring/diff/diff-text.ts'
import { describeFault } from '../../../service/text/faults.ts'
import { Bullets, Button, Details } from '../parts.tsx'
import { counted, visible } from '../text.ts'
import { type Bench, FIRST_ROW, SHEETS, type Verdict } from './draft.ts'

/** Focuses the first element of a selector once the changes made so far are rendered. */
export function focus(selector: string): void {
  queueMicrotask(() => document.querySelector<HTMLElement>(selector)?.focus())
}

/** Focuses the first element of a selector, or the next one if one of them has the focus; the findings if there is none. */
export function focusNext(selector: string): void {
  queueMicrotask(() => {
    const elements = [...document.querySelectorAll<HTMLElement>(selector)]
    const next = elements.find((element) => element.id === focusNext.lastId)
    const element = elements[(next === undefined ? -1 : elements.indexOf(next)) + 1] ?? elements[0]
    focusNext.lastId = element?.id ?? ''
    ;(element ?? document.getElementById('findings'))?.focus()
  })
}
/** A click on a link takes the focus from the element. */
focusNext.lastId = ''

/** More than people read; a file can have many thousands. */
const SHOWN_COUNT_MAX = 200

/** Link targets of the verdict. */
export type Lead = 'table' | 'doubts' | 'templates' | 'broken' | 'changes'
type Mark = readonly [tone: string, to: Lead, words: string]

/** Beside the table, always visible: faults, promises, changes. Each part links to its details. */
export function VerdictBar({ verdict, onLead }: { verdict: Verdict; onLead: (to: Lead) => void }) {
  return (
    <div class="verdict hstack" role="status">
      {listMarks(verdict).map(([tone, to, words]) => (
        <button type="button" class="badge" data-variant={tone} onClick={() => onLead(to)}>
          {words}
        </button>
      ))}
    </div>
  )
}

/** The parts of the verdict. A fault or a broken promise has the tone `danger`. */
export function listMarks({ table, promises, texts, summary, draft }: Verdict): readonly Mark[] {
  const broken = findBroken(promises).length
  const inPromises = promises.faults.length - broken
  const faults = table.faults.length + inPromises + texts.report.faults.length
  const faulty = table.faults.length > 0 ? 'table' : inPromises > 0 ? 'broken' : 'templates'
  const warnings = table.warnings.length + promises.warnings.length
  // An unused variable is not specific to a draft.
  const inTexts = texts.report.warnings.filter(({ line }) => line !== null).length
  const count = draft.promises.filter(isFilled).length
  const soFar = table.faults.length > 0 ? ' so far' : ''
  const changes = [
    summariseRows(summary.rows),
    summary.texts?.length ? textsIn(summary.texts.length) : '',
    summary.diff ? summariseDiff(summary.diff) : 'Changes appear once the faults are corrected',
  ]
  const marks: readonly (Mark | false)[] = [
    faults === 0
      ? [warnings > 0 ? 'secondary' : 'success', 'table', 'No faults']
      : ['danger', faulty, counted(faults, 'fault', 'faults')],
    warnings > 0 && [
      'warning',
      table.warnings.length > 0 ? 'doubts' : 'broken',
      counted(warnings, 'warning', 'warnings'),
    ],
    inTexts > 0 && ['warning', 'templates', counted(inTexts, 'warning of texts', 'warnings of texts')],
    promises.summary === null
      ? ['secondary', 'broken', 'Promises not checked']
      : broken === 0
        ? ['success', 'broken', `All ${count} promises kept${soFar}`]
        : ['danger', 'broken', `${counted(broken, 'promise', 'promises')} of ${count} broken${soFar}`],
    ['secondary', 'changes', changes.filter(Boolean).join('. ')],
  ]
  return marks.filter((mark) => mark !== false)
}

function textsIn(count: number): string {
  return counted(count, 'text differs', 'texts differ')
}

/** Faults and warnings of the rules that belong to no row. */
export function FileFindings({ faults, warnings }: FileReport) {
  const ofFile = (faults: FileReport['faults']) => faults.filter(({ row }) => row === null || row < FIRST_ROW)
  return (
    <div id="findings" tabIndex={-1} aria-live="polite">
      <Notice lines={ofFile(faults).map(describeFault)} isBad />
      <Notice lines={ofFile(warnings).map(describeFault)} />
    </div>
  )
}

/** The remarks about a file, if any. */
export function Notice({ lines, isBad = false }: { lines: readonly string[]; isBad?: boolean }) {
  if (lines.length === 0) return null
  const more = lines.length - SHOWN_COUNT_MAX
  return (
    <div class={isBad ? 'notice notice-bad' : 'notice'}>
      <Bullets lines={more > 0 ? [...lines.slice(0, SHOWN_COUNT_MAX), `and ${more} more`] : lines} />
    </div>
  )
}

/** Superfluous rows, each with a button that shortens the table. */
export function ShorterTable({
  verdict,
  draft,
  change,
}: Pick<Bench, 'draft' | 'change'> & { verdict: Verdict }) {
  if (verdict.shorter.length === 0 || verdict.draft !== draft) return null
  const columns: readonly string[] = SHEETS.table.columns
  const shorten = ({ row, edit }: Verdict['shorter'][number]) => {
    const edited = draft.table.map((cells, index) =>
      edit !== null && index + FIRST_ROW === edit.row
        ? cells.with(columns.indexOf(edit.column), edit.cell)
        : cells,
    )
    change({ table: edited.toSpliced(row - FIRST_ROW, 1) })
  }
  return (
    <section aria-label="The table could be shorter">
      <h3>The table could be shorter, with the same decisions</h3>
      <ul>
        {verdict.shorter.slice(0, SHOWN_COUNT_MAX).map((hint) => (
          <li key={hint.text}>
            {visible(hint.text)} <Button onClick={() => shorten(hint)}>Shorten</Button>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Changes for members, the most harmful first. */
export function Changes({ rows, texts, diff, traffic }: ChangeSummary) {
  const kinds = diff === null ? [] : [...Map.groupBy(groupChanges(diff), ({ kind }) => kind)]
  const rest = diff === null ? [] : describeRest(diff)
  return (
    <>
      <Bullets lines={rows.slice(0, SHOWN_COUNT_MAX).map(({ text }) => text)} />
      {texts !== null && texts.length > 0 && (
        <Details
          summary={textsIn(texts.length)}
          lines={texts.map(
            ({ eventType, before }) => `${eventType}${before === null ? ': new, was the generic text' : ''}`,
          )}
        />
      )}
      <p>
        {diff === null
          ? 'Correct the faults first: the table cannot be used as it is.'
          : kinds.length === 0
            ? 'Nothing: every situation has the same decision as now.'
            : `${summariseDiff(diff)}.`}
      </p>
      {traffic !== null && (
        <section aria-label="Events of the past">
          <h3>{traffic.summary}</h3>
          <Bullets lines={[...traffic.changes, ...traffic.notes].slice(0, SHOWN_COUNT_MAX)} />
        </section>
      )}
      {kinds.map(([kind, groups]) => (
        <section key={kind} aria-label={kind}>
          <h3>{kind}</h3>
          {groups.slice(0, SHOWN_COUNT_MAX).map(({ sentence, situations }) => (
            <Details key={sentence} summary={sentence} lines={situations} />
          ))}
          {groups.length > SHOWN_COUNT_MAX && <p>and {groups.length - SHOWN_COUNT_MAX} more</p>}
        </section>
      ))}
      {rest.length > 0 && (
        <section aria-label="Same for members">
          <h3>Same for members</h3>
          <Bullets lines={rest} />
        </section>
      )}
    </>
  )
}

/** The broken promises. Other faults name a column, or keep the promises from being checked. */
function findBroken({ faults, summary }: Verdict['promises']): readonly PromiseFault[] {
  return summary === null ? [] : faults.filter(({ column }) => column === null)
}

/** The broken promises with the rules that break them, then those that are kept. Other faults come first. */
export function Promises({ verdict, draft, change }: Pick<Bench, 'draft' | 'change'> & { verdict: Verdict }) {
  /** Narrows the promise in a row to the other event types, and adapts its sentence. */
  const narrow = (index: number, { cell, eventTypes }: NonNullable<PromiseFault['exclude']>) => {
    const row = draft.promises[index]
    if (row === undefined) return
    const narrowed = row.with(0, `${row[0]} (but for ${eventTypes.join(', ')})`).with(1, cell)
    change({ promises: draft.promises.with(index, narrowed) })
    focus('#broken')
  }
  const broken = findBroken(verdict.promises)
  const { faults, warnings } = verdict.promises
  const kept = verdict.draft.promises.filter(
    (cells, index) => isFilled(cells) && !broken.some(({ row }) => row === index + FIRST_ROW),
  )
  return (
    <>
      <Notice lines={faults.filter((fault) => !broken.includes(fault)).map(describeFault)} isBad />
      <Notice lines={warnings.map(describeFault)} />
      {broken.slice(0, SHOWN_COUNT_MAX).map((fault) => {
        const { row, exclude } = fault
        return (
          <div key={row} class="notice notice-bad">
            <strong>Broken: </strong>
            {visible(describeFault({ ...fault, row: null }))}
            {row !== null && exclude !== undefined && (
              <details>
                <summary>If you mean it…</summary>
                The promise then no longer forbids this, as the pull request states at its top.{' '}
                <Button onClick={() => narrow(row - FIRST_ROW, exclude)}>Exclude this case</Button>
              </details>
            )}
          </div>
        )
      })}
      {broken.length > 0 && (
        <p>Change the rules; or, if you mean it, change the promise, and propose both files together.</p>
      )}
      {verdict.promises.summary === null ? (
        <p>Promises are checked once both files can be read.</p>
      ) : (
        <Details
          summary={`${counted(kept.length, 'promise', 'promises')} kept`}
          lines={kept.map(([name = '']) => name)}
        />
      )}
      <Unguarded verdict={verdict} />
    </>
  )
}

/** Computed on request, since it takes as long as checking the promises. */
function Unguarded({ verdict: { enumeration, promised } }: { verdict: Verdict }) {
  const [isOpen, setOpen] = useState(false)
  const words = useMemo(
    () => (isOpen && enumeration !== null ? describeUnguarded(findUnguarded(promised, enumeration)) : ''),
    [isOpen, enumeration, promised],
  )
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Rules that no promise guards</summary>
      {visible(words)}
    </details>
  )
}
