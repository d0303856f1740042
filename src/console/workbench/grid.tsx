import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Placed } from '../../core/workbench/review.ts'
import type { WorkbenchStart } from '../../core/workbench/workbench.ts'
import { type DraftRow, rowOf } from './draft.ts'
import { cellId, FIRST_ROW, Row } from './grid-row.tsx'

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
  const { add, move, step, remove } = useRowEdits({ what, columns, rows, onChange })
  const position = ({ column }: Placed) => columns.indexOf(column ?? '')
  const faultsOf = (line: number) =>
    faults.filter(({ row }) => row === line).sort((a, b) => position(a) - position(b))
  const before = new Map(file.grid.rows.map((cells) => [cells[0], cells]))
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <section class="table grid" aria-label={`The ${what}s`} tabIndex={0}>
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
                onCell={(column, text) =>
                  onChange(
                    rows.with(index, { ...row, cells: row.cells.with(column, text) }),
                    cellId(what, row, column),
                  )
                }
                onMove={(by, focus) => move(index, by, focus)}
                onStep={(by, column) => step(index + by, column)}
                onAdd={() => add(index + 1)}
                onRemove={() => remove(index)}
                line={index + FIRST_ROW}
                isLast={index === rows.length - 1}
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
        <button type="button" id={`${what}-add`} onClick={() => add(rows.length)}>
          Add a {what} at the end
        </button>
      </p>
    </>
  )
}

/** Edits of whole rows. Each says where the focus goes next. */
function useRowEdits({ what, columns, rows, onChange }: RowEditNeeds) {
  const focusNext = useRef<string | null>(null)
  useLayoutEffect(() => {
    if (focusNext.current !== null) document.getElementById(focusNext.current)?.focus()
    focusNext.current = null
  })
  const change = (next: readonly DraftRow[], focus: string | null) => {
    focusNext.current = focus
    onChange(next)
  }
  return {
    add(index: number): void {
      const row = rowOf(columns.map(() => ''))
      change(rows.toSpliced(index, 0, row), cellId(what, row, 0))
    },
    move(index: number, by: 1 | -1, focus: string): void {
      const [row, other] = [rows[index], rows[index + by]]
      if (row === undefined || other === undefined) return
      change(rows.with(index, other).with(index + by, row), focus)
    },
    /** To the cell of this row, or behind the last row. */
    step(index: number, column: number): void {
      const row = rows[index]
      const id = row === undefined ? `${what}-add` : cellId(what, row, column)
      if (index >= 0) document.getElementById(id)?.focus()
    },
    remove(index: number): void {
      const left = rows.toSpliced(index, 1)
      const next = left[index] ?? left.at(-1)
      change(left, next === undefined ? `${what}-add` : cellId(what, next, 0))
    },
  }
}

interface RowEditNeeds extends Pick<GridProps, 'what' | 'rows' | 'onChange'> {
  readonly columns: readonly string[]
}
