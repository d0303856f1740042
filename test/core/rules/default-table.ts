import { readFileSync } from 'node:fs'
import { createRuleTable, type RuleTable } from '../../../src/core/rules/table.ts'

const FILE = new URL('../../../rules/dispatch.csv', import.meta.url)

/** The line of headings, and the lines of the rules that are shipped. */
export const [HEADINGS, ...DEFAULT_ROWS] = readFileSync(FILE, 'utf8').trim().split('\n') as [
  string,
  ...string[],
]

/** A table of these lines under the usual headings. */
export function tableOf(rows: readonly string[]): Promise<RuleTable> {
  return createRuleTable([HEADINGS, ...rows].join('\n'), [], () => 'revision')
}

/** The shipped lines with others above the rule of this id. */
export function above(ruleId: string, ...rows: string[]): string[] {
  return DEFAULT_ROWS.toSpliced(
    DEFAULT_ROWS.findIndex((row) => row.startsWith(`${ruleId},`)),
    0,
    ...rows,
  )
}
