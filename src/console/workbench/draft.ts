import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { diffRows } from '../../core/rules/diff-rows.ts'
import { gridToCsv } from '../../core/workbench/grid-to-csv.ts'
import { mergeRows } from '../../core/workbench/merge-rows.ts'
import type { Grid, WorkbenchStart } from '../../core/workbench/workbench.ts'

/** One row as it is edited; its id stays its own wherever it is moved. */
export interface DraftRow {
  readonly id: number
  readonly cells: readonly string[]
}

/** The edited files of this tab. */
export interface Draft {
  readonly table: readonly DraftRow[]
  readonly promises: readonly DraftRow[]
}
export type FileKey = keyof Draft

/** The noun for a row. */
export const ROW_OF = { table: 'rule', promises: 'promise' } as const
/** The headings are the first line of a file. */
export const FIRST_ROW = 2

export function cellId(what: string, row: DraftRow, column: number): string {
  return `${what}-${row.id}-${column}`
}

/** A blank row is none: the service passes over it. */
export function isFilled({ cells }: DraftRow): boolean {
  return cells.some((cell) => cell.trim() !== '')
}

let idCount = 0

export function rowOf(cells: readonly string[]): DraftRow {
  idCount++
  return { id: idCount, cells }
}

export function rowsOf({ rows }: Grid): DraftRow[] {
  return rows.map(rowOf)
}

export function csvOf(columns: readonly string[], rows: readonly DraftRow[]): string {
  return gridToCsv({ columns: [...columns], rows: rows.map(({ cells }) => [...cells]) })
}

/** The cells of both files. */
type Files = Readonly<Record<FileKey, readonly (readonly string[])[]>>

/** A draft as this tab keeps it, with the files that were in force when it was begun, or that it was merged with. */
interface Kept {
  readonly draft: Draft
  readonly base: Files
}

const KEY = 'notifications-workbench'
const UNDO_COUNT_MAX = 100
/** For as long as the page is open, so that a look at another view loses nothing. */
let past: Draft[] = []

/**
 * The draft, which begins as the files in force. It is kept in this tab, so that a look at a log entry, or a reload, loses
 * nothing. What is typed into one cell is undone in one step.
 */
export function useDraft({ table, promises }: WorkbenchStart) {
  const inForce: Files = { table: table.grid.rows, promises: promises.grid.rows }
  const anew = (): Kept => ({
    draft: { table: rowsOf(table.grid), promises: rowsOf(promises.grid) },
    base: inForce,
  })
  const [{ draft, base }, setKept] = useState(() => kept() ?? anew())
  const [conflicts, setConflicts] = useState<readonly string[]>([])
  const typedIn = useRef<string | undefined>(undefined)
  const take = (next: Draft, from = base) => {
    const now = { draft: next, base: from }
    keep(now)
    setKept(now)
  }
  const change = (next: Draft, cell?: string, from = base) => {
    if (cell === undefined || cell !== typedIn.current) past = [...past.slice(-UNDO_COUNT_MAX), draft]
    typedIn.current = cell
    take(next, from)
  }
  const undo = () => {
    typedIn.current = undefined
    take(past.pop() ?? draft)
  }
  const drafted = cellsOf(draft)
  // Without changes there is nothing to ask.
  const isUntouched = isSame(drafted, base) || isSame(drafted, inForce)
  const isOutdated = !isSame(base, inForce)
  useEffect(() => {
    if (isOutdated && isUntouched) take(anew().draft, inForce)
  }, [isOutdated, isUntouched])
  const columns = { table: table.grid.columns, promises: promises.grid.columns }
  const merge = () => {
    const [rules, promised] = FILES.map((of) => mergeRows(columns[of], base[of], drafted[of], inForce[of]))
    if (rules === undefined || promised === undefined) return
    setConflicts([...rules.conflicts, ...promised.conflicts])
    change({ table: rules.rows.map(rowOf), promises: promised.rows.map(rowOf) }, undefined, inForce)
  }
  const changes = FILES.flatMap((of) => diffRows(ROW_OF[of], columns[of], base[of], inForce[of]))
  const outdated = {
    /** Other people's changes, row by row. */
    changes: changes.length === 0 ? ['the order of rows is another'] : changes.map(({ text }) => text),
    merge,
    keep: () => take(draft, inForce),
    drop: () => change(anew().draft, undefined, inForce),
  }
  return {
    draft,
    change,
    undo: past.length === 0 ? null : undo,
    /** Actions on a draft whose files are no longer in force; null if they are. */
    outdated: isOutdated && !isUntouched ? outdated : null,
    /** Places where the last merge found two changes. */
    conflicts,
  }
}

const FILES = ['table', 'promises'] as const

function cellsOf({ table, promises }: Draft): Files {
  const cells = (rows: readonly DraftRow[]) => rows.map((row) => row.cells)
  return { table: cells(table), promises: cells(promises) }
}

function isSame(one: Files, other: Files): boolean {
  return FILES.every((of) => JSON.stringify(one[of]) === JSON.stringify(other[of]))
}

function kept(): Kept | null {
  try {
    const { draft, base } = JSON.parse(sessionStorage.getItem(KEY) ?? 'null')
    return { draft: { table: draft.table.map(rowOf), promises: draft.promises.map(rowOf) }, base }
  } catch {
    return null
  }
}

function keep({ draft, base }: Kept): void {
  sessionStorage.setItem(KEY, JSON.stringify({ draft: cellsOf(draft), base }))
}

interface RowEditNeeds {
  readonly what: string
  readonly columns: readonly string[]
  readonly rows: readonly DraftRow[]
  /** `cell` is the id of the one that was typed in. */
  readonly onChange: (rows: readonly DraftRow[], cell?: string) => void
}
export type RowEdits = ReturnType<typeof useRowEdits>

/** Edits of rows, by their index. Those of whole rows say where the focus goes next. */
export function useRowEdits({ what, columns, rows, onChange }: RowEditNeeds) {
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
    type(index: number, row: DraftRow, column: number, text: string): void {
      const typed = { ...row, cells: row.cells.with(column, text) }
      onChange(rows.with(index, typed), cellId(what, row, column))
    },
    add(index: number): void {
      const row = rowOf(columns.map(() => ''))
      change(rows.toSpliced(index, 0, row), cellId(what, row, 0))
    },
    revert(index: number, row: DraftRow, cells: readonly string[]): void {
      change(rows.with(index, { ...row, cells }), cellId(what, row, 0))
    },
    /** Below the row, with another name. */
    duplicate(index: number): void {
      const [name = '', ...cells] = rows[index]?.cells ?? []
      const row = rowOf([`${name}-copy`, ...cells])
      change(rows.toSpliced(index + 1, 0, row), cellId(what, row, 0))
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
