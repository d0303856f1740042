import type { RuleTable } from '../../service/decide/rules/table.ts'
import { RuleTableError } from '../../service/decide/rules/table-errors.ts'
import { describeFault } from '../../service/text/faults.ts'
import { compileRuleTable } from '../check/compile-table.ts'
import { diffRuleTables } from './compare-tables.ts'
import { describeDiff } from './diff-text.ts'

/** The changes from an archived rule table, in sentences, or the faults for which this version refuses it. */
export async function describeTableChange(before: string, table: RuleTable) {
  try {
    return { changes: describeDiff(diffRuleTables(await compileRuleTable(before), table)) }
  } catch (error) {
    if (error instanceof RuleTableError) return { faults: error.faults.map(describeFault) }
    throw error
  }
}
