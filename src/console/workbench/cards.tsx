import type { WorkbenchStart } from '../../core/workbench/workbench.ts'
import { visible } from '../text.ts'
import type { DraftRow } from './draft.ts'

/** A file to be read on a phone: each row with those of its cells that say something. */
export function Cards({
  label,
  file,
  rows,
}: {
  label: string
  file: WorkbenchStart['table']
  rows: readonly DraftRow[]
}) {
  return (
    <ol class="cards" aria-label={label}>
      {rows.map(({ id, cells }) => (
        <li key={id} class="card">
          <h3>{visible(cells[0] ?? '')}</h3>
          <ul class="cells">
            {file.grid.columns.map((column, index) => {
              const text = cells[index] ?? ''
              return index > 0 && text !== '' ? (
                <li key={column}>
                  {column} <strong>{visible(text)}</strong>
                </li>
              ) : null
            })}
          </ul>
        </li>
      ))}
    </ol>
  )
}
