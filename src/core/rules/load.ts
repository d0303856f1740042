import { CHANNELS } from '../channel.ts'
import { PARTY_STATES } from '../facts.ts'
import { oneOf, orAny, parseBecause, parseReason, parseRuleId, parseYesNo } from './cells.ts'
import { parseEventTypeCell } from './event-types.ts'
import { RuleTableError } from './faults.ts'
import { COLUMNS, type Column, type Rule } from './rule.ts'
import { readSheet, type SheetRow } from './sheet.ts'
import { OUTCOMES } from './verdict.ts'

/**
 * Reads a rule table. Throws RuleTableError with every fault of the file. Whether the rules leave gaps is not looked
 * at here.
 */
export function loadRuleTable(csvText: string): { readonly rules: readonly Rule[] } {
  const rowOfId = new Map<string, number>()
  const { rows, faults } = readSheet(csvText, COLUMNS, 'rule', (row) => readRule(row, rowOfId))
  if (faults.length > 0) throw new RuleTableError(faults)
  return { rules: rows as readonly Rule[] }
}

/** All cells of one row, with undefined for each that has a fault. */
function readRule(
  { row, read, note }: SheetRow<Column>,
  rowOfId: Map<string, number>,
): { [K in keyof Rule]: unknown } {
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
