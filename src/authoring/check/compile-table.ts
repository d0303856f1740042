import { PROMISES, RULE_TABLE, readText } from '../../service/app/authored-files.ts'
import { TEMPLATE_EVENT_TYPES } from '../../service/app/rule-files.ts'
import { sha256 } from '../../service/app/sha256.ts'
import { enumerate } from '../../service/decide/rules/first-match.ts'
import { loadRuleTable } from '../../service/decide/rules/load-table.ts'
import { enumeratedTable, type RuleTable } from '../../service/decide/rules/table.ts'
import { PromisesError, RuleTableError } from '../../service/decide/rules/table-errors.ts'
import { checkRuleFiles } from './check-files.ts'
import { findFaults } from './find-faults.ts'

/**
 * Loads any rule table, such as a candidate or an archived one: the rules engine decides every situation of every event class once.
 * Throws RuleTableError, which contains `name`, with all faults: those of the file, or else situations without a rule, a SEND to
 * nobody, and rules that never apply.
 */
export async function compileRuleTable(
  csvText: string,
  { name, eventTypes = TEMPLATE_EVENT_TYPES }: { name?: string; eventTypes?: readonly string[] } = {},
): Promise<RuleTable> {
  try {
    const enumeration = await enumerate(loadRuleTable(csvText, eventTypes), eventTypes)
    const faults = findFaults(enumeration)
    if (faults.length > 0) throw new RuleTableError(faults)
    return enumeratedTable(enumeration, csvText, sha256(csvText))
  } catch (error) {
    throw error instanceof RuleTableError ? new RuleTableError(error.faults, name) : error
  }
}

/** Throws RuleTableError or PromisesError with all faults of the rule table and its promises. */
export async function requireNoFaults(): Promise<void> {
  const [tableText, promisesText] = [await readText(RULE_TABLE), await readText(PROMISES)]
  const { table, promises } = await checkRuleFiles(tableText, promisesText, TEMPLATE_EVENT_TYPES)
  if (table.faults.length > 0) throw new RuleTableError(table.faults)
  if (promises.faults.length > 0) throw new PromisesError(promises.faults)
}
