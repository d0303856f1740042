import { nameOfChannel } from '../../service/decide/party/channel.ts'
import { WHEN_COLUMNS } from '../../service/decide/rules/when.ts'
import { counted } from '../../service/text/count.ts'

/** Kinds of change to the rows of a file, the gravest first. */
export const ROW_CHANGES = ['deleted', 'narrowed', 'renamed', 'changed', 'added'] as const

export interface RowChange {
  readonly what: 'rule' | 'promise' | 'envelope field'
  readonly kind: (typeof ROW_CHANGES)[number]
  /** Example: `promise deleted: "…"`. */
  readonly text: string
}

export type Cells = readonly string[]

interface RowDifference {
  readonly kind: RowChange['kind']
  readonly words: string
}

/**
 * Compares two files row by row; the first cell of a row is its name. A renamed row is matched by equal cells, or else by its
 * place. Order and blank rows make no difference.
 */
export function diffRows(
  what: RowChange['what'],
  columns: readonly string[],
  before: readonly Cells[],
  after: readonly Cells[],
): RowChange[] {
  const pairs = pairRows(before, after)
  const paired = new Set(pairs.values())
  const changes = before.filter(isFilled).flatMap((row): RowDifference[] => {
    const now = pairs.get(row)
    return now === undefined
      ? [{ kind: 'deleted', words: quote(row[0]) }]
      : describeRowChange(columns, row, now)
  })
  const added = after
    .filter((row) => isFilled(row) && !paired.has(row))
    .map(([name, ...cells]): RowDifference => {
      const filled = cells.flatMap((cell, at) =>
        cell === '' ? [] : [`${columns[at + 1]} ${quote(nameOfChannel(cell))}`],
      )
      return { kind: 'added', words: `${quote(name)}: ${filled.join(', ') || 'blank'}` }
    })
  return [...changes, ...added]
    .sort((a, b) => ROW_CHANGES.indexOf(a.kind) - ROW_CHANGES.indexOf(b.kind))
    .map(({ kind, words }) => ({ what, kind, text: `${what} ${kind}: ${words}` }))
}

/** Example: "1 promise deleted, 2 rules renamed". */
export function summariseRows(changes: readonly RowChange[]): string {
  return [...Map.groupBy(changes, ({ what, kind }) => `${what} ${kind}`).values()]
    .map((group) => `${counted(group.length, group[0]?.what ?? '')} ${group[0]?.kind}`)
    .join(', ')
}

type IsSame = (row: Cells, now: Cells) => boolean
const hasSameName: IsSame = ([name], [nameNow]) => name === nameNow
const hasSameCells: IsSame = ([, ...cells], [, ...cellsNow]) => cells.join('\n') === cellsNow.join('\n')

/**
 * The new row for each old one, by name, else by equal cells, else by place; none for a deleted row. An added row may be matched
 * with a deleted one.
 */
export function pairRows(before: readonly Cells[], after: readonly Cells[]): Map<Cells, Cells> {
  const isInPlace: IsSame = (row, now) => before.indexOf(row) === after.indexOf(now)
  const pairs = new Map<Cells, Cells>()
  const free = new Set(after.filter(isFilled))
  for (const isSame of [hasSameName, hasSameCells, isInPlace]) {
    for (const row of before.filter((row) => isFilled(row) && !pairs.has(row))) {
      const now = [...free].find((candidate) => isSame(row, candidate))
      if (now === undefined) continue
      pairs.set(row, now)
      free.delete(now)
    }
  }
  return pairs
}

function describeRowChange(columns: readonly string[], row: Cells, now: Cells): RowDifference[] {
  const name = row[0] === now[0] ? quote(row[0]) : `${quote(row[0])} is now ${quote(now[0])}`
  const cells = columns.flatMap((column, at) =>
    at === 0 || row[at] === now[at] ? [] : [{ column, was: row[at] ?? '', is: now[at] ?? '' }],
  )
  if (cells.length === 0) return row[0] === now[0] ? [] : [{ kind: 'renamed', words: name }]
  const isNarrower = cells.every(
    ({ column, was, is }) =>
      isCondition(column) && (was === '' || (was.startsWith('not ') && is.startsWith(`${was} or `))),
  )
  const words = cells.map(
    ({ column, was, is }) => `${column} ${inWords(is, column)} instead of ${inWords(was, column)}`,
  )
  return [{ kind: isNarrower ? 'narrowed' : 'changed', words: `${name}: ${words.join(', ')}` }]
}

/** False for a blank row, which the checks skip. */
export function isFilled(row: Cells): boolean {
  return row.some((cell) => cell.trim() !== '')
}

function isCondition(column: string): boolean {
  return WHEN_COLUMNS.some((known) => known === column)
}

function inWords(cell: string, column: string): string {
  if (cell !== '') return quote(nameOfChannel(cell))
  return isCondition(column) ? 'any' : 'blank'
}

function quote(text = ''): string {
  return `"${text}"`
}
