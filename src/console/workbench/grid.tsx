import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { type Cells, pairRows } from '../../core/rules/diff-rows.ts'
import { WHEN_COLUMNS } from '../../core/rules/when.ts'
import { type Placed, placeOf } from '../../core/workbench/review.ts'
import { readGrid } from '../../core/workbench/workbench.ts'
import { Button } from '../parts.tsx'
import { FIRST_ROW, type Sheet } from './draft.ts'
import { Finding, Notice } from './findings.tsx'

interface GridProps {
  readonly sheet: Sheet
  readonly rows: readonly Cells[]
  readonly before: readonly Cells[]
  readonly faults: readonly string[]
  /** `place` is the id of the edited cell. */
  readonly onRows: (rows: readonly Cells[], place?: string) => void
  /** Focuses an element by its id after the next rendering. */
  readonly focus: (id: string) => void
  /** Null: there is nothing to undo. */
  readonly onUndo: (() => void) | null
}

function cellId({ what }: Sheet, index: number, column: number): string {
  return `${what}-${index}-${column}`
}

/** A file as a table with editable cells, rows and row order. Each fault appears below its row. */
export function Grid(props: GridProps) {
  const { sheet, rows, before, faults, onRows, onUndo } = props
  const { what, columns, file } = sheet
  const beforeOf = new Map([...pairRows(before, rows)].map(([was, now]) => [now, was]))
  const placed = Map.groupBy(faults.map(placeOf), ({ row }) => row)
  return (
    <>
      <div class="toolbar">
        <Button
          title="Takes back your last change, of rules, promises or texts"
          aria-disabled={onUndo === null}
          onClick={() => onUndo?.()}
        >
          Undo
        </Button>
        <Button onClick={() => onRows(before)}>Start over with {file}</Button>
        <details>
          <summary>Paste a CSV…</summary>
          <Paste sheet={sheet} onRows={onRows} />
        </details>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <section class="card grid" aria-label={`The ${what}s`} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col" title="The line in the file; line 1 has the headings">
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
                {...props}
                row={row}
                index={index}
                was={beforeOf.get(row)}
                own={placed.get(index + FIRST_ROW) ?? []}
              />
            ))}
          </tbody>
        </table>
      </section>
      <p>
        <Button id={`${what}-add`} onClick={() => editsOf(props).add(rows.length)}>
          Add a {what} at the end
        </Button>
      </p>
    </>
  )
}

/** Edits of rows, by their index. The focus moves with them. */
function editsOf({ sheet, rows, onRows, focus }: GridProps) {
  const put = (next: readonly Cells[], index: number, column = 0) => {
    onRows(next)
    focus(next.length === 0 ? `${sheet.what}-add` : cellId(sheet, index, column))
  }
  return {
    put,
    add: (index: number) =>
      put(
        rows.toSpliced(
          index,
          0,
          sheet.columns.map(() => ''),
        ),
        index,
      ),
    /** False if there is no room. */
    move(index: number, by: 1 | -1): boolean {
      const [row, other] = [rows[index], rows[index + by]]
      if (row === undefined || other === undefined) return false
      onRows(rows.with(index, other).with(index + by, row))
      return true
    },
  }
}

interface RowProps extends GridProps {
  readonly row: Cells
  readonly index: number
  /** The row in force; undefined for a new one. */
  readonly was: Cells | undefined
  readonly own: readonly Placed[]
}

function Row(props: RowProps) {
  const { sheet, rows, row, index, was, own, onRows, focus } = props
  const name = row[0] || `unnamed ${sheet.what}`
  const faultsId = `${sheet.what}-${index}-faults`
  const byKey = (event: KeyboardEvent, column: number) => {
    const isMove = event.altKey && /^Arrow(Up|Down)$/.test(event.key)
    const isStep = event.key === 'Enter' && !event.isComposing
    if (!isMove && !isStep) return
    event.preventDefault()
    const by = event.key === 'ArrowUp' || event.shiftKey ? -1 : 1
    if (isMove && !editsOf(props).move(index, by)) return
    focus(index + by < rows.length ? cellId(sheet, Math.max(0, index + by), column) : `${sheet.what}-add`)
  }
  return (
    <>
      <tr class={was === undefined ? 'is-new' : undefined}>
        <RowActions {...props} name={name} />
        {sheet.columns.map((column, at) => {
          const isFaulty = own.some((fault) => fault.column === column)
          return (
            <td key={column} class={was !== undefined && was[at] !== row[at] ? 'is-changed' : undefined}>
              <Cell
                column={column}
                text={row[at] ?? ''}
                choices={sheet.choices[column]}
                onText={(text) => onRows(rows.with(index, row.with(at, text)), cellId(sheet, index, at))}
                common={{
                  id: cellId(sheet, index, at),
                  'aria-label': `${column}, ${name}`,
                  'aria-invalid': isFaulty,
                  'aria-describedby': isFaulty ? faultsId : undefined,
                  onKeyDown: (event: KeyboardEvent) => byKey(event, at),
                }}
              />
            </td>
          )
        })}
      </tr>
      {own.length > 0 && (
        <tr class="faults">
          <td colSpan={sheet.columns.length + 1}>
            <ul id={faultsId}>
              {own.map(({ column, text }) => (
                <li>
                  {column !== null && <strong>{column}: </strong>}
                  <Finding text={text} />
                </li>
              ))}
            </ul>
          </td>
        </tr>
      )}
    </>
  )
}

function RowActions(props: RowProps & { readonly name: string }) {
  const { sheet, rows, row, index, was, name, focus } = props
  const { put, add, move } = editsOf(props)
  const button = (
    sign: string,
    label: string,
    onClick: () => void,
    more?: JSX.IntrinsicElements['button'],
  ) => (
    <button type="button" class="ghost" aria-label={label} title={label} onClick={onClick} {...more}>
      {sign}
    </button>
  )
  const mover = (by: 1 | -1, words: string) => {
    const id = (at: number) => `${sheet.what}-${at}-move-${by}`
    // Keyboard users move a row from its cells.
    const more = { id: id(index), tabIndex: -1, 'aria-disabled': rows[index + by] === undefined }
    const onClick = () => move(index, by) && focus(id(index + by))
    return button(by === 1 ? '↓' : '↑', `Move ${name} ${words}`, onClick, more)
  }
  const copy = [`${row[0]}-copy`, ...row.slice(1)]
  return (
    <td class="row-actions">
      <span class="faint">{index + FIRST_ROW}</span>
      {mover(-1, 'up')}
      {mover(1, 'down')}
      {button('×', `Delete ${name}`, () => put(rows.toSpliced(index, 1), Math.min(index, rows.length - 2)))}
      <br />
      {button('+↑', `Add a ${sheet.what} above ${name}`, () => add(index))}
      {button('+↓', `Add a ${sheet.what} below ${name}`, () => add(index + 1))}
      {button('++', `Duplicate ${name}`, () => put(rows.toSpliced(index + 1, 0, copy), index + 1))}
      {was?.some((cell, at) => cell !== row[at]) &&
        button('↺', `Revert ${name}`, () => put(rows.with(index, was), index))}
    </td>
  )
}

interface CellProps {
  readonly column: string
  readonly text: string
  readonly choices: readonly string[] | undefined
  readonly onText: (text: string) => void
  readonly common: object
}

function Cell({ column, text, choices, onText, common }: CellProps) {
  /** The meaning of a blank cell. */
  const blank = WHEN_COLUMNS.some((known) => known === column) ? 'any' : ''
  if (choices !== undefined) {
    // An unknown pasted word is shown all the same, with its fault.
    const known = text === '' || choices.includes(text) ? choices : [...choices, text]
    return (
      <select
        {...common}
        class={text === '' ? 'is-blank' : undefined}
        value={text}
        onChange={({ currentTarget }) => onText(currentTarget.value)}
      >
        <option value="">{blank}</option>
        {known.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    )
  }
  const Tag = LONG.includes(column) ? 'textarea' : 'input'
  return (
    <Tag
      {...common}
      value={text}
      rows={2}
      placeholder={blank}
      spellcheck={false}
      autocomplete="off"
      list={column === 'event type' ? 'event-types' : undefined}
      onInput={({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
        onText(currentTarget.value.replace(/\s*\n\s*/g, ' '))
      }
    />
  )
}

/** Columns whose text may need several lines. */
const LONG = ['because', 'promise', 'reason']

/** Takes a whole file from the clipboard or from the disk. */
function Paste({ sheet, onRows }: Pick<GridProps, 'sheet' | 'onRows'>) {
  const [csv, setCsv] = useState('')
  const [faults, setFaults] = useState<readonly string[]>([])
  const use = ({ currentTarget }: { currentTarget: HTMLButtonElement }) => {
    const read = readGrid(csv, sheet.columns, sheet.what)
    setFaults(read.faults)
    if (read.rows === null) return
    onRows(read.rows)
    currentTarget.closest('details')?.removeAttribute('open')
  }
  return (
    <div class="card">
      <label>
        Paste the whole of a {sheet.file}, its headings included
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
