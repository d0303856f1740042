import { useLayoutEffect, useRef } from 'preact/hooks'
import { WHEN_COLUMNS } from '../../core/rules/when.ts'
import type { Placed } from '../../core/workbench/place-of.ts'
import type { WorkbenchStart } from '../../core/workbench/workbench.ts'
import { type DraftRow, rowOf } from './draft.ts'
import { Finding } from './findings.tsx'

interface GridProps {
  /** What one row is, such as "rule"; the prefix of ids. */
  readonly what: 'rule' | 'promise'
  readonly file: WorkbenchStart['table']
  readonly rows: readonly DraftRow[]
  readonly faults: readonly Placed[]
  readonly eventTypes: readonly string[]
  /** `cell` is the id of the one that was typed in. */
  readonly onChange: (rows: readonly DraftRow[], cell?: string) => void
}

/** The headings are the first line of the file. */
const FIRST_ROW = 2

/** A file as a table whose cells, rows and their order can be changed, with each fault below the row that has it. */
export function Grid({ what, file, rows, faults, eventTypes, onChange }: GridProps) {
  const { columns } = file.grid
  const focusNext = useRef<string | null>(null)
  useLayoutEffect(() => {
    if (focusNext.current !== null) document.getElementById(focusNext.current)?.focus()
    focusNext.current = null
  })
  const change = (next: readonly DraftRow[], focus: string | null) => {
    focusNext.current = focus
    onChange(next)
  }
  const add = (index: number) => {
    const row = rowOf(columns.map(() => ''))
    change(rows.toSpliced(index, 0, row), cellId(what, row, 0))
  }
  const move = (index: number, by: 1 | -1, focus: string) => {
    const [row, other] = [rows[index], rows[index + by]]
    if (row === undefined || other === undefined) return
    change(rows.with(index, other).with(index + by, row), focus)
  }
  const step = (index: number, column: number) => {
    const row = rows[index]
    const id = row === undefined ? `${what}-add` : cellId(what, row, column)
    if (index >= 0) document.getElementById(id)?.focus()
  }
  const remove = (index: number) => {
    const left = rows.toSpliced(index, 1)
    const next = left[index] ?? left.at(-1)
    change(left, next === undefined ? `${what}-add` : cellId(what, next, 0))
  }
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

interface RowProps {
  readonly what: GridProps['what']
  readonly file: GridProps['file']
  readonly row: DraftRow
  /** As it is in force; undefined: it is new. */
  readonly before: readonly string[] | undefined
  readonly faults: readonly Placed[]
  readonly onCell: (column: number, text: string) => void
  readonly onMove: (by: 1 | -1, focus: string) => void
  /** To the cell above or below. */
  readonly onStep: (by: 1 | -1, column: number) => void
  readonly onAdd: () => void
  readonly onRemove: () => void
  /** Its line in the file. */
  readonly line: number
  readonly isLast: boolean
}

function Row(props: RowProps) {
  const { what, file, row, before, faults, onCell, onMove, onStep, onAdd, onRemove, line, isLast } = props
  const { columns } = file.grid
  const name = row.cells[0] || `unnamed ${what}`
  const faultsId = `${what}-${row.id}-faults`
  const moveByKey = (event: KeyboardEvent, column: number) => {
    if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault()
      return onStep(event.shiftKey ? -1 : 1, column)
    }
    if (!event.altKey || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return
    event.preventDefault()
    onMove(event.key === 'ArrowUp' ? -1 : 1, cellId(what, row, column))
  }
  const mover = (by: 1 | -1, sign: string, isOff: boolean) => {
    const id = `${what}-${row.id}-${by === 1 ? 'down' : 'up'}`
    const label = `Move ${name} ${by === 1 ? 'down' : 'up'}`
    return (
      <button
        type="button"
        id={id}
        aria-label={label}
        title={label}
        aria-disabled={isOff}
        onClick={() => onMove(by, id)}
      >
        {sign}
      </button>
    )
  }
  return (
    <>
      <tr class={before === undefined ? 'is-new' : undefined}>
        <td class="row-actions">
          <span class="line faint">{line}</span>
          {mover(-1, '↑', line === FIRST_ROW)}
          {mover(1, '↓', isLast)}
          <button type="button" aria-label={`Add a ${what} below ${name}`} title="Add below" onClick={onAdd}>
            +
          </button>
          <button type="button" aria-label={`Delete ${name}`} title="Delete" onClick={onRemove}>
            ×
          </button>
        </td>
        {columns.map((column, index) => {
          const text = row.cells[index] ?? ''
          const isChanged = before !== undefined && before[index] !== text
          const isFaulty = faults.some((fault) => fault.column === column)
          return (
            <td key={column} class={isChanged ? 'is-changed' : undefined}>
              <Cell
                id={cellId(what, row, index)}
                label={`${column}, ${name}`}
                column={column}
                text={text}
                choices={file.choices[column]}
                list={column === 'event type' ? `${what}-event-types` : undefined}
                faultsId={isFaulty ? faultsId : undefined}
                onText={(next) => onCell(index, next)}
                onKey={(event) => moveByKey(event, index)}
              />
            </td>
          )
        })}
      </tr>
      {faults.length > 0 && (
        <tr class="faults">
          <td colSpan={columns.length + 1}>
            <ul id={faultsId}>
              {faults.map((fault) => (
                <li key={`${fault.column} ${fault.text}`}>
                  {fault.column !== null && <strong>{fault.column}: </strong>}
                  <Finding text={fault.text} />
                </li>
              ))}
            </ul>
          </td>
        </tr>
      )}
    </>
  )
}

interface CellProps {
  readonly id: string
  readonly label: string
  readonly column: string
  readonly text: string
  readonly choices: readonly string[] | undefined
  readonly list: string | undefined
  /** What is wrong with it; undefined: nothing. */
  readonly faultsId: string | undefined
  readonly onText: (text: string) => void
  readonly onKey: (event: KeyboardEvent) => void
}

function Cell({ id, label, column, text, choices, list, faultsId, onText, onKey }: CellProps) {
  const common = {
    id,
    'aria-label': label,
    'aria-invalid': faultsId !== undefined,
    'aria-describedby': faultsId,
    onKeyDown: onKey,
  }
  if (choices !== undefined) {
    // A pasted word that is none of them is shown all the same, with its fault.
    const known = text === '' || choices.includes(text) ? choices : [...choices, text]
    return (
      <select
        {...common}
        class={text === '' ? 'is-blank' : undefined}
        value={text}
        onChange={({ currentTarget }) => onText(currentTarget.value)}
      >
        <option value="">{blankOf(column)}</option>
        {known.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    )
  }
  const typed = {
    ...common,
    value: text,
    spellcheck: false,
    autocomplete: 'off',
    class: `cell-${column.replaceAll(' ', '-')}`,
  } as const
  return LONG.includes(column) ? (
    <textarea
      {...typed}
      rows={2}
      onInput={({ currentTarget }) => onText(currentTarget.value.replace(/\s*\n\s*/g, ' '))}
    />
  ) : (
    <div class="wraps">
      <input
        {...typed}
        list={list}
        placeholder={blankOf(column)}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      <span class="whole" aria-hidden="true">
        {text.replaceAll('.', `.${BREAK}`)}
      </span>
    </div>
  )
}

/** What a blank cell stands for. */
function blankOf(column: string): string {
  return WHEN_COLUMNS.some((known) => known === column) ? 'any' : ''
}

/** A zero-width space, at which a line may end. */
const BREAK = '\u200b'

/** Columns whose text may need several lines. */
const LONG = ['because', 'promise', 'reason']

function cellId(what: string, row: DraftRow, column: number): string {
  return `${what}-${row.id}-${column}`
}
