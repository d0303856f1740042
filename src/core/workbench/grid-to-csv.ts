import { LATER_COLUMNS } from '../rules/when.ts'
import type { Grid } from './workbench.ts'

/**
 * The file of a grid, cell for cell: unlike in a report, nothing is put before what a spreadsheet program takes for a
 * formula, since a rule table must come back as it went. A column that may be left out and is blank is left out. Quotes stand only where they must, so that few lines change.
 */
export function gridToCsv({ columns, rows }: Grid): string {
  const isWritten = columns.map(
    (column, position) =>
      !LATER_COLUMNS.some((later) => later === column) || rows.some((cells) => cells[position] !== ''),
  )
  return [columns, ...rows]
    .map(
      (cells) =>
        `${cells
          .filter((_, position) => isWritten[position])
          .map(cell)
          .join(',')}\n`,
    )
    .join('')
}

function cell(value: string): string {
  const line = value.replace(/[\r\n]+/g, ' ').trim()
  return /[",;\t]/.test(line) ? `"${line.replaceAll('"', '""')}"` : line
}
