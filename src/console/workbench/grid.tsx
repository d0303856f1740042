import { useState } from 'preact/hooks'
import { type Cells, pairRows } from '../../core/rules/diff-rows.ts'
import { WHEN_COLUMNS } from '../../core/rules/when.ts'
import { type Placed, placeOf, readGrid } from '../../core/workbench/review.ts'
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
}

/** The id of a cell; that of the button for a further row if there is no such row. */
function cellId({ sheet: { what }, rows }: GridProps, index: number, column = 0): string {
  return index < rows.length ? `${what}-${Math.max(0, index)}-${column}` : `${what}-add`
}

/** The rows with a blank one at an index. */
function withBlank({ rows, sheet }: GridProps, index: number): readonly Cells[] {
  const blank = sheet.columns.map(() => '')
  return rows.toSpliced(index, 0, blank)
}

/** A file as a table with editable cells, rows and row order. Each fault appears below its row. */
export function Grid(props: GridProps) {
  const { sheet, rows, before, faults, onRows, focus } = props
  const { what, columns, file } = sheet
  const beforeOf = new Map([...pairRows(before, rows)].map(([was, now]) => [now, was]))
  const placed = Map.groupBy(faults.map(placeOf), ({ row }) => row)
  const add = () => {
    onRows(withBlank(props, rows.length))
    focus(`${what}-${rows.length}-0`)
  }
  return (
    <>
      <div class="hstack">
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
        <Button id={`${what}-add`} onClick={add}>
          Add a {what} at the end
        </Button>
      </p>
    </>
  )
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
    const moved = isMove ? movedRows(rows, index, by) : undefined
    if (moved === null) return
    if (moved !== undefined) onRows(moved)
    focus(cellId(props, index + by, column))
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
                onText={(text) => onRows(rows.with(index, row.with(at, text)), cellId(props, index, at))}
                common={{
                  id: cellId(props, index, at),
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
        <tr>
          <td class="notice-bad" colSpan={sheet.columns.length + 1}>
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

/** Null if there is no room. */
function movedRows(rows: readonly Cells[], index: number, by: 1 | -1): readonly Cells[] | null {
  const [row, other] = [rows[index], rows[index + by]]
  return row === undefined || other === undefined ? null : rows.with(index, other).with(index + by, row)
}

/** Buttons that edit the rows. The focus moves with the row. */
function RowActions(props: RowProps & { readonly name: string }) {
  const { sheet, rows, row, index, was, name, onRows, focus } = props
  const moveId = (at: number, by: number) => `${sheet.what}-${at}-move-${by}`
  const button = (
    sign: string,
    label: string,
    edited: readonly Cells[] | null,
    focused: string,
    more: object = {},
  ) => (
    <button
      type="button"
      class="ghost icon small"
      aria-label={label}
      title={label}
      aria-disabled={edited === null}
      onClick={() => {
        if (edited === null) return
        onRows(edited)
        focus(focused)
      }}
      {...more}
    >
      {sign}
    </button>
  )
  const mover = (sign: string, by: 1 | -1, words: string) =>
    // Keyboard users move a row from its cells.
    button(sign, `Move ${name} ${words}`, movedRows(rows, index, by), moveId(index + by, by), {
      id: moveId(index, by),
      tabIndex: -1,
    })
  const first = (at: number) => `${sheet.what}-${at}-0`
  const afterDelete = rows.length === 1 ? `${sheet.what}-add` : first(Math.min(index, rows.length - 2))
  const copy = [`${row[0]}-copy`, ...row.slice(1)]
  return (
    <td class="row-actions">
      {index + FIRST_ROW}
      {mover('↑', -1, 'up')}
      {mover('↓', 1, 'down')}
      {button('×', `Delete ${name}`, rows.toSpliced(index, 1), afterDelete)}
      <br />
      {button('+↑', `Add a ${sheet.what} above ${name}`, withBlank(props, index), first(index))}
      {button('+↓', `Add a ${sheet.what} below ${name}`, withBlank(props, index + 1), first(index + 1))}
      {button('++', `Duplicate ${name}`, rows.toSpliced(index + 1, 0, copy), first(index + 1))}
      {was?.some((cell, at) => cell !== row[at]) &&
        button('↺', `Revert ${name}`, rows.with(index, was), first(index))}
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

/** Columns whose text may need several lines. */
const LONG = ['because', 'promise', 'reason']

function Cell({ column, text, choices, onText, common }: CellProps) {
  /** The meaning of a blank cell. */
  const blank = WHEN_COLUMNS.some((known) => known === column) ? 'any' : ''
  if (choices !== undefined) {
    // An unknown pasted word is shown all the same, with its fault.
    const known = new Set(['', ...choices, text])
    return (
      <select
        {...common}
        class={text === '' ? 'is-blank' : undefined}
        value={text}
        onChange={({ currentTarget }) => onText(currentTarget.value)}
      >
        {[...known].map((choice) => (
          <option key={choice} value={choice}>
            {choice || blank}
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
        <textarea rows={8} value={csv} onInput={({ currentTarget }) => setCsv(currentTarget.value)} />
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
