import type { Placed } from '../../core/workbench/review.ts'
import type { WorkbenchStart } from '../../core/workbench/workbench.ts'
import { type DraftRow, FIRST_ROW, useRowEdits } from './draft.ts'
import { Row } from './grid-row.tsx'

interface GridProps {
  /** The noun for a row, such as "rule"; also the prefix of ids. */
  readonly what: 'rule' | 'promise'
  readonly file: WorkbenchStart['table']
  readonly rows: readonly DraftRow[]
  readonly faults: readonly Placed[]
  readonly eventTypes: readonly string[]
  /** `cell` is the id of the one that was typed in. */
  readonly onChange: (rows: readonly DraftRow[], cell?: string) => void
}

/** A file as a table whose cells, rows and their order can be changed, with each fault below the row that has it. */
export function Grid({ what, file, rows, faults, eventTypes, onChange }: GridProps) {
  const { columns } = file.grid
  const edits = useRowEdits({ what, columns, rows, onChange })
  const position = ({ column }: Placed) => columns.indexOf(column ?? '')
  const faultsOf = (line: number) =>
    faults.filter(({ row }) => row === line).sort((a, b) => position(a) - position(b))
  const before = new Map(file.grid.rows.map((cells) => [cells[0], cells]))
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <section class="card grid" aria-label={`The ${what}s`} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col" title="The line in the file; the first holds the headings">
                Row
              </th>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <Row
                key={row.id}
                what={what}
                file={file}
                row={row}
                before={before.get(row.cells[0] ?? '')}
                faults={faultsOf(index + FIRST_ROW)}
                index={index}
                isLast={index === rows.length - 1}
                edits={edits}
              />
            ))}
          </tbody>
        </table>
      </section>
      <datalist id={`${what}-event-types`}>
        {eventTypes.map((eventType) => (
          <option key={eventType} value={eventType} />
        ))}
      </datalist>
      <p>
        <button type="button" class="outline" id={`${what}-add`} onClick={() => edits.add(rows.length)}>
          Add a {what} at the end
        </button>
      </p>
    </>
  )
}
