import { PROMISES, RULE_TABLE, readText, sha256, TEMPLATE_EVENT_TYPES } from '../../service/app/rule-files.ts'
import { enumerate } from '../../service/decide/rules/first-match.ts'
import { loadRuleTable } from '../../service/decide/rules/load-table.ts'
import { enumeratedTable, type RuleTable } from '../../service/decide/rules/table.ts'
import { PromisesError, RuleTableError } from '../../service/decide/rules/table-errors.ts'
import { checkRuleFiles } from './check-files.ts'
import { findFaults } from './find-faults.ts'

/** Loads any rule table, such as a candidate or an archived one. Throws RuleTableError, which contains `name`, with all faults. */
export async function compileRuleTable(
  csvText: string,
  name?: string,
  knownEventTypes = TEMPLATE_EVENT_TYPES,
): Promise<RuleTable> {
  try {
    return await createRuleTable(csvText, knownEventTypes, sha256)
  } catch (error) {
    throw error instanceof RuleTableError ? new RuleTableError(error.faults, name) : error
  }
}

/**
 * Loads a rule table: the rules engine decides every situation of every event class once. `sha256` returns the hash of a text's
 * UTF-8 bytes in hex. Throws RuleTableError with all faults: those of the file, or else situations without a rule, a SEND to
 * nobody, and rules that never apply.
 */
export async function createRuleTable(
  csvText: string,
  knownEventTypes: readonly string[],
  sha256: (text: string) => string,
): Promise<RuleTable> {
  const enumeration = await enumerate(loadRuleTable(csvText, knownEventTypes), knownEventTypes)
  const faults = findFaults(enumeration)
  if (faults.length > 0) throw new RuleTableError(faults)
  return enumeratedTable(enumeration, csvText, sha256(csvText))
}

/** Throws RuleTableError or PromisesError with all faults of the rule table and its promises. */
export async function requireNoFaults(): Promise<void> {
  const [tableText, promisesText] = [await readText(RULE_TABLE), await readText(PROMISES)]
  const { table, promises } = await checkRuleFiles(tableText, promisesText, TEMPLATE_EVENT_TYPES)
  if (table.faults.length > 0) throw new RuleTableError(table.faults)
  if (promises.faults.length > 0) throw new PromisesError(promises.faults)
}
