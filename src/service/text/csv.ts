/**
 * The start of a cell that spreadsheet programs may run as a formula, even after blanks and invisible characters. Some programs
 * separate cells by semicolons or tabs, so a cell may also begin inside one of ours.
 */
const FORMULA = /((?:^|[;\t\r\n])[\p{Z}\p{C}"]*)(?=[=+\-@＝＋－＠﹦﹢﹣﹫])/gu
/** Some programs drop these at the start of a cell. */
const BLANK_START = /^(?=[\t\r\n])/

type Cell = string | number | boolean | null

/** A list as CSV: its header line, and the line of each item. */
export function csvList<Column extends string>(columns: readonly Column[]) {
  return {
    head: csvLine(columns),
    /** A column without a value is an empty cell. */
    formatLine: (item: Readonly<Partial<Record<Column, Cell>>>): string =>
      csvLine(columns.map((column) => item[column] ?? null)),
  }
}

/**
 * @internal One line of a CSV file (RFC 4180), with its line end. Null is an empty cell. An apostrophe before a possible formula
 * marks it as text for spreadsheet programs.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cell).join(',')}\r\n`
}

function cell(value: Cell): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  const text = value.replace(FORMULA, "$1'").replace(BLANK_START, "'")
  return /[",\r\n\t]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text
}
