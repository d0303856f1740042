import { readFileSync } from 'node:fs'
import type { Situation } from '../../../src/core/decision/facts.ts'
import { loadRuleTable } from '../../../src/core/rules/load-table.ts'
import { foldSituations } from '../../../src/core/rules/situations.ts'
import { createRuleTable, type RuleTable } from '../../../src/core/rules/table.ts'

// A copy of the table that was shipped first: a change of the one in rules/ is to change its outcomes, and no test.
const FILE = new URL('worked-changes/before.csv', import.meta.url)

/** The line of headings, and the lines of the rules. */
export const [HEADINGS, ...DEFAULT_ROWS] = readFileSync(FILE, 'utf8').trim().split('\n') as [
  string,
  ...string[],
]

/** The situations that these rules tell apart. */
export const SITUATIONS: readonly Situation[] = foldSituations(
  loadRuleTable([HEADINGS, ...DEFAULT_ROWS].join('\n')).rules,
).situations

/** A table of these lines under the usual headings. */
export function tableOf(rows: readonly string[]): Promise<RuleTable> {
  return createRuleTable([HEADINGS, ...rows].join('\n'), [], () => 'revision')
}

/** The lines of the rules with others above the one of this id. */
export function above(ruleId: string, ...rows: string[]): string[] {
  return DEFAULT_ROWS.toSpliced(
    DEFAULT_ROWS.findIndex((row) => row.startsWith(`${ruleId},`)),
    0,
    ...rows,
  )
}
