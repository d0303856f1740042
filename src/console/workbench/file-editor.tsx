import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Placed } from '../../core/workbench/review.ts'
import type { WorkbenchStart } from '../../core/workbench/workbench.ts'
import { type DraftRow, type FileKey, ROW_OF, rowsOf } from './draft.ts'
import { Grid } from './grid.tsx'
import { Paste } from './paste.tsx'

interface FileEditorProps {
  readonly of: FileKey
  readonly start: WorkbenchStart
  readonly rows: readonly DraftRow[]
  readonly faults: readonly Placed[]
  /** `cell` is the id of the one that was typed in. */
  readonly onRows: (rows: readonly DraftRow[], cell?: string) => void
  /** Null: there is nothing to undo. */
  readonly onUndo: (() => void) | null
}

/** One file of the draft, to be edited, and what else can be done with it. */
export function FileEditor({ of, start, rows, faults, onRows, onUndo }: FileEditorProps) {
  const { name, grid } = start[of]
  const [isPasting, setPasting] = useState(false)
  const paste = (rows: readonly DraftRow[]) => {
    setPasting(false)
    onRows(rows)
  }
  const action = (words: string, onClick: () => void, further: JSX.IntrinsicElements['button'] = {}) => (
    <button type="button" class="outline" onClick={onClick} {...further}>
      {words}
    </button>
  )
  return (
    <>
      <div class="toolbar file-actions">
        {action('Paste a CSV…', () => setPasting(!isPasting), { 'aria-expanded': isPasting })}
        {action('Undo', () => onUndo?.(), {
          title: 'Takes back your last change, of the rules or of the promises',
          'aria-disabled': onUndo === null,
        })}
        {action(`Start over with ${name}`, () => onRows(rowsOf(grid)), {
          title: `Back to the ${name} in force`,
        })}
      </div>
      {isPasting && <Paste of={of} name={name} onRows={paste} />}
      <Grid
        what={ROW_OF[of]}
        file={start[of]}
        rows={rows}
        faults={faults}
        eventTypes={start.eventTypes}
        onChange={onRows}
      />
    </>
  )
}
