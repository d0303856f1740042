import { useState } from 'preact/hooks'
import { type Cells, pairShownRows } from '../../core/rules/diff-rows.ts'
import { WHEN_COLUMNS } from '../../core/rules/when.ts'
import { describeFault, type Fault } from '../../core/text/faults.ts'
import { readGrid } from '../../core/workbench/review.ts'
import { Button } from '../parts.tsx'
import { visible } from '../text.ts'
import { type Bench, FIRST_ROW, SHEETS, type Sheet, type SheetKey } from './draft.ts'
import { focus, Notice } from './findings.tsx'

interface GridProps extends Bench {
  readonly sheetKey: SheetKey
  readonly faults: readonly Fault[]
}

/** A file as a table with editable cells, rows and row order. Each fault appears below its row. */
export function Grid({ sheetKey, faults, draft: { [sheetKey]: rows }, inForce, change }: GridProps) {
  const sheet = SHEETS[sheetKey]
  const { what, columns } = sheet
  const onRows: RowProps['onRows'] = (edited, place) => change({ [sheetKey]: edited }, place)
  const beforeOf = new Map([...pairShownRows(inForce[sheetKey], rows)].map(([was, now]) => [now, was]))
  const placed = Map.groupBy(faults, ({ row }) => row)
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <section class="card grid" aria-label={`The ${what}s`} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {['Row', ...columns].map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <Row
                sheet={sheet}
                rows={rows}
                row={row}
                index={index}
                was={beforeOf.get(row)}
                faults={placed.get(index + FIRST_ROW) ?? []}
                onRows={onRows}
              />
            ))}
          </tbody>
        </table>
      </section>
      <p>
        <Button
          id={`${what}-add`}
          onClick={() => {
            onRows([...rows, columns.map(() => '')])
            focus(`#${what}-${rows.length}-0`)
          }}
        >
          Add a {what} at the end
        </Button>
      </p>
    </>
  )
}

/** `edited` is null if the action is not possible. The focus goes to row `at`. */
type Action = readonly [sign: string, label: string, edited: readonly Cells[] | null, at: number]

interface RowProps {
  readonly sheet: Sheet
  readonly rows: readonly Cells[]
  /** `place` is the id of the edited cell. */
  readonly onRows: (rows: readonly Cells[], place?: string) => void
  readonly row: Cells
  readonly index: number
  /** The row in force; undefined for a new one. */
  readonly was: Cells | undefined
  readonly faults: readonly Fault[]
}

function Row({ sheet, rows, row, index, was, faults, onRows }: RowProps) {
  const { what, columns, choices } = sheet
  const name = row[0] || `unnamed ${what}`
  const cellId = (at: number, column: number) => `${what}-${Math.max(0, at)}-${column}`
  const faultsId = `${what}-${index}-faults`
  /** Takes other rows, if any, and focuses the cell, or the button for a further row if there is none. */
  const edit = (edited: readonly Cells[] | null, at: number, column = 0) => {
    if (edited === null) return
    if (edited !== rows) onRows(edited)
    focus(at < edited.length ? `#${cellId(at, column)}` : `#${what}-add`)
  }
  /** Null if there is no room. */
  const moved = (by: 1 | -1) => {
    const other = rows[index + by]
    return other === undefined ? null : rows.with(index, other).with(index + by, row)
  }
  const byKey = (event: KeyboardEvent, column: number) => {
    const isMove = event.altKey && /^Arrow(Up|Down)$/.test(event.key)
    if (!isMove && (event.key !== 'Enter' || event.isComposing)) return
    event.preventDefault()
    const by = event.key === 'ArrowUp' || event.shiftKey ? -1 : 1
    edit(isMove ? moved(by) : rows, index + by, column)
  }
  const blank = columns.map(() => '')
  const moves: readonly Action[] = [
    ['↑', `Move ${name} up`, moved(-1), index - 1],
    ['↓', `Move ${name} down`, moved(1), index + 1],
  ]
  const actions: readonly Action[] = [
    ...moves,
    ['×', `Delete ${name}`, rows.toSpliced(index, 1), index],
    ['+↑', `Add a ${what} above ${name}`, rows.toSpliced(index, 0, blank), index],
    ['+↓', `Add a ${what} below ${name}`, rows.toSpliced(index + 1, 0, blank), index + 1],
    ['++', `Duplicate ${name}`, rows.toSpliced(index + 1, 0, row.with(0, `${row[0]}-copy`)), index + 1],
    ...(was?.some((cell, at) => cell !== row[at])
      ? [['↺', `Revert ${name}`, rows.with(index, was), index] as const]
      : []),
  ]
  return (
    <>
      <tr class={was === undefined ? 'is-new' : undefined}>
        <td class="row-actions">
          {index + FIRST_ROW}
          {actions.map((action) => {
            const [sign, label, edited, at] = action
            return (
              <button
                key={sign}
                type="button"
                class="ghost icon small"
                aria-label={label}
                title={label}
                aria-disabled={edited === null}
                // Keyboard users move a row from its cells.
                tabIndex={moves.includes(action) ? -1 : 0}
                onClick={() => edit(edited, at)}
              >
                {sign}
              </button>
            )
          })}
        </td>
        {columns.map((column, at) => {
          const isFaulty = faults.some((fault) => fault.column === column)
          return (
            <td key={column} class={was !== undefined && was[at] !== row[at] ? 'is-changed' : undefined}>
              <Cell
                column={column}
                text={row[at] ?? ''}
                choices={choices[column]}
                onText={(text) => onRows(rows.with(index, row.with(at, text)), cellId(index, at))}
                common={{
                  id: cellId(index, at),
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
      {faults.length > 0 && (
        <tr>
          <td class="notice-bad" colSpan={columns.length + 1}>
            <ul id={faultsId}>
              {faults.map((fault) => (
                <li>
                  {fault.column !== null && <strong>{fault.column}: </strong>}
                  {visible(describeFault({ ...fault, row: null, column: null }))}
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
      title={text}
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
export function Paste({ sheetKey, change }: Pick<GridProps, 'sheetKey' | 'change'>) {
  const { file } = SHEETS[sheetKey]
  const [faults, setFaults] = useState<readonly string[]>([])
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const given = new FormData(form)
    const chosen = given.get('file') as File
    const text = chosen.size > 0 ? await chosen.text() : String(given.get('csv'))
    const { rows, faults } = readGrid(text, SHEETS[sheetKey])
    setFaults(faults.map(describeFault))
    if (rows === null) return
    change({ [sheetKey]: rows })
    form.closest('details')?.removeAttribute('open')
  }
  return (
    <details>
      <summary>Paste a CSV…</summary>
      <form class="card" onSubmit={submit}>
        <label>
          Paste the whole of a {file}, its headings included
          <textarea name="csv" rows={8} />
        </label>
        <label>
          or open a file <input type="file" name="file" accept=".csv,text/csv" />
        </label>
        <div role="alert">
          <Notice lines={faults} isBad />
        </div>
        <button type="submit">Use this file</button>
      </form>
    </details>
  )
}
