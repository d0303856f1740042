import { CHANNELS } from '../decision/channel.ts'
import { OUTCOMES } from '../decision/decide.ts'
import { RuleTableError } from './errors.ts'
import { parseEventTypeCell } from './event-type-cell.ts'
import { oneOf, orAny, parseBecause, parseReason, parseRuleId } from './parse-cells.ts'
import { readSheet, type SheetRow } from './read-sheet.ts'
import { COLUMNS, type Column, type Rule } from './rule.ts'
import { readWhen, WHEN_COLUMNS } from './when.ts'

/**
 * Reads a rule table. Throws RuleTableError with every fault of the file. Does not check for gaps between rules.
 * `knownEventTypes`: types with a template, to which `no template` refers. A past table may lack the column of any fact.
 */
export function loadRuleTable(
  csvText: string,
  knownEventTypes: readonly string[] = [],
  isPast = false,
): { readonly rules: readonly Rule[] } {
  const { rows, faults } = readRules(csvText, knownEventTypes, isPast ? WHEN_COLUMNS : [])
  if (faults.length > 0) throw new RuleTableError(faults)
  return { rules: rows as readonly Rule[] }
}

/** The readable event types, row by row, whatever faults the file has. */
export function readEventTypes(csvText: string, knownEventTypes: readonly string[]) {
  return readRules(csvText, knownEventTypes).rows.flatMap(({ row, when }) =>
    when.eventType ? [{ row, when: { eventType: when.eventType } }] : [],
  )
}

function readRules(
  csvText: string,
  knownEventTypes: readonly string[],
  columnsOptional: readonly Column[] = [],
) {
  const rowOfId = new Map<string, number>()
  return readSheet(csvText, COLUMNS, columnsOptional, 'rule', (row) =>
    readRule(row, rowOfId, knownEventTypes),
  )
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
    when: readWhen(sheetRow, (text) => parseEventTypeCell(text, knownEventTypes)),
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
