import { OUTCOMES } from '../decision/result.ts'
import { CHANNELS } from '../party/channel.ts'
import { parseEventTypeCell } from './event-type-cell.ts'
import { choice, orBlank, parseBecause, parseReason, parseRuleId } from './parse-cells.ts'
import { readSheet, type SheetRow } from './read-sheet.ts'
import { type Column, type PastRule, RULE_SHEET, type Rule } from './rule.ts'
import { CellFault, RuleTableError } from './table-errors.ts'
import { readWhen, WHEN_COLUMNS } from './when.ts'

/**
 * Reads a rule table. Throws RuleTableError with every fault of the file, but does not look for gaps between rules.
 *
 * @param knownEventTypes types with a template, to which `no template` refers
 */
export function loadRuleTable(csvText: string, knownEventTypes: readonly string[] = []): readonly Rule[] {
  const { rows, faults } = readRuleRows(csvText, knownEventTypes)
  if (faults.length > 0) throw new RuleTableError(faults)
  return rows as readonly Rule[]
}

/**
 * Reads a rule table that was once in force, perhaps in another version: it may have columns and cells that this version cannot
 * read. Throws RuleTableError if its form cannot be read.
 */
export function loadPastRules(csvText: string, knownEventTypes: readonly string[]): readonly PastRule[] {
  const { rows, faults } = readSheet(
    csvText,
    { ...RULE_SHEET, optional: WHEN_COLUMNS, isPast: true },
    (row) => readPastRule(row, knownEventTypes),
  )
  if (faults.length > 0) throw new RuleTableError(faults)
  return rows
}

/** The readable event types, row by row, whatever faults the file has. */
export function readEventTypes(csvText: string, knownEventTypes: readonly string[]) {
  return readRuleRows(csvText, knownEventTypes).rows.flatMap(({ row, when }) =>
    when.eventType ? [{ row, when: { eventType: when.eventType } }] : [],
  )
}

function readRuleRows(csvText: string, knownEventTypes: readonly string[]) {
  const rowOfId = new Map<string, number>()
  return readSheet(csvText, RULE_SHEET, (row) => readRule(row, rowOfId, knownEventTypes))
}

type Unread = { readonly [K in Exclude<keyof Rule, 'row' | 'when'>]: unknown } & {
  readonly row: number
  readonly when: ReturnType<typeof readWhen>
}

/** All cells of one row; undefined for each faulty one. */
function readRule(
  sheetRow: SheetRow<Column>,
  rowOfId: Map<string, number>,
  knownEventTypes: readonly string[],
): Unread {
  const { row, read, note } = sheetRow
  const rule = {
    id: read('rule', (text) => parseRuleId(text, row, rowOfId)),
    row,
    ...readEffect(sheetRow, knownEventTypes),
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

/** The conditions and the result of a rule. */
function readEffect(sheetRow: SheetRow<Column>, knownEventTypes: readonly string[]) {
  const { read } = sheetRow
  return {
    when: readWhen(sheetRow, (text) => parseEventTypeCell(text, knownEventTypes)),
    outcome: read('outcome', choice(OUTCOMES)),
    sendBy: read('send by', orBlank(choice(CHANNELS))),
    reason: read('reason', orBlank(parseReason)),
  }
}

/** A cell that cannot be read is null, and listed. */
function readPastRule(sheetRow: SheetRow<Column>, knownEventTypes: readonly string[]): PastRule {
  const unread = sheetRow.others.map(([heading, text]) => `"${heading}" ${text}`)
  const read = <T>(column: Column, parseCell: (text: string) => T) =>
    sheetRow.read(column, (text) => {
      try {
        return parseCell(text)
      } catch (error) {
        if (!(error instanceof CellFault)) throw error
        unread.push(`"${column}" ${text === '' ? 'blank' : text}`)
        return null
      }
    })
  const asText = (text: string) => text
  return {
    id: read('rule', asText),
    row: sheetRow.row,
    ...readEffect({ ...sheetRow, read: read as SheetRow<Column>['read'] }, knownEventTypes),
    because: read('because', asText),
    unread,
  } as PastRule
}
