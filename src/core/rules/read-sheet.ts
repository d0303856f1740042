import { parse } from 'csv-parse/sync'
import { didYouMean, nearest } from '../text/nearest.ts'
import { CellFault } from './errors.ts'

/** Separators that spreadsheets use, depending on their language. The first is ours. */
const SEPARATORS = [',', ';', '\t']

/** The BOM of UTF-16, read as UTF-8. Spreadsheets save this form as "Unicode text". */
const UTF_16 = /^\uFFFD\uFFFD/
/** A ZIP archive: the format of a workbook, whatever its file name. */
const WORKBOOK = 'PK\u0003\u0004'
/** A first line in which Excel names the separator. The headings show it as well. */
const SEPARATOR_LINE = /^"?sep=.?"?[\s,;]*$/i
const TYPOGRAPHIC = /(?<=^|[,;\t])[^\S\t]*[“„”«»]([^“„”«»]*)[“”«»][^\S\t]*(?=[,;\t]|$)/g
/** A quote still open after this many lines was never meant to close. */
const CELL_LINES_MAX = 20

export interface SheetRow<Column extends string> {
  /** The line in the file, counted from 1, blank lines included. */
  readonly row: number
  /** Undefined if the cell or its column is missing, or if the parser finds a fault, which is noted. */
  read<T>(column: Column, parseCell: (text: string) => T): T | undefined
  note(column: Column, fault: string): void
}

/** One row that is not blank; `cells` is null if its quotes do not pair up. */
interface Line {
  readonly row: number
  readonly text: string
  readonly cells: readonly string[] | null
}

/** A fault in one row. `text` continues "row 3". */
interface Fault {
  readonly row: number
  readonly text: string
}

/**
 * Reads a sheet as spreadsheets save it. Separator, BOM, line ends, order and case of headings, blank lines and trailing blank
 * cells make no difference. `faults` are in file order; if there are any, do not use `rows`. A missing optional column reads as
 * blank cells. `what` names one row, such as "rule".
 */
export function readSheet<Column extends string, T>(
  csvText: string,
  columnsKnown: readonly Column[],
  columnsOptional: readonly Column[],
  what: string,
  readRow: (row: SheetRow<Column>) => T,
): { readonly rows: readonly T[]; readonly faults: readonly string[] } {
  if (csvText.startsWith(WORKBOOK))
    return { rows: [], faults: ['the file is an Excel workbook, not text: save it as "CSV UTF-8"'] }
  if (UTF_16.test(csvText)) return { rows: [], faults: ['the file is not UTF-8: save it as "CSV UTF-8"'] }
  const { separator, lines } = splitLines(csvText)
  const [headings, ...body] = lines
  if (headings === undefined) {
    return { rows: [], faults: [`the file is empty: it needs a line of headings and at least one ${what}`] }
  }
  const faults: Fault[] = []
  const columns = readHeadings(headings, columnsKnown, columnsOptional, faults)
  if (body.length === 0) {
    faults.push({ row: headings.row, text: ` is the only line: add at least one ${what} below the headings` })
  }
  const rows = body.flatMap((line) => {
    if (line.cells === null) {
      faults.push({ row: line.row, text: brokenQuotes })
      return []
    }
    const misfit = misfitOf(line.text, line.cells, columns.length, separator)
    if (misfit !== null) faults.push({ row: line.row, text: misfit.text })
    return misfit?.unreadable ? [] : [readRow(rowOf(line.row, line.cells, columns, columnsOptional, faults))]
  })
  return { rows, faults: faults.map(({ row, text }) => `row ${row}${text}`) }
}

/** Parses row by row, so that an unclosed quote spoils one row and not the rest of the file. */
function splitLines(csvText: string): { separator: string; lines: Line[] } {
  const texts = csvText
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .map((text, index) => (index === 0 ? text.replace(SEPARATOR_LINE, '') : text))
    .map((text) => (text.includes('"') ? text : text.replace(TYPOGRAPHIC, '"$1"')))
  const separator = separatorOf(texts.find((text) => /[^\s,;"]/.test(text)) ?? '')
  const lines: Line[] = []
  for (let index = 0; index < texts.length; ) {
    const first = texts[index] as string
    let text = first
    let count = 1
    while (isOpen(text) && count < CELL_LINES_MAX && index + count < texts.length)
      text += `\n${texts[index + count++]}`
    const cells = splitCells(text, separator)
    lines.push({ row: index + 1, text: cells === null ? first : text, cells })
    index += cells === null ? 1 : count
  }
  return { separator, lines: lines.filter(({ cells }) => cells?.some((cell) => cell !== '') ?? true) }
}

function isOpen(text: string): boolean {
  return text.split('"').length % 2 === 0
}

/** The most frequent separator in the headings, whose names contain none. */
function separatorOf(headings: string): string {
  const count = (separator: string) => headings.split(separator).length
  return SEPARATORS.reduce((best, other) => (count(other) > count(best) ? other : best))
}

function splitCells(line: string, separator: string): string[] | null {
  try {
    return (parse(line, { delimiter: separator, max_record_size: 0 })[0] ?? []).map((cell) =>
      cell.trim().replace(/[^\S\n]*\n\s*/g, ' '),
    )
  } catch {
    return null
  }
}

/**
 * The column at each position; null if the heading is unknown or repeated. If the headings cannot be read, assumes the usual
 * ones, so that the rows are still checked.
 */
function readHeadings<Column extends string>(
  { row, cells }: Line,
  columnsKnown: readonly Column[],
  columnsOptional: readonly Column[],
  faults: Fault[],
): readonly (Column | null)[] {
  if (cells === null) {
    faults.push({ row, text: brokenQuotes })
    return columnsKnown.filter((column) => !columnsOptional.includes(column))
  }
  const headings = withoutTrailingBlanks(cells)
  const names = headings.map((heading) => heading.toLowerCase().replace(/\s+/g, ' '))
  const columns = headings.map((heading, position) => {
    const column = columnsKnown.find((candidate) => candidate === names[position])
    if (column === undefined) {
      faults.push({
        row,
        text: `: "${heading}" is not a column: the columns are ${columnsKnown.join(', ')}${didYouMean(nearest(heading, columnsKnown))}`,
      })
      return null
    }
    if (names.indexOf(column) === position) return column
    faults.push({ row, text: `: column "${heading}" appears twice` })
    return null
  })
  for (const column of columnsKnown) {
    if (!columns.includes(column) && !columnsOptional.includes(column))
      faults.push({ row, text: `: column "${column}" is missing` })
  }
  return columns
}

function rowOf<Column extends string>(
  row: number,
  cells: readonly string[],
  columns: readonly (Column | null)[],
  columnsOptional: readonly Column[],
  faults: Fault[],
): SheetRow<Column> {
  const note = (column: Column, fault: string) => {
    faults.push({ row, text: `, column "${column}": ${fault}` })
  }
  return {
    row,
    note,
    read: (column, parseCell) => {
      const isLeftOut = columnsOptional.includes(column) && !columns.includes(column)
      const text = isLeftOut ? '' : cells[columns.indexOf(column)]
      if (text === undefined) return undefined
      try {
        // Decoders replace bytes that are not UTF-8 by this character.
        if (text.includes('\uFFFD'))
          throw new CellFault(`"${text}" is not UTF-8: save the file as "CSV UTF-8"`)
        return parseCell(text)
      } catch (error) {
        if (!(error instanceof CellFault)) throw error
        note(column, error.message)
        return undefined
      }
    },
  }
}

/** The fault in the number of cells, if any. Surplus blank cells are allowed: spreadsheets leave them behind. */
function misfitOf(
  text: string,
  cells: readonly string[],
  columnCount: number,
  separator: string,
): { readonly text: string; readonly unreadable: boolean } | null {
  const filled = withoutTrailingBlanks(cells)
  if (filled.length > columnCount) {
    const extra = filled.slice(columnCount).map((cell) => `"${cell}"`)
    return {
      text: ` has ${filled.length} cells for ${columnCount} columns; ${extra.join(', ')} ${extra.length === 1 ? 'is one' : `are ${extra.length}`} too many: put quotes around a text with ${nameOf(separator)} in it`,
      unreadable: false,
    }
  }
  if (cells.length >= columnCount) return null
  const other = SEPARATORS.find((one) => one !== separator && text.split(one).length >= columnCount)
  return other === undefined
    ? {
        text: ` has ${cells.length} cells for ${columnCount} columns: write ${nameOf(separator)} for each blank cell too`,
        unreadable: false,
      }
    : {
        text: ` has ${nameOf(other)} between its cells, the headings have ${nameOf(separator)}: use one of them throughout`,
        unreadable: true,
      }
}

function nameOf(separator: string): string {
  return separator === ',' ? 'a comma' : separator === ';' ? 'a semicolon' : 'a tab'
}

function withoutTrailingBlanks(cells: readonly string[]): readonly string[] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1)
}

const brokenQuotes =
  ': the quotes do not pair up: a cell in quotes opens and closes with " and has "" for each " in it'
