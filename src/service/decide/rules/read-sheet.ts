import { parse } from 'csv-parse/sync'
import { type Fault, wholeFault } from '../../text/faults.ts'
import { didYouMean, nearest } from '../../text/nearest.ts'
import { CellFault } from './table-errors.ts'

/** Separators that spreadsheets use, depending on their language. The first is ours. */
const SEPARATORS = { ',': 'a comma', ';': 'a semicolon', '\t': 'a tab' } as const
type Separator = keyof typeof SEPARATORS
const ALL_SEPARATORS = Object.keys(SEPARATORS) as Separator[]

/** The BOM of UTF-16, read as UTF-8. Spreadsheets save this form as "Unicode text". */
const UTF_16 = /^\uFFFD\uFFFD/
/** A ZIP archive: the format of a workbook, whatever its file name. */
const WORKBOOK = 'PK\u0003\u0004'
/** A first line in which Excel names the separator. The headings show it as well. */
const SEPARATOR_LINE = /^"?sep=.?"?[\s,;]*$/i
const TYPOGRAPHIC = /(?<=^|[,;\t])[^\S\t]*[“„”«»]([^“„”«»]*)[“”«»][^\S\t]*(?=[,;\t]|$)/g
/** Lines after which an open quote counts as unclosed. */
const CELL_LINES_MAX = 20
const BROKEN_QUOTES =
  'the quotes do not pair up: a cell in quotes opens and closes with " and has "" for each " in it'

/** The columns of a sheet, and the noun for one of its rows. */
export interface SheetForm<Column extends string> {
  /** Such as "rule". */
  readonly what: string
  /** In their usual order. */
  readonly columns: readonly Column[]
  /** A sheet may lack these: their cells read as blank. */
  readonly optional: readonly Column[]
  /** Another version may have written the sheet, with columns that this one does not know. */
  readonly isPast?: true
}

export interface SheetRow<Column extends string> {
  /** The line in the file, counted from 1, blank lines included. */
  readonly row: number
  /** Undefined if the cell or its column is missing, or if the parser finds a fault, which is noted. */
  read<T>(column: Column, parseCell: (text: string) => T): T | undefined
  note(column: Column, fault: string): void
  /** Cells of a past sheet in columns that this version does not know, each with its heading; those that are not blank. */
  readonly others: readonly (readonly [heading: string, text: string])[]
}

/** One row that is not blank; `cells` is null if its quotes do not pair up. */
interface Line {
  readonly row: number
  readonly text: string
  readonly cells: readonly string[] | null
}

/**
 * Reads a sheet as spreadsheets save it, with the columns of the file. Separator, BOM, line ends, order and case of headings,
 * blank lines and trailing blank cells make no difference. `faults` are in file order; if there are any, do not use `rows`.
 */
export function readSheet<Column extends string, T>(
  csvText: string,
  form: SheetForm<Column>,
  readRow: (row: SheetRow<Column>) => T,
): { readonly columns: readonly Column[]; readonly rows: readonly T[]; readonly faults: readonly Fault[] } {
  const { what, optional, isPast = false } = form
  const unreadable = (text: string) => ({ columns: [], rows: [], faults: [wholeFault(text)] })
  if (csvText.startsWith(WORKBOOK))
    return unreadable('the file is an Excel workbook, not text: save it as "CSV UTF-8"')
  if (UTF_16.test(csvText)) return unreadable('the file is not UTF-8: save it as "CSV UTF-8"')
  const { separator, lines } = splitLines(csvText)
  const [headings, ...body] = lines
  if (headings === undefined)
    return unreadable(`the file is empty: it needs a line of headings and at least one ${what}`)

  const faults: Fault[] = []
  const noteAt =
    ({ row }: Line): Note =>
    (text, column = null) =>
      void faults.push({ row, column, text })
  const columns = readHeadings(headings, form, noteAt(headings))
  const unknown = (headings.cells ?? []).flatMap((heading, position) =>
    isPast && columns[position] === null ? [{ heading, position }] : [],
  )
  if (body.length === 0) noteAt(headings)(`no line follows: add at least one ${what} below the headings`)
  const rows = body.flatMap((line) => {
    const noteRow = noteAt(line)
    const { row, cells } = line
    if (cells === null) {
      noteRow(BROKEN_QUOTES)
      return []
    }
    if (isMisfit(line.text, cells, columns.length, separator, noteRow)) return []
    const note = (column: Column, fault: string) => noteRow(fault, column)
    const cellText = (column: Column) => {
      const isLeftOut = optional.includes(column) && !columns.includes(column)
      return isLeftOut ? '' : cells[columns.indexOf(column)]
    }
    const read: SheetRow<Column>['read'] = (column, parseCell) => {
      const text = cellText(column)
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
    }
    const textsOfOthers = unknown
      .map(({ heading, position }) => [heading, cells[position] ?? ''] as const)
      .filter(([, text]) => text !== '')
    return [readRow({ row, note, read, others: textsOfOthers })]
  })
  return { columns: columns.filter((column) => column !== null), rows, faults }
}

type Note = (text: string, column?: string | null) => void

/** Parses row by row, so that an unclosed quote spoils one row and not the rest of the file. */
function splitLines(csvText: string): { separator: Separator; lines: Line[] } {
  const texts = csvText
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .map((text, index) => (index === 0 ? text.replace(SEPARATOR_LINE, '') : text))
    .map((text) => (text.includes('"') ? text : text.replace(TYPOGRAPHIC, '"$1"')))
  // The most frequent one in the headings, whose names contain none.
  const headings = texts.find((text) => /[^\s,;"]/.test(text)) ?? ''
  const count = (separator: Separator) => headings.split(separator).length
  const separator = ALL_SEPARATORS.reduce((best, other) => (count(other) > count(best) ? other : best))
  const lines: Line[] = []
  for (let index = 0; index < texts.length; ) {
    const first = texts[index] as string
    let text = first
    let lineCount = 1
    const isOpen = () => text.split('"').length % 2 === 0
    while (isOpen() && lineCount < CELL_LINES_MAX && index + lineCount < texts.length)
      text += `\n${texts[index + lineCount++]}`
    const cells = splitCells(text, separator)
    lines.push({ row: index + 1, text: cells === null ? first : text, cells })
    index += cells === null ? 1 : lineCount
  }
  return { separator, lines: lines.filter(({ cells }) => cells?.some((cell) => cell !== '') ?? true) }
}

function splitCells(line: string, separator: Separator): string[] | null {
  try {
    return (parse(line, { delimiter: separator, max_record_size: 0 })[0] ?? []).map((cell) =>
      cell.trim().replace(/[^\S\n]*\n\s*/g, ' '),
    )
  } catch {
    return null
  }
}

/**
 * The column at each position; null if the heading is unknown, as it may be in a past sheet, or repeated. If the headings cannot be read, assumes the usual
 * ones, so that the rows are still checked.
 */
function readHeadings<Column extends string>(
  { cells }: Line,
  { columns: known, optional, isPast }: SheetForm<Column>,
  note: Note,
): readonly (Column | null)[] {
  if (cells === null) {
    note(BROKEN_QUOTES)
    return known
  }
  const headings = withoutTrailingBlanks(cells)
  const names = headings.map((heading) => heading.toLowerCase().replace(/\s+/g, ' '))
  const columns = headings.map((heading, position) => {
    const column = known.find((candidate) => candidate === names[position])
    if (column !== undefined && names.indexOf(column) === position) return column
    if (column === undefined && isPast) return null
    const near = didYouMean(nearest(heading, known))
    note(
      column === undefined
        ? `"${heading}" is not a column: the columns are ${known.join(', ')}${near}`
        : `column "${heading}" appears twice`,
    )
    return null
  })
  const missing = known.filter((column) => !optional.includes(column) && !columns.includes(column))
  for (const column of missing) note(`column "${column}" is missing`)
  return columns
}

/**
 * Notes a wrong number of cells. True if the cells cannot be told apart. Surplus blank cells are allowed: spreadsheets leave them
 * behind.
 */
function isMisfit(
  text: string,
  cells: readonly string[],
  columnCount: number,
  separator: Separator,
  note: Note,
): boolean {
  const name = SEPARATORS[separator]
  const filled = withoutTrailingBlanks(cells)
  const extra = filled.slice(columnCount).map((cell) => `"${cell}"`)
  if (extra.length > 0) {
    const are = extra.length === 1 ? 'is one' : `are ${extra.length}`
    note(
      `${filled.length} cells for ${columnCount} columns; ${extra.join(', ')} ${are} too many: put quotes around a text with ${name} in it`,
    )
  }
  if (cells.length >= columnCount) return false
  const other = ALL_SEPARATORS.find((sign) => sign !== separator && text.split(sign).length >= columnCount)
  note(
    other === undefined
      ? `${cells.length} cells for ${columnCount} columns: write ${name} for each blank cell too`
      : `${SEPARATORS[other]} stands between its cells, ${name} between the headings: use one of them throughout`,
  )
  return other !== undefined
}

function withoutTrailingBlanks(cells: readonly string[]): readonly string[] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1)
}
