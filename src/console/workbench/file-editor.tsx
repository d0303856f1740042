import { useState } from 'preact/hooks'
import type { Placed } from '../../core/workbench/review.ts'
import type { WorkbenchStart } from '../../core/workbench/workbench.ts'
import { saveFile } from '../download.tsx'
import { type DraftRow, type FileKey, rowsOf } from './draft.ts'
import { Grid } from './grid.tsx'
import { Paste } from './paste.tsx'

interface FileEditorProps {
  readonly of: FileKey
  readonly start: WorkbenchStart
  readonly rows: readonly DraftRow[]
  /** The rows as a CSV file. */
  readonly csv: string
  readonly faults: readonly Placed[]
  /** `cell` is the id of the one that was typed in. */
  readonly onRows: (rows: readonly DraftRow[], cell?: string) => void
  /** Null: there is nothing to undo. */
  readonly onUndo: (() => void) | null
}

/** One file of the draft, to be edited, and what else can be done with it. */
export function FileEditor({ of, start, rows, csv, faults, onRows, onUndo }: FileEditorProps) {
  const file = start[of]
  return (
    <>
      <FileActions
        of={of}
        file={file}
        csv={csv}
        onRows={onRows}
        onUndo={onUndo}
        onStartOver={() => onRows(rowsOf(file.grid))}
      />
      <Grid
        what={ROW_OF[of]}
        file={file}
        rows={rows}
        faults={faults}
        eventTypes={start.eventTypes}
        onChange={onRows}
      />
    </>
  )
}

/** The noun for a row. */
export const ROW_OF = { table: 'rule', promises: 'promise' } as const

interface FileActionsProps {
  readonly of: FileKey
  readonly file: WorkbenchStart[FileKey]
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
      () => setSaid('The browser did not allow copying: download the file.'),
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
