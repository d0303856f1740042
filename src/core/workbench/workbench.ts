import { type Cells, diffRows, type RowChange } from '../rules/diff-rows.ts'
import { readSheet } from '../rules/read-sheet.ts'
import { LATER_COLUMNS } from '../rules/when.ts'

/**
 * Splits a sheet into its cells, in the order of `columns`. `rows` is null if that fails. `what` names one row, such as "rule".
 */
export function readGrid(csvText: string, columns: readonly string[], what: string) {
  const { rows, faults } = readSheet<string, Cells>(csvText, columns, LATER_COLUMNS, what, ({ read }) =>
    columns.map((column) => read(column, (text) => text) ?? ''),
  )
  return { rows: faults.length === 0 ? rows : null, faults }
}

/**
 * The file of a grid, cell for cell. Unlike in a report, formulas get no apostrophe, since a rule table must come back unchanged.
 * An optional column that is blank is left out. Quotes appear only if needed, so that few lines change.
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

/** Changed rows between two sheets; none if one of them cannot be split into cells. */
export function diffSheets(
  what: RowChange['what'],
  columns: readonly string[],
  before: string,
  after: string,
): RowChange[] {
  const [old, now] = [before, after].map((text) => readGrid(text, columns, what).rows)
  // The last column of the rules: a new sentence is shown with the decisions that it explains.
  const told = columns.filter((column) => column !== 'because')
  return old && now ? diffRows(what, told, old, now) : []
}

/** Branch of the reviewed files, against which a change is proposed. */
const BRANCH = 'main'

/**
 * URL of the forge's page for uploading files into a folder (blank: the whole repository) and proposing the change. Uses GitLab's
 * paths if the host's name contains it, else GitHub's.
 */
export function proposeUrlOf(repositoryUrl: string, folder: string): string {
  const isGitLab = new URL(repositoryUrl).hostname.split('.').includes('gitlab')
  const repository = repositoryUrl.replace(/\.git$/, '')
  return [repository, isGitLab ? '-/tree' : 'upload', BRANCH, folder].filter(Boolean).join('/')
}
