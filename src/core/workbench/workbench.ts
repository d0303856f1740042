import { type Cells, diffRows, type RowChange } from '../rules/diff-rows.ts'
import { readSheet } from '../rules/read-sheet.ts'
import { LATER_COLUMNS } from '../rules/when.ts'

/** Splits a sheet into its cells, in the order of `columns`. `rows` is null where that fails. `what` is what one row holds, such as "rule". */
export function readGrid(csvText: string, columns: readonly string[], what: string) {
  const { rows, faults } = readSheet<string, Cells>(csvText, columns, LATER_COLUMNS, what, ({ read }) =>
    columns.map((column) => read(column, (text) => text) ?? ''),
  )
  return { rows: faults.length === 0 ? rows : null, faults }
}

/**
 * The file of a grid, cell for cell: unlike in a report, nothing is put before what a spreadsheet program takes for a
 * formula, since a rule table must come back as it went. A column that may be left out and is blank is left out. Quotes stand only where they must, so that few lines change.
 */
export function gridToCsv(columns: readonly string[], rows: readonly Cells[]): string {
  const isWritten = columns.map(
    (column, position) =>
      !LATER_COLUMNS.some((later) => later === column) || rows.some((cells) => cells[position] !== ''),
  )
  const lineOf = (cells: Cells) => cells.filter((_, position) => isWritten[position]).map(csvCell)
  return [columns, ...rows].map((cells) => `${lineOf(cells).join(',')}\n`).join('')
}

function csvCell(value: string): string {
  const line = value.replace(/[\r\n]+/g, ' ').trim()
  return /[",;\t]/.test(line) ? `"${line.replaceAll('"', '""')}"` : line
}

/** The changes of rows between two sheets; none where one of them cannot be split into cells. */
export function diffSheets(
  what: RowChange['what'],
  columns: readonly string[],
  before: string,
  after: string,
): RowChange[] {
  const [old, now] = [before, after].map((text) => readGrid(text, columns, what).rows)
  // The last column of the rules: a new sentence is told with the decisions that it explains.
  const told = columns.filter((column) => column !== 'because')
  return old && now ? diffRows(what, told, old, now) : []
}

/** Where reviewed files live: what a change is proposed against. */
const BRANCH = 'main'

/**
 * The page of a forge on which somebody can upload files into a folder, blank for the whole repository, and propose the change:
 * by GitLab's paths where the host's name says so, else by GitHub's.
 */
export function proposeUrlOf(repositoryUrl: string, folder: string): string {
  const isGitLab = new URL(repositoryUrl).hostname.split('.').includes('gitlab')
  const repository = repositoryUrl.replace(/\.git$/, '')
  return [repository, isGitLab ? '-/tree' : 'upload', BRANCH, folder].filter(Boolean).join('/')
}
