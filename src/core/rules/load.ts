import { parse } from 'csv-parse/sync'
import { CHANNELS } from '../channel.ts'
import { PARTY_STATES } from '../facts.ts'
import { oneOf, orAny, parseBecause, parseReason, parseRuleId, parseYesNo } from './cells.ts'
import { parseEventTypeCell } from './event-types.ts'
import { CellFault, RuleTableError } from './faults.ts'
import { didYouMean, nearest } from './nearest.ts'
import { COLUMNS, type Column, type Rule } from './rule.ts'
import { OUTCOMES } from './verdict.ts'

/** One line that is not blank; `cells` is null where the quotes do not pair up. */
interface Line {
  readonly row: number
  readonly cells: readonly string[] | null
}

/** What is wrong in one row. `text` goes on from "row 3". */
interface Fault {
  readonly row: number
  readonly text: string
}

/**
 * Reads a rule table: CSV with a line of headings in any order, with or without a BOM. Blank lines are passed over.
 * Throws RuleTableError with every fault of the file. Whether the rules leave gaps is not looked at here.
 */
export function loadRuleTable(csvText: string): { readonly rules: readonly Rule[] } {
  const [headings, ...lines] = splitLines(csvText)
  if (headings === undefined) {
    throw new RuleTableError(['the file is empty: it needs a line of headings and at least one rule'])
  }
  const faults: Fault[] = []
  const columns = readHeadings(headings, faults)
  if (lines.length === 0) {
    faults.push({ row: headings.row, text: ' is all there is: add at least one rule below the headings' })
  }
  const rowOfId = new Map<string, number>()
  const rules = lines.map((line) => readRule(line, columns, rowOfId, faults))
  if (faults.length > 0) throw new RuleTableError(faults.map(({ row, text }) => `row ${row}${text}`))
  return { rules: rules as Rule[] }
}

/**
 * Parses line by line, so that an unclosed quote spoils one row and not the rest of the file. Nothing is lost by it:
 * no cell may hold a line break.
 */
function splitLines(csvText: string): Line[] {
  return csvText
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .map((text, index) => ({ row: index + 1, cells: splitCells(text) }))
    .filter(({ cells }) => cells?.some((cell) => cell !== '') ?? true)
}

function splitCells(line: string): string[] | null {
  try {
    return (parse(line, { max_record_size: 0 })[0] ?? []).map((cell) => cell.trim())
  } catch {
    return null
  }
}

/**
 * The column at each position, null where the heading is not a column's or comes again. Under headings that cannot be
 * read the usual ones are assumed, so that the rows are checked all the same.
 */
function readHeadings({ row, cells }: Line, faults: Fault[]): readonly (Column | null)[] {
  if (cells === null) {
    faults.push({ row, text: brokenQuotes })
    return COLUMNS
  }
  const headings = withoutTrailingBlanks(cells)
  const columns = headings.map((heading, position) => {
    const column = COLUMNS.find((candidate) => candidate === heading)
    if (column === undefined) {
      faults.push({
        row,
        text: `: "${heading}" is not a column: the columns are ${COLUMNS.join(', ')}${didYouMean(nearest(heading, COLUMNS))}`,
      })
      return null
    }
    if (headings.indexOf(heading) === position) return column
    faults.push({ row, text: `: column "${heading}" is there twice` })
    return null
  })
  for (const column of COLUMNS) {
    if (!columns.includes(column)) faults.push({ row, text: `: column "${column}" is missing` })
  }
  return columns
}

/** All cells of one row, with undefined for each that has a fault. */
function readRule(
  { row, cells }: Line,
  columns: readonly (Column | null)[],
  rowOfId: Map<string, number>,
  faults: Fault[],
): { [K in keyof Rule]: unknown } | null {
  if (cells === null) {
    faults.push({ row, text: brokenQuotes })
    return null
  }
  checkWidth(row, cells, columns.length, faults)
  const note = (column: Column, fault: string) => faults.push({ row, text: `, column "${column}": ${fault}` })

  function read<T>(column: Column, parseCell: (text: string) => T): T | undefined {
    const text = cells?.[columns.indexOf(column)]
    if (text === undefined) return undefined
    try {
      return parseCell(text)
    } catch (error) {
      if (!(error instanceof CellFault)) throw error
      note(column, error.message)
      return undefined
    }
  }

  const rule = {
    id: read('rule', (text) => parseRuleId(text, row, rowOfId)),
    row,
    when: {
      eventType: read('event type', orAny(parseEventTypeCell)),
      party: read('party', orAny(oneOf(PARTY_STATES))),
      optedOut: read('opted out', orAny(parseYesNo)),
      preferredChannel: read('preferred channel', orAny(oneOf(CHANNELS))),
      emailOnFile: read('email on file', orAny(parseYesNo)),
      phoneOnFile: read('phone on file', orAny(parseYesNo)),
    },
    outcome: read('outcome', oneOf(OUTCOMES)),
    sendBy: read('send by', orAny(oneOf(CHANNELS))),
    reason: read('reason', orAny(parseReason)),
    because: read('because', parseBecause),
  }
  if (rule.outcome === 'SEND') {
    if (rule.reason) note('reason', `"${rule.reason}" on a SEND: leave it blank, only SKIP and FAIL have one`)
  } else if (rule.outcome !== undefined) {
    if (rule.reason === null)
      note('reason', `is blank: say in a few words why the outcome is ${rule.outcome}`)
    if (rule.sendBy) note('send by', `"${rule.sendBy}" on a ${rule.outcome}: leave it blank, nothing is sent`)
  }
  return rule
}

/** Surplus blank cells are let pass: spreadsheets leave them behind. */
function checkWidth(row: number, cells: readonly string[], columnCount: number, faults: Fault[]): void {
  const cellCount = withoutTrailingBlanks(cells).length
  if (cellCount > columnCount) {
    const text = ` has ${cellCount} cells for ${columnCount} columns: put quotes around a text with a comma in it`
    faults.push({ row, text })
  }
  if (cells.length < columnCount) {
    faults.push({
      row,
      text: ` has ${cells.length} cells for ${columnCount} columns: put in the commas of blank cells too`,
    })
  }
}

function withoutTrailingBlanks(cells: readonly string[]): readonly string[] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1)
}

const brokenQuotes =
  ': the quotes do not pair up: a cell in quotes opens and closes with " on the same line and has "" for each " in it'
