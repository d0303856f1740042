import { WHEN_COLUMNS } from '../../core/rules/when.ts'
import type { Placed } from '../../core/workbench/review.ts'
import type { WorkbenchStart } from '../../core/workbench/workbench.ts'
import type { DraftRow } from './draft.ts'
import { Finding } from './findings.tsx'

/** The headings are the first line of the file. */
export const FIRST_ROW = 2

interface RowProps {
  readonly what: 'rule' | 'promise'
  readonly file: WorkbenchStart['table']
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

/** A row of the grid, with its faults below it. */
export function Row(props: RowProps) {
  const { what, file, row, before, faults, onCell, onMove, onStep } = props
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
  return (
    <>
      <tr class={before === undefined ? 'is-new' : undefined}>
        <RowActions {...props} name={name} />
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

function RowActions({ what, row, name, line, isLast, onMove, onAdd, onRemove }: RowProps & { name: string }) {
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
  )
}

interface CellProps {
  readonly id: string
  readonly label: string
  readonly column: string
  readonly text: string
  readonly choices: readonly string[] | undefined
  readonly list: string | undefined
  /** The fault of the cell, if any. */
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

/** The meaning of a blank cell. */
function blankOf(column: string): string {
  return WHEN_COLUMNS.some((known) => known === column) ? 'any' : ''
}

/** A zero-width space, at which a line may end. */
const BREAK = '\u200b'

/** Columns whose text may need several lines. */
const LONG = ['because', 'promise', 'reason']

export function cellId(what: string, row: DraftRow, column: number): string {
  return `${what}-${row.id}-${column}`
}
