import { useState } from 'preact/hooks'
import type { Grid } from '../../core/workbench/workbench.ts'
import { ask } from '../api.ts'
import { useTold } from '../use-data.ts'
import { type DraftRow, type FileKey, rowsOf } from './draft.ts'
import { Notice } from './findings.tsx'

interface PasteProps {
  readonly of: FileKey
  readonly name: string
  readonly onRows: (rows: DraftRow[]) => void
}

/** Takes a whole file, from the clipboard or from the disk. */
export function Paste({ of, name, onRows }: PasteProps) {
  const [csv, setCsv] = useState('')
  const [faults, setFaults] = useState<readonly string[]>([])
  const told = useTold()
  async function use(): Promise<void> {
    const never = new AbortController().signal
    const asked = ask<{ grid: Grid | null; faults: string[] }>(['workbench', 'grid'], { csv, of }, never)
    const answer = await told(asked, never)
    if (answer === null) return
    const { grid = null, faults = [answer.problem ?? ''] } = answer.data ?? {}
    setFaults(faults)
    if (grid !== null) onRows(rowsOf(grid))
  }
  return (
    <div class="card">
      <label>
        Paste the whole of a {name}, its headings included
        <textarea
          rows={8}
          spellcheck={false}
          value={csv}
          onInput={({ currentTarget }) => setCsv(currentTarget.value)}
        />
      </label>
      <label>
        or open a file{' '}
        <input
          type="file"
          accept=".csv,text/csv"
          onChange={async ({ currentTarget: { files } }) => setCsv((await files?.[0]?.text()) ?? '')}
        />
      </label>
      <div role="alert">
        <Notice of={faults} isBad />
      </div>
      <button type="button" onClick={use}>
        Use this file
      </button>
    </div>
  )
}
