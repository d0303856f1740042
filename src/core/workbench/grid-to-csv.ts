import type { Grid } from './sheet.ts'

/**
 * The file of a grid, cell for cell: unlike in a report, nothing is put before what a spreadsheet program takes for a
 * formula, since a rule table must come back as it went. Quotes stand only where they must, so that few lines change.
 */
export function gridToCsv({ columns, rows }: Grid): string {
  return [columns, ...rows].map((cells) => `${cells.map(cell).join(',')}\n`).join('')
}

function cell(value: string): string {
  const line = value.replace(/[\r\n]+/g, ' ').trim()
  return /[",;\t]/.test(line) ? `"${line.replaceAll('"', '""')}"` : line
}
