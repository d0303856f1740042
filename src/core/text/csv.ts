/** A cell that begins so is taken for a formula by spreadsheet programs, which may run it. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/

type Cell = string | number | boolean | null

/** A list as CSV: its first line, and the line of each item. */
export function csvList<Column extends string>(columns: readonly Column[]) {
  return {
    head: csvLine(columns),
    lineOf: (item: Readonly<Record<Column, Cell>>): string => csvLine(columns.map((column) => item[column])),
  }
}

/**
 * One line of a CSV file (RFC 4180), its end included. Null is an empty cell. What a spreadsheet program would take for a
 * formula gets an apostrophe before it, which such programs take for "this is text".
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cell).join(',')}\r\n`
}

function cell(value: Cell): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n\t]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text
}
