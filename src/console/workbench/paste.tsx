import { useContext, useState } from 'preact/hooks'
import type { Grid } from '../../core/workbench/workbench.ts'
import { ask, RequestError } from '../api.ts'
import { visible } from '../text.ts'
import { Refused } from '../visit.ts'
import { type DraftRow, type FileKey, rowsOf } from './draft.ts'

interface PasteProps {
  readonly of: FileKey
  readonly name: string
  readonly onRows: (rows: DraftRow[]) => void
}

/** Takes a whole file, from the clipboard or from the disk. */
export function Paste({ of, name, onRows }: PasteProps) {
  const [csv, setCsv] = useState('')
  const [faults, setFaults] = useState<readonly string[]>([])
  const refused = useContext(Refused)
  async function use(): Promise<void> {
    try {
      const never = new AbortController().signal
      const read = await ask<{ grid: Grid | null; faults: string[] }>(
        ['workbench', 'grid'],
        { csv, of },
        never,
      )
      setFaults(read.faults)
      if (read.grid !== null) onRows(rowsOf(read.grid))
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      if (error.status === 401 || error.status === 403) refused(error)
      else setFaults([error.message])
    }
  }
  const areaId = `paste-${of}`
  const fileId = `open-${of}`
  return (
    <div class="card stack paste">
      <div class="field">
        <label for={areaId}>Paste the whole of a {name}, its headings included</label>
        <textarea
          id={areaId}
          rows={8}
          spellcheck={false}
          value={csv}
          onInput={({ currentTarget }) => setCsv(currentTarget.value)}
        />
      </div>
      <div class="field">
        <label for={fileId}>or open a file</label>
        <input
          id={fileId}
          type="file"
          accept=".csv,text/csv"
          onChange={async ({ currentTarget: { files } }) => setCsv((await files?.[0]?.text()) ?? '')}
        />
      </div>
      <div role="alert">
        {faults.length > 0 && (
          <ul class="notice notice-bad findings">
            {faults.map((fault) => (
              <li key={fault}>{visible(fault)}</li>
            ))}
          </ul>
        )}
      </div>
      <button type="button" class="primary" onClick={use}>
        Use this file
      </button>
    </div>
  )
}
