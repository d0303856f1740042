import { useState } from 'preact/hooks'
import { nameOfChannel } from '../../core/party/channel.ts'
import { type Cells, pairShownRows } from '../../core/rules/diff-rows.ts'
import { WHEN_COLUMNS } from '../../core/rules/when.ts'
import { describeFault, type Fault, wholeFault } from '../../core/text/faults.ts'
import { readGrid } from '../../core/workbench/review.ts'
import { Button } from '../parts.tsx'
import { visible } from '../text.ts'
import { type Bench, CHOICES, FIRST_ROW, SHEETS, type SheetKey } from './draft.ts'
import { focus, Notice } from './findings.tsx'

interface GridProps extends Bench {
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
}

const { columns } = SHEETS.table
/** Longer text may be cut in its cell. */
const WHOLE_LENGTH_MAX = 9

/** The rules as a table with editable cells, one line for each row. A fault or warning appears at its cell. */
export function Grid({ faults, warnings, draft: { table: rows }, inForce, change, undo, redo }: GridProps) {
  const onRows: RowProps['onRows'] = (edited, place) => change({ table: edited }, place)
  const beforeOf = new Map([...pairShownRows(inForce.table, rows)].map(([was, now]) => [now, was]))
  const [faultsOf, warningsOf] = [faults, warnings].map((some) => Map.groupBy(some, ({ row }) => row))
  const byKey = (event: KeyboardEvent) => {
    if (!event.ctrlKey && !event.metaKey) return
    const key = event.key.toLowerCase()
    const act = key === 'y' || (key === 'z' && event.shiftKey) ? redo : key === 'z' ? undo : undefined
    if (act === undefined) return
    event.preventDefault()
    act?.()
  }
  return (
    <section class="grid" aria-label="The rules" onKeyDown={byKey}>
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
              rows={rows}
              row={row}
              index={index}
              was={beforeOf.get(row)}
              faults={faultsOf?.get(index + FIRST_ROW) ?? []}
              warnings={warningsOf?.get(index + FIRST_ROW) ?? []}
              onRows={onRows}
            />
          ))}
        </tbody>
      </table>
      <p>
        <Button
          id="rule-add"
          onClick={() => {
            onRows([...rows, columns.map(() => '')])
            focus(`#rule-${rows.length}-0`)
          }}
        >
          Add a rule at the end
        </Button>
      </p>
    </section>
  )
}

/** `keys`: a chord in a cell that does the same. `edited` is null if the action is not possible. The focus goes to row `at`. */
type Action = readonly [name: string, keys: string | null, edited: readonly Cells[] | null, at: number]

interface RowProps {
  readonly rows: readonly Cells[]
  /** `place` is the id of the edited cell. */
  readonly onRows: (rows: readonly Cells[], place?: string) => void
  readonly row: Cells
  readonly index: number
  /** The row in force; undefined for a new one. */
  readonly was: Cells | undefined
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
}

const LEFT_OUT = wholeFault('This rule is blank: it is left out of the file.')

function Row({ rows, row, index, was, faults, warnings, onRows }: RowProps) {
  const name = row[0] || 'unnamed rule'
  const cellId = (at: number, column: number) => `rule-${Math.max(0, at)}-${column}`
  const menuId = `rule-${index}-menu`
  /** Takes other rows, if any, and focuses the cell, or the button for a further row if there is none. */
  const edit = (edited: readonly Cells[] | null, at: number, column = 0) => {
    if (edited === null) return
    if (edited !== rows) onRows(edited)
    focus(at < edited.length ? `#${cellId(at, column)}` : '#rule-add')
  }
  /** Null if there is no room. */
  const moved = (by: 1 | -1) => {
    const other = rows[index + by]
    return other === undefined ? null : rows.with(index, other).with(index + by, row)
  }
  const blank = columns.map(() => '')
  const isBlank = row.every((cell) => cell === '')
  const copy = row.with(0, `${row[0]}-copy`)
  const actions: readonly Action[] = [
    [`Move ${name} up`, 'Alt+ArrowUp', moved(-1), index - 1],
    [`Move ${name} down`, 'Alt+ArrowDown', moved(1), index + 1],
    [`Add a rule above ${name}`, 'Control+Shift+Enter', rows.toSpliced(index, 0, blank), index],
    [`Add a rule below ${name}`, 'Control+Enter', rows.toSpliced(index + 1, 0, blank), index + 1],
    [`Duplicate ${name}`, 'Control+D', rows.toSpliced(index + 1, 0, copy), index + 1],
    [`Delete ${name}`, 'Alt+Delete', rows.toSpliced(index, 1), index],
    ...(was?.some((cell, at) => cell !== row[at])
      ? [[`Revert ${name}`, null, rows.with(index, was), index] as const]
      : []),
  ]
  const byKey = (event: KeyboardEvent, column: number) => {
    const pressed = [
      (event.ctrlKey || event.metaKey) && 'Control',
      event.altKey && 'Alt',
      event.shiftKey && 'Shift',
      event.key.length === 1 ? event.key.toUpperCase() : event.key,
    ]
    const chord = pressed.filter(Boolean).join('+')
    const action = actions.find(([, keys]) => keys === chord)
    const isStep = (chord === 'Enter' || chord === 'Shift+Enter') && !event.isComposing
    if (action === undefined && !isStep) return
    event.preventDefault()
    if (action === undefined) edit(rows, index + (event.shiftKey ? -1 : 1), column)
    else edit(action[2], action[3], /Move/.test(action[0]) ? column : 0)
  }
  return (
    <tr class={was === undefined ? 'is-new' : undefined}>
      <td>
        <button
          type="button"
          class="ghost"
          popovertarget={menuId}
          aria-label={`${index + FIRST_ROW}: actions for ${name}`}
        >
          {index + FIRST_ROW}
        </button>
        <div id={menuId} popover="auto" class="card menu">
          {actions.map(([label, keys, edited, at]) => (
            <button
              key={label}
              type="button"
              class="ghost"
              aria-keyshortcuts={keys ?? undefined}
              data-keys={keys?.replace('Control', 'Ctrl').replace('Arrow', '')}
              aria-disabled={edited === null}
              onClick={({ currentTarget }) => {
                currentTarget.parentElement?.hidePopover()
                edit(edited, at)
              }}
            >
              {label}
            </button>
          ))}
        </div>
      </td>
      {columns.map((column, at) => {
        // What concerns the whole row is at its name.
        const isHere = (fault: Fault) => (fault.column ?? columns[0]) === column
        const [own, remarks] = [
          faults.filter(isHere),
          [...warnings, ...(isBlank ? [LEFT_OUT] : [])].filter(isHere),
        ]
        const id = cellId(index, at)
        const said = [...own, ...remarks].map((fault) => describeFault({ ...fault, row: null, column: null }))
        const changed = was !== undefined && was[at] !== row[at] && 'is-changed'
        return (
          <td
            key={column}
            class={[changed, remarks.length > 0 && 'is-doubtful'].filter(Boolean).join(' ')}
            data-column={column}
            data-whole={(row[at] ?? '').length > WHOLE_LENGTH_MAX ? row[at] : undefined}
          >
            <Cell
              column={column}
              text={row[at] ?? ''}
              onText={(text) => onRows(rows.with(index, row.with(at, text)), id)}
              common={{
                id,
                title: [row[at], ...said].filter(Boolean).join('\n'),
                'aria-label': `${column}, ${name}`,
                'aria-invalid': own.length > 0,
                'aria-describedby': said.length > 0 ? `${id}-said` : undefined,
                onKeyDown: (event: KeyboardEvent) => byKey(event, at),
                onFocus: () => document.getElementById(`${id}-said`)?.scrollIntoView({ block: 'nearest' }),
              }}
            />
            {said.length > 0 && (
              <div id={`${id}-said`} class={own.length > 0 ? 'notice notice-bad' : 'notice'}>
                {said.map(visible).join('\n')}
              </div>
            )}
          </td>
        )
      })}
    </tr>
  )
}

interface CellProps {
  readonly column: string
  readonly text: string
  readonly onText: (text: string) => void
  readonly common: object
}

function Cell({ column, text, onText, common }: CellProps) {
  /** The meaning of a blank cell. */
  const blank = WHEN_COLUMNS.some((known) => known === column) ? 'any' : ''
  const choices = CHOICES[column]
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
            {nameOfChannel(choice) || blank}
          </option>
        ))}
      </select>
    )
  }
  return (
    <input
      {...common}
      value={text}
      placeholder={blank}
      spellcheck={false}
      autocomplete="off"
      list={column === 'event type' ? 'event-types' : undefined}
      onInput={({ currentTarget }) => onText(currentTarget.value)}
    />
  )
}

/** Takes a whole file from the clipboard or from the disk. */
export function Paste({
  sheetKey,
  text,
  change,
}: Pick<Bench, 'change'> & { sheetKey: SheetKey; text?: string }) {
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
      <summary>{text === undefined ? 'Paste a CSV…' : 'Edit or paste as a CSV…'}</summary>
      <form class="card" onSubmit={submit}>
        <label>
          Paste the whole of a {file}, its headings included
          <textarea key={text} name="csv" rows={8} defaultValue={text} />
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
