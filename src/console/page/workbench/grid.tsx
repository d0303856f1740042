import { useState } from 'preact/hooks'
import { type Cells, pairRows } from '../../../authoring/diff/diff-rows.ts'
import { readGrid } from '../../../authoring/diff/review.ts'
import { nameOfChannel } from '../../../service/decide/party/channel.ts'
import { WHEN_COLUMNS } from '../../../service/decide/rules/when.ts'
import { describeFault, type Fault, wholeFault } from '../../../service/text/faults.ts'
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

/** The first of two rules with the same id: the check reports the second one, but either may be the new one. */
function findTwins(rows: GridProps['draft']['table']): Fault[] {
  const ids = rows.map(([id = '']) => id)
  return ids.flatMap((id, index) => {
    const twin = ids.indexOf(id, index + 1)
    if (id === '' || twin === -1 || ids.indexOf(id) < index) return []
    const text = `the rule in row ${twin + FIRST_ROW} has this id, too: give each rule an id of its own`
    return [{ row: index + FIRST_ROW, column: 'rule', text }]
  })
}

/** The rules as a table with editable cells, one line for each row. A fault or warning appears at its cell. */
export function Grid({ faults, warnings, draft: { table: rows }, inForce, change, undo, redo }: GridProps) {
  const onRows: RowProps['onRows'] = (edited, place) => change({ table: edited }, place)
  const beforeOf = new Map([...pairRows(inForce.table, rows)].map(([was, now]) => [now, was]))
  const faulty = [...faults, ...findTwins(rows)]
  const [faultsOf, warningsOf] = [faulty, warnings].map((remarks) => Map.groupBy(remarks, ({ row }) => row))
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
              <th key={column} scope="col" style={{ width: chooseWidth(column) }}>
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

/** Room for the longest choice, which may be in capitals, and the arrow. Columns of free text share the rest. */
function chooseWidth(column: string): string | undefined {
  const longest = CHOICES[column]?.map(nameOfChannel).reduce((a, b) => (b.length > a.length ? b : a))
  return longest === undefined ? undefined : `calc(${longest.length + 1}ch + 2.2rem)`
}

interface Action {
  readonly name: string
  /** The keyboard shortcut for it in a cell. */
  readonly keys: string | null
  /** Null if the action is not possible. */
  readonly edited: readonly Cells[] | null
  /** Row to focus: in the same column if the action `keepsColumn`, otherwise in the first. */
  readonly at: number
  readonly keepsColumn?: true
  readonly isDestructive?: true
}

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

const cellId = (row: number, column: number) => `rule-${Math.max(0, row)}-${column}`
const nameOfRow = (row: Cells) => row[0] || 'unnamed rule'

function Row(props: RowProps) {
  const { rows, row, index, was, faults, warnings, onRows } = props
  /** Applies new rows, if any, and focuses the cell, or the button for a further row if it is gone. */
  const edit = (edited: readonly Cells[] | null, at: number, column = 0) => {
    if (edited === null) return
    if (edited !== rows) onRows(edited)
    focus(at < edited.length ? `#${cellId(at, column)}` : '#rule-add')
  }
  const actions = listActions(props)
  const byKey = (event: KeyboardEvent, column: number) => {
    const chord = readChord(event)
    const action = actions.find(({ keys }) => keys === chord)
    const isStep = (chord === 'Enter' || chord === 'Shift+Enter') && !event.isComposing
    if (action === undefined && !isStep) return
    event.preventDefault()
    if (action === undefined) edit(rows, index + (event.shiftKey ? -1 : 1), column)
    else edit(action.edited, action.at, action.keepsColumn && column)
  }
  const isBlank = row.every((cell) => cell === '')
  const remarks = [...warnings, ...(isBlank ? [LEFT_OUT] : [])]
  return (
    <tr class={was === undefined ? 'is-new' : undefined}>
      <td>
        <RowMenu row={row} index={index} actions={actions} edit={edit} />
      </td>
      {columns.map((column, at) => {
        // Faults of the whole row are shown at its name.
        const isHere = (fault: Fault) => (fault.column ?? columns[0]) === column
        return (
          <RuleCell
            key={column}
            id={cellId(index, at)}
            column={column}
            text={row[at] ?? ''}
            ruleName={nameOfRow(row)}
            isChanged={was !== undefined && was[at] !== row[at]}
            faults={faults.filter(isHere)}
            remarks={remarks.filter(isHere)}
            onText={(text) => onRows(rows.with(index, row.with(at, text)), cellId(index, at))}
            onKeyDown={(event) => byKey(event, at)}
          />
        )
      })}
    </tr>
  )
}

/** Actions on a whole row. */
function listActions({ rows, row, index, was }: RowProps): readonly Action[] {
  const name = nameOfRow(row)
  /** Null if there is no room. */
  const moved = (by: 1 | -1) => {
    const other = rows[index + by]
    return other === undefined ? null : rows.with(index, other).with(index + by, row)
  }
  const inserted = (at: number, cells: Cells) => ({ edited: rows.toSpliced(at, 0, cells), at })
  const blank = columns.map(() => '')
  const copy = row.with(0, `${row[0]}-copy`)
  return [
    { name: `Move ${name} up`, keys: 'Alt+ArrowUp', edited: moved(-1), at: index - 1, keepsColumn: true },
    { name: `Move ${name} down`, keys: 'Alt+ArrowDown', edited: moved(1), at: index + 1, keepsColumn: true },
    { name: `Add a rule above ${name}`, keys: 'Control+Shift+Enter', ...inserted(index, blank) },
    { name: `Add a rule below ${name}`, keys: 'Control+Enter', ...inserted(index + 1, blank) },
    { name: `Duplicate ${name}`, keys: 'Control+D', ...inserted(index + 1, copy) },
    {
      name: `Delete ${name}`,
      keys: 'Alt+Delete',
      edited: rows.toSpliced(index, 1),
      at: index,
      isDestructive: true,
    },
    ...(was?.some((cell, at) => cell !== row[at])
      ? [{ name: `Revert ${name}`, keys: null, edited: rows.with(index, was), at: index }]
      : []),
  ]
}

/** Example: `Control+Shift+Enter`. */
function readChord(event: KeyboardEvent): string {
  const pressed = [
    (event.ctrlKey || event.metaKey) && 'Control',
    event.altKey && 'Alt',
    event.shiftKey && 'Shift',
    event.key.length === 1 ? event.key.toUpperCase() : event.key,
  ]
  return pressed.filter(Boolean).join('+')
}

interface RowMenuProps extends Pick<RowProps, 'row' | 'index'> {
  readonly actions: readonly Action[]
  readonly edit: (edited: readonly Cells[] | null, at: number) => void
}

function RowMenu({ row, index, actions, edit }: RowMenuProps) {
  const menuId = `rule-${index}-menu`
  const number = index + FIRST_ROW
  return (
    <>
      <button
        type="button"
        class="ghost"
        popovertarget={menuId}
        aria-label={`${number}: actions for ${nameOfRow(row)}`}
      >
        {number}
      </button>
      <div id={menuId} popover="auto" class="card menu">
        {actions.map(({ name, keys, edited, at, isDestructive }) => (
          <button
            key={name}
            type="button"
            class="ghost"
            data-variant={isDestructive && 'danger'}
            aria-keyshortcuts={keys ?? undefined}
            data-keys={keys?.replace('Control', 'Ctrl').replace('Arrow', '')}
            aria-disabled={edited === null}
            onClick={({ currentTarget }) => {
              currentTarget.parentElement?.hidePopover()
              edit(edited, at)
            }}
          >
            {name}
          </button>
        ))}
      </div>
    </>
  )
}

interface RuleCellProps extends Pick<CellProps, 'column' | 'text' | 'onText'> {
  readonly id: string
  readonly ruleName: string
  readonly isChanged: boolean
  readonly faults: readonly Fault[]
  readonly remarks: readonly Fault[]
  readonly onKeyDown: (event: KeyboardEvent) => void
}

/** A cell with its faults and remarks below it. */
function RuleCell({ id, ruleName, isChanged, faults, remarks, onKeyDown, ...cell }: RuleCellProps) {
  const { column, text } = cell
  const notes = [...faults, ...remarks].map((fault) => describeFault({ ...fault, row: null, column: null }))
  return (
    <td
      class={[isChanged && 'is-changed', remarks.length > 0 && 'is-doubtful'].filter(Boolean).join(' ')}
      data-column={column}
      data-whole={text.length > WHOLE_LENGTH_MAX ? text : undefined}
    >
      <Cell
        {...cell}
        common={{
          id,
          title: [text, ...notes].filter(Boolean).join('\n'),
          'aria-label': `${column}, ${ruleName}`,
          'aria-invalid': faults.length > 0,
          'aria-describedby': notes.length > 0 ? `${id}-notes` : undefined,
          onKeyDown,
          onFocus: () => document.getElementById(`${id}-notes`)?.scrollIntoView({ block: 'nearest' }),
        }}
      />
      {notes.length > 0 && (
        <div id={`${id}-notes`} class={faults.length > 0 ? 'notice notice-bad' : 'notice'}>
          {notes.map(visible).join('\n')}
        </div>
      )}
    </td>
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
    // An unknown pasted word is shown with its fault.
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

/** Replaces the table by a file from the clipboard or the disk. */
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
