import type { JSX } from 'preact'
import { WHEN_COLUMNS } from '../../core/rules/when.ts'
import type { Placed } from '../../core/workbench/review.ts'
import type { WorkbenchStart } from '../../core/workbench/workbench.ts'
import { cellId, type DraftRow, FIRST_ROW, type RowEdits } from './draft.ts'
import { Finding } from './findings.tsx'

interface RowProps {
  readonly what: 'rule' | 'promise'
  readonly file: WorkbenchStart['table']
  readonly row: DraftRow
  /** As it is in force; undefined: it is new. */
  readonly before: readonly string[] | undefined
  readonly faults: readonly Placed[]
  readonly index: number
  readonly isLast: boolean
  readonly edits: RowEdits
}

/** A row of the grid, with its faults below it. */
export function Row(props: RowProps) {
  const { what, file, row, before, faults, index, edits } = props
  const { columns } = file.grid
  const name = row.cells[0] || `unnamed ${what}`
  const faultsId = `${what}-${row.id}-faults`
  const moveByKey = (event: KeyboardEvent, column: number) => {
    const isMove = event.altKey && /^Arrow(Up|Down)$/.test(event.key)
    const isStep = event.key === 'Enter' && !event.isComposing
    if (!isMove && !isStep) return
    event.preventDefault()
    if (isMove) edits.move(index, event.key === 'ArrowUp' ? -1 : 1, cellId(what, row, column))
    else edits.step(index + (event.shiftKey ? -1 : 1), column)
  }
  return (
    <>
      <tr class={before === undefined ? 'is-new' : undefined}>
        <RowActions {...props} name={name} />
        {columns.map((column, at) => {
          const text = row.cells[at] ?? ''
          const isChanged = before !== undefined && before[at] !== text
          const isFaulty = faults.some((fault) => fault.column === column)
          return (
            <td key={column} class={isChanged ? 'is-changed' : undefined}>
              <Cell
                id={cellId(what, row, at)}
                label={`${column}, ${name}`}
                column={column}
                text={text}
                choices={file.choices[column]}
                list={column === 'event type' ? `${what}-event-types` : undefined}
                faultsId={isFaulty ? faultsId : undefined}
                onText={(next) => edits.type(index, row, at, next)}
                onKey={(event) => moveByKey(event, at)}
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

function RowActions({ what, row, before, name, index, isLast, edits }: RowProps & { name: string }) {
  const button = (sign: string, label: string, further: JSX.IntrinsicElements['button']) => (
    <button type="button" class="ghost" aria-label={label} title={label} {...further}>
      {sign}
    </button>
  )
  const mover = (by: 1 | -1, isOff: boolean) => {
    const id = `${what}-${row.id}-move-${by}`
    const onClick = () => edits.move(index, by, id)
    const label = `Move ${name} ${by === 1 ? 'down' : 'up'}`
    // By the keyboard a row is moved in its cells.
    return button(by === 1 ? '↓' : '↑', label, { id, tabIndex: -1, 'aria-disabled': isOff, onClick })
  }
  return (
    <td class="row-actions">
      <span class="line faint">{index + FIRST_ROW}</span>
      {mover(-1, index === 0)}
      {mover(1, isLast)}
      {button('×', `Delete ${name}`, { onClick: () => edits.remove(index) })}
      <br />
      {button('+↑', `Add a ${what} above ${name}`, { onClick: () => edits.add(index) })}
      {button('+↓', `Add a ${what} below ${name}`, { onClick: () => edits.add(index + 1) })}
      {button('++', `Duplicate ${name}`, { onClick: () => edits.duplicate(index) })}
      {before?.some((cell, at) => cell !== row.cells[at]) &&
        button('↺', `Revert ${name}`, { onClick: () => edits.revert(index, row, before) })}
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
    <input
      {...typed}
      list={list}
      placeholder={blankOf(column)}
      onInput={({ currentTarget }) => onText(currentTarget.value)}
    />
  )
}

/** The meaning of a blank cell. */
function blankOf(column: string): string {
  return WHEN_COLUMNS.some((known) => known === column) ? 'any' : ''
}

/** Columns whose text may need several lines. */
const LONG = ['because', 'promise', 'reason']
